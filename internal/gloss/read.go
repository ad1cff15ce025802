package gloss

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/repertoire-skills/repertoire/internal/words"
)

// A token is a word of the text, or a run of characters of a script without blanks.
type token struct {
	start, end int
	kind       kind
	form       string // in the plain spelling
	code       bool   // a name, a path, an identifier, a number: it stays as it is
	known      bool   // English has the word
	stop       bool   // English has it, and it says nothing alone
	joined     bool   // only a blank, a hyphen or an apostrophe is before it
}

// A reader reads one text.
type reader struct {
	table   *table
	text    string
	tokens  []token
	latin   *language // that of the Latin words; nil for English
	foreign bool      // the text is in another script
	kana    bool      // the text has Japanese characters
	out     []Word

	looked map[wordOf]entries // what was looked up before
	first  map[wordOf]bool    // whether a phrase begins with a word
	cut    map[string][]part  // compounds that were cut before
}

// A wordOf is a form in a language.
type wordOf struct {
	language *language
	form     string
}

// lookup returns the entries of a form, or of its stem.
func (r *reader) lookup(l *language, form string) entries {
	list, ok := r.looked[wordOf{l, form}]
	if !ok {
		list = l.find(stemmerOf(l.code).key(form))
		r.looked[wordOf{l, form}] = list
	}
	return list
}

// split finds the tokens of a text.
func (r *reader) split(text string) {
	r.text = text
	end := 0
	for start, stop := range words.Runs(text) {
		joined := isJoint(text[end:start])
		for start < stop { // split at apostrophes and where the kind of script changes
			first, size := utf8.DecodeRuneInString(text[start:])
			if first == '\'' || first == '’' {
				start += size
				continue
			}
			k, next := kindOfLetter(first), start+size
			for next < stop {
				c, size := utf8.DecodeRuneInString(text[next:])
				if c == '\'' || c == '’' || !unicode.IsMark(c) && !unicode.IsDigit(c) && (kindOfLetter(c) == dense) != (k == dense) {
					break
				}
				next += size
			}
			r.add(token{start: start, end: next, kind: k, joined: joined})
			start, joined = next, true
		}
		end = stop
	}
}

// isJoint reports whether what stands between two words may stand in a phrase.
func isJoint(between string) bool {
	return between == " " || between == "-" || between == "'" || between == "’"
}

func (r *reader) add(t token) {
	word := r.text[t.start:t.end]
	t.form = plain(word)
	switch {
	case t.kind == dense:
		r.kana = r.kana || strings.ContainsFunc(word, func(c rune) bool { return unicode.In(c, unicode.Hiragana, unicode.Katakana) })
	case strings.ContainsFunc(word, unicode.IsDigit), isCamel(word), r.inCode(t):
		t.code = true
	case t.kind == latin:
		if t.stop = words.IsStop(t.form); !t.stop {
			_, t.known = r.table.english(t.form)
		}
		t.known = t.known || t.stop
	}
	r.tokens = append(r.tokens, t)
}

// isCamel reports whether a word has a capital letter after a small one.
func isCamel(word string) bool {
	small := false
	for _, c := range word {
		if small && unicode.IsUpper(c) {
			return true
		}
		small = small || unicode.IsLower(c)
	}
	return false
}

// inCode reports whether the signs around a word show that it belongs to a path, an identifier or a tag.
func (r *reader) inCode(t token) bool {
	before, after := r.text[:t.start], r.text[t.end:]
	const signs = "/\\_@#$=<>`~%"
	if before != "" && strings.IndexByte(signs, before[len(before)-1]) >= 0 || after != "" && strings.IndexByte(signs, after[0]) >= 0 {
		return true
	}
	next, _ := utf8.DecodeRuneInString(after[min(len(after), 1):])
	last, _ := utf8.DecodeLastRuneInString(strings.TrimSuffix(before, "."))
	if strings.HasPrefix(after, ".") && words.IsLetter(next) || strings.HasSuffix(before, ".") && words.IsLetter(last) || strings.HasPrefix(after, "(") || strings.HasPrefix(after, "://") {
		return true
	}
	left, right := len(before), 0 // us-east-2 is a name
	for left > 0 && isHyphened(before[left-1]) {
		left--
	}
	for right < len(after) && isHyphened(after[right]) {
		right++
	}
	return strings.ContainsAny(before[left:]+after[:right], "0123456789")
}

