// Package wordstest holds nasty texts, for tests of code that must be safe for any text.
package wordstest

import "strings"

// NastyTexts returns texts that have broken parsers and tokenizers, as seeds for
// fuzz tests.
func NastyTexts() []string {
	return []string{
		"", " ", "\"", "'", "''s", "’", "a'b'c's", "x's", "*", "pdf*", "^pdf", "name:pdf", "NEAR(pdf form, 2)", "pdf AND", "OR OR", "NOT pdf",
		"(((", "\"unbalanced", "{name body} : pdf", "- pdf", "+pdf", "pdf -form", "--", "/* */", ";DROP TABLE skills", "%s %d", "\\", "`pdf`", "$pdf @pdf /pdf",
		"NUL\x00in the middle", "bad \xff\xfe utf \xc3", "\xef\xbf\xbd", "\u202edrow\u202c", "zero\u200bwidth", "🚀🏳️‍🌈👩‍👩‍👧", "e\u0301\u0301\u0301", "\u0301", "İstanbul ıI ßẞ",
		"数据库 データ 데이터 ฐาน", "用PDF填表ﾃﾞｰﾀ", "ﷺ ﷺ", "Ⅷ ² ½", "camelCaseXMLHttpRequest2GPUs", "aB" + strings.Repeat("aB", 300), strings.Repeat("y", 100_000),
		strings.Repeat("pdf form ", 12_000), strings.Repeat("数据", 20_000), strings.Repeat("\xff", 70_000), strings.Repeat("x y'", 20_000),
	}
}
