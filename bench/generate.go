package bench

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"iter"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/repertoire-skills/repertoire/internal/words"
	"github.com/repertoire-skills/repertoire/skill"
	"github.com/repertoire-skills/repertoire/source"
)

// generate returns n synthetic skills made from the skills of a corpus, for catalogs
// that are larger than any real one. A name consists of words of real names, a
// description of real sentences, and a body of runs of real paragraphs; each is as long
// as in some real skill. The same seed and corpus give the same bytes.
//
// Synthetic skills keep what speed depends on: the lengths of bodies and descriptions,
// how common each word is (a Zipf-like distribution), and roughly how many skills have
// it. They have no topic: the parts of a skill do not belong together, so a body
// repeats itself less and has about a quarter more different words. Use them to measure
// speed and size, never relevance.
//
// generate reads the corpus when the first skill is asked for, and keeps its texts in
// memory until the last skill; it does not keep the skills. Names are unique as a
// catalog compares them.
func generate(seed uint64, corpus iter.Seq2[Document, error], n int) iter.Seq2[Document, error] {
	return func(yield func(Document, error) bool) {
		m, err := newMaterial(corpus)
		if err != nil {
			yield(Document{}, err)
			return
		}
		g := &generator{material: m, taken: make(map[uint64]bool, n)}
		for i := range n {
			g.random = rand.New(rand.NewPCG(seed, uint64(i)))
			if !yield(g.document(i), nil) {
				return
			}
		}
	}
}

// material is what skills are made of.
type material struct {
	words      []string   // of names
	sentences  []string   // of descriptions
	paragraphs []string   // of bodies, one skill after the other
	ends       []int32    // by paragraph: the index after the last paragraph of its skill
	tags       [][]string // by skill
	lengths    []lengths  // by skill
}

// lengths are the lengths of one real skill.
type lengths struct{ name, description, body int } // in words, runes and bytes

// newMaterial takes a corpus apart. It uses skills without a body too, because some
// real skills have none.
func newMaterial(corpus iter.Seq2[Document, error]) (*material, error) {
	m := new(material)
	for d, err := range corpus {
		if err != nil {
			return nil, err
		}
		s := d.Skill
		words, sentences := nameWords(s.Name), splitSentences(s.Description)
		if len(words) == 0 || len(sentences) == 0 {
			continue
		}
		m.words, m.sentences = append(m.words, words...), append(m.sentences, sentences...)
		if body := strings.TrimSpace(s.Body); body != "" {
			m.paragraphs = append(m.paragraphs, strings.SplitAfter(body, "\n\n")...)
			for len(m.ends) < len(m.paragraphs) {
				m.ends = append(m.ends, int32(len(m.paragraphs)))
			}
		}
		m.tags = append(m.tags, s.Tags)
		m.lengths = append(m.lengths, lengths{len(words), utf8.RuneCountInString(s.Description), len(s.Body)})
	}
	if len(m.lengths) == 0 || len(m.paragraphs) == 0 {
		return nil, errors.New("the corpus has no skill with a name, a description and a body to make others from")
	}
	return m, nil
}

// nameWords returns the words of a name that may be used in a valid name.
func nameWords(name string) []string {
	return strings.FieldsFunc(words.NameKey(name), func(r rune) bool {
		return r != unicode.ToLower(r) || !unicode.IsLetter(r) && !unicode.IsNumber(r)
	})
}

// splitSentences cuts a text after each sentence.
func splitSentences(text string) []string {
	var list []string
	start := 0
	for i, r := range text {
		end := i + utf8.RuneLen(r)
		if strings.ContainsRune("。！？", r) || strings.ContainsRune(".!?", r) && strings.HasPrefix(text[end:], " ") {
			list = append(list, strings.TrimSpace(text[start:end]))
			start = end
		}
	}
	if rest := strings.TrimSpace(text[start:]); rest != "" {
		list = append(list, rest)
	}
	return list
}

// generator makes one skill after another.
type generator struct {
	*material
	random *rand.Rand      // for the current skill
	taken  map[uint64]bool // hashes of names: for a million skills they need 40 MB, the names would need 120 MB
}