func isHyphened(c byte) bool {
	return c == '-' || c >= '0' && c <= '9' || c|0x20 >= 'a' && c|0x20 <= 'z'
}

// chooseLanguages finds out of which language the Latin words are. It returns false if no word can have a reading.
func (r *reader) chooseLanguages() bool {
	letters, others, english := 0, 0, 0
	var seen []*token // different Latin words
	has := make(map[string]bool)
	for i := range r.tokens {
		t := &r.tokens[i]
		switch {
		case t.kind != latin:
			others += utf8.RuneCountInString(t.form)
		case !t.code:
			letters += len(t.form)
			if len(seen) < maxClues && !has[t.form] {
				has[t.form], seen = true, append(seen, t)
				if t.stop && !words.IsFunctionWord("", t.form) {
					english++
				}
			}
		}
	}
	switch {
	case others > 0 && fewLetters*others >= letters:
		r.foreign = true
		return true // its Latin words are English
	case english > 2 && 5*english >= len(seen): // without a look at any list
		return false
	}
	found := make([]clues, len(r.table.languages))
	for _, t := range seen {
		for i := range found {
			if l := &r.table.languages[i]; l.kind == latin {
				found[i].add(r, l, t)
			}
		}
	}
	best, most := -1, 0.
	for i, c := range found {
		if c.convincing() {
			if n := c.own - c.english + r.phrases(&r.table.languages[i]); best < 0 || n > most {
				best, most = i, n
			}
		}
	}
	if best < 0 {
		return false
	}
	r.latin = &r.table.languages[best]
	return true
}

// phrases returns how much it says for a language that the text has its phrases: languages share more words than
// phrases.
func (r *reader) phrases(l *language) (n float64) {
	for i := range r.tokens[:min(len(r.tokens), maxClues)] {
		for k := 2; k <= maxPhrase; k++ {
			if form, ok := r.phrase(l, i, k); ok && r.lookup(l, form).has(form) {
				n += .5 * float64(k)
			}
		}
	}
	return n
}

const (
	// maxClues is how many different words tell the language of a text.
	maxClues = 60
	// fewLetters says when letters of other scripts are a quotation in a text of Latin ones: if there is one of so many.
	fewLetters = 25
)

// clues say how likely a text is of one language and not English.
type clues struct {
	own, english float64 // weights of the words that say the one and the other
	certain      int     // words that only this language has, in just this form
	sure         int     // how many of them say it alone: function words, and words with letters that English does not have
	unknown      int     // those that neither has
}

// add adds a word of the text. Words of techniques are English in all languages, so that they say little, and so
// does a word that looks like its English one.
func (c *clues) add(r *reader, l *language, t *token) {
	switch function := words.IsFunctionWord(l.code, t.form); {
	case t.stop && function:
		return
	case t.stop:
		c.english++
		return
	case function:
		c.own, c.certain = c.own+1, c.certain+1
		if len(t.form) > 2 {
			c.sure++
		}
		return
	case t.known && r.lookup(l, t.form).has(t.form), len(t.form) < 2:
		return
	case t.known:
		c.english += .25
		return
	}
	list := r.lookup(l, t.form)
	accent := strings.ContainsFunc(r.text[t.start:t.end], func(c rune) bool { return c >= utf8.RuneSelf })
	switch {
	case list == "" && l.code == "de" && r.compoundOf(l, t.form) != nil:
		c.own, c.certain = c.own+1, c.certain+1
	case list == "":
		c.unknown++
	case accent:
		c.own, c.certain, c.sure = c.own+1.5, c.certain+1, c.sure+1
	case r.cognate(list, t.form):
	case list.has(t.form):
		c.own, c.certain = c.own+1, c.certain+1
	default:
		c.own += .3
	}
}

// cognate reports whether an English word of some entries looks like a word: English may have that, too.
func (r *reader) cognate(list entries, form string) bool {
	for i := range list.len() {
		english := r.table.word(list.at(i).word)
		n := 0
		for n < len(english) && n < len(form) && english[n] == form[n] {
			n++
		}
		if n >= 4 && 3*n >= 2*len(form) {
			return true
		}
	}
	return false
}

// isEnglish reports whether the first of some entries is an English word that people use as it is: a word
// with another ending is one, too.
func (r *reader) isEnglish(list entries) bool {
	return formHash(formOf(r.table.word(list.at(0).word))) == list.at(0).form
}

