package search_test

import (
	"strings"
	"testing"
	"unicode"

	"github.com/repertoire-skills/repertoire/internal/must"
	"github.com/repertoire-skills/repertoire/internal/words"
	"github.com/repertoire-skills/repertoire/search/searchtest"
	"github.com/repertoire-skills/repertoire/store"
)

// TestTermsAreTokens: one term of ours must be one token of the store's tokenizer, or
// an indexed term would never be found.
func TestTermsAreTokens(t *testing.T) {
	t.Parallel()
	var text strings.Builder
	for r := rune(0); r <= unicode.MaxRune; r++ {
		// Of the large scripts a part is enough.
		if words.IsLetter(r) && (r < 0x3000 || r%61 == 0) {
			text.WriteString("x" + string(r) + "y ")
		}
	}
	text.WriteString("PDFReader getHTTPResponse2 don't ＰＤＦ 数据库 ฐานข้อมูล データベース 데이터 हिन्दी 用PDF填表 עברית العربية")
	x := searchtest.New(t, nil)
	s := searchtest.Skill("all", "d", text.String())
	searchtest.Sync(t, x, "a", searchtest.TreeOf(s).Refs())
	terms := words.Terms(s.Body)
	counts, _, err := x.Store.(store.TextSearcher).Frequencies(t.Context(), terms)
	must.Do(t, err)
	missing := 0
	for _, term := range terms {
		if counts[term] != 1 {
			missing++
			if missing < 10 {
				t.Errorf("%q (%U) is not one token", term, []rune(term))
			}
		}
	}
	if missing > 0 || len(terms) < 8_000 {
		t.Errorf("%d of %d terms are not one token", missing, len(terms))
	}
}