func (g *generator) document(i int) Document {
	like := g.lengths[g.random.IntN(len(g.lengths))]
	s := &skill.Skill{Meta: skill.Meta{Name: g.name(like.name), Description: g.description(like.description)}}
	s.Body, s.Tags = g.body(g.lengths[g.random.IntN(len(g.lengths))].body), g.tags[g.random.IntN(len(g.tags))]
	s.Tokens = words.Tokens(s.Body)
	s.Digest = fmt.Sprintf("sha256:%x", sha256.Sum256([]byte(s.Name+"\x00"+s.Description+"\x00"+s.Body)))
	return Document{ID: s.Name, At: fmt.Sprintf("synthetic skill %d", i), Skill: s}
}

// name returns a name of about n words that none has yet.
func (g *generator) name(n int) string {
	for try := 0; ; try++ {
		name := ""
		for range max(2, n) + try/4 { // longer after some tries, since few words make few names
			word := pick(g.random, g.words)
			if utf8.RuneCountInString(name)+utf8.RuneCountInString(word) >= skill.MaxName-8 {
				break
			}
			name = strings.TrimPrefix(name+"-"+word, "-")
		}
		if try >= 16 || name == "" {
			name = strings.TrimPrefix(fmt.Sprintf("%s-%d", name, len(g.taken)), "-")
		}
		if h := words.Hash(name); !g.taken[h] {
			g.taken[h] = true
			return name
		}
	}
}

// description returns sentences of about n runes together, at least one.
func (g *generator) description(n int) string {
	text, size := "", 0
	for size < n || text == "" {
		sentence := pick(g.random, g.sentences)
		if size > 0 && 2*size+utf8.RuneCountInString(sentence) > 2*n {
			break // with it the text would be further from n than without
		}
		text = strings.TrimSpace(text + " " + sentence)
		size = utf8.RuneCountInString(text)
	}
	return string([]rune(text)[:min(size, skill.MaxDescription)])
}

// maxRun is how many paragraphs of one skill follow each other at most. Words repeat
// within a real body; bodies of single paragraphs from everywhere would have too many
// different words.
const maxRun = 16

// body returns paragraphs of about n bytes together.
func (g *generator) body(n int) string {
	var b strings.Builder
	b.Grow(n + n/4)
	for b.Len() < n {
		// Draw a paragraph and not a skill, or paragraphs of short skills would be too
		// common.
		start := g.random.IntN(len(g.paragraphs))
		for _, p := range g.paragraphs[start:min(int(g.ends[start]), start+1+g.random.IntN(maxRun))] {
			if b.Len() > 0 && 2*b.Len()+len(p) > 2*n {
				return b.String()
			}
			b.WriteString(p)
			if !strings.HasSuffix(p, "\n\n") {
				b.WriteString("\n\n")
			}
		}
	}
	return b.String()
}

func pick(random *rand.Rand, list []string) string { return list[random.IntN(len(list))] }

// sourceCorpus returns the skills of a source as a corpus, without unreadable skills.
func sourceCorpus(ctx context.Context, src source.Source) iter.Seq2[Document, error] {
	return func(yield func(Document, error) bool) {
		for ref, err := range src.Skills(ctx, nil) {
			if err != nil {
				continue
			}
			s, err := ref.Load()
			if err == nil && !yield(Document{ID: ref.Path, At: ref.Path, Skill: s}, nil) {
				return
			}
		}
		if err := ctx.Err(); err != nil {
			yield(Document{}, err)
		}
	}
}

// openCorpus returns the corpus in a file (see ReadCorpus) or in a folder. In a folder
// it reads corpus.jsonl or skills.jsonl, gzipped or not; without such a file, the
// corpus is all skills under the folder.
func openCorpus(ctx context.Context, name string) (iter.Seq2[Document, error], error) {
	info, err := os.Stat(name)
	if err != nil {
		return nil, fmt.Errorf("opening corpus: %w", err)
	}
	if !info.IsDir() {
		return ReadCorpus(name), nil
	}
	for _, base := range []string{"corpus.jsonl", "skills.jsonl"} {
		for _, suffix := range []string{"", ".gz"} {
			if file := filepath.Join(name, base+suffix); isFile(file) {
				return ReadCorpus(file), nil
			}
		}
	}
	src, err := source.Dir(name, nil)
	if err != nil {
		return nil, fmt.Errorf("opening corpus: %w", err)
	}
	return sourceCorpus(ctx, src), nil
}

func isFile(name string) bool {
	info, err := os.Stat(name)
	return err == nil && info.Mode().IsRegular()
}