// convincing reports whether the clues are enough.
func (c *clues) convincing() bool {
	const least = .3 // part of the words that English does not have
	known := float64(c.certain) >= least*float64(c.certain+c.unknown)
	return c.own > c.english && (c.sure > 0 || c.certain > 1 || c.own > 1.2) && (known || c.sure > 1)
}

// has reports whether one of the entries has a form.
func (e entries) has(form string) bool {
	hash := formHash(form)
	for i := range e.len() {
		if e.at(i).form == hash {
			return true
		}
	}
	return false
}

// read finds the senses of the words.
func (r *reader) read() {
	for i := 0; i < len(r.tokens); {
		t := &r.tokens[i]
		switch l := r.languageOf(t); {
		case t.code || l == nil:
			i++
		case l.kind == dense:
			r.readDense(l, t)
			i++
		default:
			i += r.readWords(l, i)
		}
	}
}

// languageOf returns the language of a token; nil means that it stays as it is.
func (r *reader) languageOf(t *token) *language {
	switch {
	case t.kind == latin:
		return r.latin
	case !r.foreign:
		return nil
	}
	code := ""
	if t.kind == dense {
		switch first, _ := utf8.DecodeRuneInString(t.form); {
		case unicode.Is(unicode.Hangul, first):
			code = "ko"
		case r.kana:
			code = "ja"
		default:
			code = "zh"
		}
	}
	for i := range r.table.languages {
		if l := &r.table.languages[i]; l.kind == t.kind && (code == "" && r.lookup(l, t.form) != "" || code == l.code) {
			return l
		}
	}
	return nil
}

// readWords reads the longest phrase that begins with token i, and returns how many tokens it has.
func (r *reader) readWords(l *language, i int) int {
	for n := maxPhrase; n > 1; n-- {
		if form, ok := r.phrase(l, i, n); ok {
			r.put(l, r.tokens[i].start, r.tokens[i+n-1].end, r.table.sensesOf(r.lookup(l, form), form))
			return n
		}
	}
	t := &r.tokens[i]
	list := r.lookup(l, t.form)
	if list == "" && !t.known {
		list = r.lookup(l, withoutPronoun(l.code, t.form))
	}
	exact := list.has(t.form)
	switch {
	case list != "" && (!t.known && (exact || !r.isEnglish(list)) || exact && !r.staysEnglish(l, i, list)):
		r.put(l, t.start, t.end, r.table.sensesOf(list, t.form))
	case !t.stop && words.IsFunctionWord(l.code, t.form):
		r.put(l, t.start, t.end, []Sense{{"", 1}})
	case list == "" && !t.known && l.code == "de":
		for _, p := range r.compoundOf(l, t.form) {
			r.put(l, t.start, t.end, p.senses)
		}
	}
	return 1
}

// phrase returns the form of n tokens; ok is false if a list does not have them as a phrase.
func (r *reader) phrase(l *language, i, n int) (form string, ok bool) {
	if i+n > len(r.tokens) || !r.tokens[i+1].joined || !r.begins(l, r.tokens[i].form) {
		return "", false
	}
	for k, t := range r.tokens[i : i+n] {
		if t.code || t.kind == dense || k > 0 && !t.joined {
			return "", false
		}
		if k > 0 {
			form += " "
		}
		form += t.form
	}
	return form, r.lookup(l, form) != ""
}

// begins reports whether a phrase of a list begins with a word.
func (r *reader) begins(l *language, form string) bool {
	known, ok := r.first[wordOf{l, form}]
	if !ok {
		start := stemmerOf(l.code).key(form) + " "
		var buf [maxKey]byte
		found, _ := l.floor(start+"\xff", &buf)
		known = strings.HasPrefix(string(found), start)
		r.first[wordOf{l, form}] = known
	}
	return known
}

// staysEnglish reports whether a word that English has, too, stays as it is: the list says so, or its
// neighbours are English.
func (r *reader) staysEnglish(l *language, i int, list entries) bool {
	for n := range list.len() {
		if r.table.word(list.at(n).word) == r.tokens[i].form {
			return true
		}
	}
	near := 0
	for k := max(0, i-2); k < min(len(r.tokens), i+3); k++ {
		if t := &r.tokens[k]; k != i && !t.code && t.kind == latin {
			switch {
			case !t.known && r.lookup(l, t.form) != "":
				near++
			case t.known && !r.lookup(l, t.form).has(t.form):
				near--
			}
		}
	}
	return near < 0
}

