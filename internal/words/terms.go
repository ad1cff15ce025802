package words

import (
	"cmp"
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"

	"github.com/blevesearch/go-porterstemmer"

	"github.com/repertoire-skills/repertoire/internal/tidy"
)

// MaxTerm is the greatest length of a term in bytes; a longer one is cut. Longer words
// are hashes, keys and encoded data, and their start is enough to find them.
const MaxTerm = 40

// Terms returns the terms of a text in order, for both sides of full-text search: words
// in lower case and one spelling, without accents and English stop words, stemmed (Porter), and common short
// forms written out. Identifiers
// appear split and whole, and text without spaces as overlapping pairs of characters.
func Terms(text string) []string {
	return new(Analyzer).Terms(text)
}

// An Analyzer turns texts into terms. It caches the stems of words, because texts repeat
// their words, so use one for many texts. The zero Analyzer is ready for use, by one
// goroutine at a time.
type Analyzer struct {
	out   []string
	stems map[string]string // by lower-cased word; "" means a stop word
	runes []rune            // buffer of stem
	lower []byte            // buffer of Term
}

// maxStems is how many stems an analyzer remembers; then it starts afresh.
const maxStems = 1 << 16

// Terms returns the terms of a text, see the function Terms.
func (a *Analyzer) Terms(text string) []string {
	if a.stems == nil {
		a.stems = make(map[string]string, min(len(text)/6+1, 1024)) // as many as the first text may have
	}
	a.out = make([]string, 0, len(text)/6+1)
	Split(text, a.add)
	return a.out
}

// add appends the term of one word of a text.
func (a *Analyzer) add(word string, kind Kind) {
	if term := a.Term(word, kind); term != "" {
		a.out = append(a.out, term)
	}
}

// Term returns the term of a word that Split found; "" means a stop word.
func (a *Analyzer) Term(word string, kind Kind) string {
	if kind == Pair {
		if isGrammar(word) {
			return ""
		}
		return word
	}
	a.lower = appendLower(a.lower[:0], word)
	term, ok := a.stems[string(a.lower)]
	if !ok {
		// Copy the word: as a part of the text, it would keep the text in memory.
		word = string(a.lower)
		term = a.termOf(word)
		if len(a.stems) == maxStems {
			clear(a.stems)
		}
		if a.stems == nil {
			a.stems = make(map[string]string)
		}
		a.stems[word] = term
	}
	return term
}

// appendLower appends Lower(s) to b.
func appendLower(b []byte, s string) []byte {
	for i := range len(s) {
		c := s[i]
		if c >= utf8.RuneSelf {
			return append(b[:len(b)-i], Lower(s)...)
		}
		if 'A' <= c && c <= 'Z' {
			c += 'a' - 'A'
		}
		b = append(b, c)
	}
	return b
}

// termOf returns the term of a lower-cased word; "" means a stop word.
func (a *Analyzer) termOf(s string) string {
	if i := strings.IndexAny(s, "'’"); i >= 0 {
		s = withoutApostrophes(s, i)
	}
	if stopWords()[s] {
		return ""
	}
	s = cmp.Or(longForms()[s], s)
	return tidy.Cut(a.stem(s), MaxTerm)
}

// longForms are what short forms stand for: people write one and skills the other. Of 9,100
// prompts of the dev sets, 21 found their skill first that had not, and one did not that had.
// Forms with a second meaning (app, dev, env, spec, prod) cost as much as they gave, and that "PR"
// also stands for "pull request" and the like gave nothing. Whoever changes the list changes the
// terms that catalogs keep: raise schemaNumber of store/sqlite, and let a step of store/postgres
// forget the stamps.
var longForms = sync.OnceValue(func() map[string]string {
	m := make(map[string]string)
	for pair := range strings.FieldsSeq(`
		a11y=accessibility auth=authentication config=configuration configs=configurations db=database dbs=databases
		deps=dependencies docs=documentation i18n=internationalization infra=infrastructure js=javascript
		k8s=kubernetes l10n=localization o11y=observability postgres=postgresql ppt=powerpoint pptx=powerpoint py=python
		repo=repository repos=repositories tf=terraform ts=typescript vuln=vulnerability vulns=vulnerabilities xls=excel
		xlsx=excel`) {
		short, long, _ := strings.Cut(pair, "=")
		m[short] = long
	}
	return m
})