// A part of a compound.
type part struct {
	senses []Sense
	own    bool // English does not have the word
}

// compoundOf returns the parts of a compound; nil if a word is none.
func (r *reader) compoundOf(l *language, form string) []part {
	if len(form) < 6 || len(form) > 40 {
		return nil
	}
	parts, ok := r.cut[form]
	if !ok {
		if parts = r.compound(l, form, 0); !slices.ContainsFunc(parts, func(p part) bool { return p.own }) {
			parts = nil // of English words: a name, perhaps
		}
		r.cut[form] = parts
	}
	return parts
}

// compound returns the parts of a compound, the longest last one that fits; nil if it is none.
func (r *reader) compound(l *language, form string, depth int) []part {
	const least = 3 // letters of a part
	for cut := least; cut <= len(form)-least; cut++ {
		if first, ok := r.firstPart(l, form[:cut]); ok {
			if last, ok := r.part(l, form[cut:]); ok {
				return []part{first, last}
			}
		}
	}
	for cut := least; cut <= len(form)-least && depth < 2; cut++ {
		if first, ok := r.firstPart(l, form[:cut]); ok {
			if rest := r.compound(l, form[cut:], depth+1); rest != nil {
				return append([]part{first}, rest...)
			}
		}
	}
	return nil
}

// firstPart is part for a part that others follow, perhaps with an s between.
func (r *reader) firstPart(l *language, form string) (part, bool) {
	p, ok := r.part(l, form)
	if !ok && strings.HasSuffix(form, "s") {
		return r.part(l, form[:len(form)-1])
	}
	return p, ok
}

// part returns a part of a compound; ok is false if it is no word.
func (r *reader) part(l *language, form string) (p part, ok bool) {
	if len(form) < 3 {
		return p, false
	}
	list := r.lookup(l, form)
	n, known := r.table.english(form)
	switch {
	case known && len(form) > 3 && !list.has(form):
		return part{[]Sense{{r.table.word(n), 1}}, false}, true
	case list == "":
		return p, false
	}
	return part{r.table.sensesOf(list, form), !known && list.has(form)}, true
}

// readDense reads a run of characters by the longest words.
func (r *reader) readDense(l *language, t *token) {
	form, at := t.form, t.start
	same := form == r.text[t.start:t.end] // else places cannot be told: they are those of the run
	for form != "" {
		n, list := l.longest(form)
		first, size := utf8.DecodeRuneInString(form)
		if n == 0 || n == size && !unicode.Is(unicode.Han, first) && !(len(form) == len(t.form) && isParticle(form[n:])) {
			form, at = form[size:], at+size
			continue
		}
		start, end := at, at+n
		if !same {
			start, end = t.start, t.end
		}
		r.put(l, start, end, r.table.sensesOf(list, ""))
		form, at = form[n:], at+n
	}
}

// isParticle reports whether so little follows a word of one syllable that it is a Korean particle, or nothing.
func isParticle(rest string) bool {
	switch rest {
	case "", "은", "는", "이", "가", "을", "를", "에", "의", "로", "으로", "도", "만", "과", "와", "랑", "에서", "까지", "용":
		return true
	}
	return false
}

func (r *reader) put(l *language, start, end int, senses []Sense) {
	r.out = append(r.out, Word{start, end, l.code, senses})
}

// kept returns what stays of a part of the text without reading: particles, endings and single characters do not.
func (r *Reading) kept(start, end int) string {
	if start >= end {
		return ""
	}
	part := []rune(r.text[start:end])
	isDense := func(i int) bool { return i >= 0 && i < len(part) && words.Dense(part[i]) }
	var b strings.Builder
	for i, c := range part {
		switch ascii, ok := marks(c); {
		case ok:
			b.WriteString(ascii)
		case isEnding(c) || isDense(i) && !isDense(i-1) && !isDense(i+1):
			b.WriteByte(' ')
		default:
			b.WriteRune(c)
		}
	}
	return b.String()
}

// pad appends a blank if what was written ends with a letter.
func pad(b *strings.Builder) {
	if last, _ := utf8.DecodeLastRuneInString(b.String()); b.Len() > 0 && words.IsLetter(last) {
		b.WriteByte(' ')
	}
}

// isStop reports whether a text begins with a sign that ends a word.
func isStop(text string) bool {
	r, _ := utf8.DecodeRuneInString(text)
	return words.IsSeparator(r)
}