// withoutApostrophes turns "user's" into "user" and "don't" into "dont"; i is the index
// of the first apostrophe.
func withoutApostrophes(s string, i int) string {
	if end := s[i:]; end == "'s" || end == "’s" {
		return s[:i]
	}
	return strings.NewReplacer("'", "", "’", "").Replace(s)
}

// stem returns the Porter stem of an English word. It does not change other words.
func (a *Analyzer) stem(s string) string {
	if len(s) < 3 {
		return s
	}
	for i := range len(s) {
		if s[i] < 'a' || s[i] > 'z' {
			return s
		}
	}
	a.runes = a.runes[:0]
	for i := range len(s) {
		a.runes = append(a.runes, rune(s[i]))
	}
	stemmed := porterstemmer.StemWithoutLowerCasing(a.runes)
	// Most stems are a prefix of the word, so they can share its memory.
	if n := len(stemmed); n <= len(s) {
		i := 0
		for i < n && stemmed[i] == rune(s[i]) {
			i++
		}
		if i == n {
			return s[:n]
		}
	}
	return string(stemmed)
}

// stopWords are English words that say nothing about what a prompt needs. Set removes
// the apostrophes, as termOf does.
var stopWords = Set(`
	a about above after again all also am an and any are aren't as at be because been before being below between both
	but by can can't cannot could couldn't did didn't do does doesn't doing don't down during each few for from further
	get got had hadn't has hasn't have haven't having he her here hers him his how i i'd i'll i'm i've if in into is isn't
	it it's its itself just let let's like me more most my myself no nor not now of off ok on once one only or other our
	ours out over own please same she should shouldn't so some such than thanks that that's the their theirs them then
	there there's these they they're this those through to too under until up us very was wasn't we we're we've were
	weren't what what's when where which while who whom why will with won't would wouldn't you you'd you'll you're you've
	your yours yourself`)

// isGrammar reports whether a pair of characters says nothing about what a prompt needs:
// two hiragana, or a common Chinese pair. Such pairs are rare in a catalog of mostly
// English skills, so BM25 would give them a high weight. Without them, the text search's
// Hit@1 for prompts in other scripts on the dev set rose from .484 to .510.
func isGrammar(pair string) bool {
	return stopPairs()[pair] || !strings.ContainsFunc(pair, func(r rune) bool { return !unicode.Is(unicode.Hiragana, r) })
}

var stopPairs = Set(`
	我的 你的 他的 她的 它的 我们 我們 你们 你們 他们 他們 帮我 幫我 请帮 請幫 给我 給我 我要 我想 想要 需要 可以 应该 應該
	觉得 覺得 知道 能不 不能 能否 是否 是不 不是 不要 没有 沒有 有没 有沒 这个 這個 那个 那個 这些 這些 那些 这样 這樣 那样 那樣
	一个 一個 一下 一些 一起 有点 有點 看看 下我 个我 什么 什麼 怎么 怎麼 么样 麼樣 为什 為什 点什 如何 哪些 哪个 哪個 还是 還是
	或者 以及 因为 因為 所以 但是 如果 然后 然後 现在 現在 已经 已經 时候 時候 的时 的時 的问 里的 裡的 起来 起來 出来 出來 进行 進行`)

// Set returns a function that returns a set of words; the function makes the set on its
// first call. The list separates words by blanks. Set removes their apostrophes.
func Set(list string) func() map[string]bool {
	return sync.OnceValue(func() map[string]bool {
		m := make(map[string]bool)
		for w := range strings.FieldsSeq(list) {
			m[strings.ReplaceAll(w, "'", "")] = true
		}
		return m
	})
}

// IsStop reports whether a word in lower case, without accents, is an English word that says nothing
// about what a prompt needs.
func IsStop(word string) bool { return stopWords()[word] }
