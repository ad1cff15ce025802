package searchtest

import (
	"crypto/sha256"
	"fmt"
	"iter"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/repertoire-skills/repertoire/internal/must"
	"github.com/repertoire-skills/repertoire/internal/words"
	"github.com/repertoire-skills/repertoire/search"
	"github.com/repertoire-skills/repertoire/skill"
	"github.com/repertoire-skills/repertoire/store"
)

// A Source is one source of a catalog, with all of its skills.
type Source struct {
	store.Source
	Skills []*skill.Skill // each in its folder Dir
	// Refused are folders with files that hold no usable skill.
	Refused []string
}

// NewSkill returns a skill in the folder dir, as a source would.
func NewSkill(dir, name, description, body string, tags ...string) *skill.Skill {
	digest := sha256.Sum256(fmt.Append(nil, name, "\x00", description, "\x00", body, "\x00", tags))
	return &skill.Skill{
		Meta: skill.Meta{
			Name: name, Description: description, Tags: tags, Tokens: words.Tokens(body),
			Path: dir + "/SKILL.md", Location: "/" + dir + "/SKILL.md",
			Digest: fmt.Sprintf("sha256:%x", digest), TextDigest: fmt.Sprintf("%x", digest),
		},
		Body:  body,
		Files: []skill.File{{Path: "SKILL.md", Size: int64(len(body))}, {Path: "scripts/run.sh", Size: 7}},
	}
}

// Refs walks the source.
func (s *Source) Refs() iter.Seq2[*skill.Ref, error] {
	return func(yield func(*skill.Ref, error) bool) {
		for _, sk := range s.Skills {
			load := func() (*skill.Skill, error) { return sk, nil }
			if !yield(&skill.Ref{Path: sk.Path, Stamp: sk.Digest, Load: load}, nil) {
				return
			}
		}
		for _, dir := range s.Refused {
			path := dir + "/SKILL.md"
			load := func() (*skill.Skill, error) {
				return nil, &skill.ParseError{Problem: skill.Problem{Rule: "no-name", Severity: skill.Error, Path: path, Message: "it has no name"}}
			}
			if !yield(&skill.Ref{Path: path, Stamp: "refused", Load: load}, nil) {
				return
			}
		}
	}
}

// Fill brings x in step with these sources, and removes all others.
func Fill(t testing.TB, x *Catalog, sources []Source) {
	t.Helper()
	labels := make([]string, len(sources))
	for i := range sources {
		labels[i] = sources[i].Label
		r, err := x.Sync(t.Context(), sources[i].Source, sources[i].Refs())
		if err != nil || !r.Complete {
			t.Fatalf("syncing %s: complete %v, %v", sources[i].Label, r.Complete, err)
		}
	}
	must.Do(t, x.Retain(t.Context(), labels))
	Embed(t, x)
}

// Everywhere is a word that every generated skill has in its body.
const Everywhere = "ubiquitous"

// RareTag is the tag of three generated skills, written in different cases.
const RareTag = "rarest"

// Generate returns two sources with n skills in all, and an empty source. The same
// seed gives the same skills. There are names in several scripts, names with slashes,
// names that occur in both sources, copies, refused files, skills without a
// description and without tags, and one with a body of 200 KB.
func Generate(n int, seed uint64) []Source {
	g := newGenerator(seed)
	home := Source{Source: store.Source{Label: "home", Root: "/home", Priority: 2}, Refused: []string{"bad/one", "bad/two"}}
	work := Source{Source: store.Source{Label: "work", Root: "/work", Priority: 1}, Refused: []string{"bad"}}
	for i := range n {
		sk := g.skill(i)
		switch {
		case i%4 != 3:
			home.Skills = append(home.Skills, sk)
		case i%20 == 3: // shadowed by one of home
			of := home.Skills[g.rng.IntN(len(home.Skills))]
			work.Skills = append(work.Skills, NewSkill(sk.Dir(), strings.ToUpper(of.Name), sk.Description, sk.Body, sk.Tags...))
		case i%20 == 7: // a copy under another name
			of := home.Skills[g.rng.IntN(len(home.Skills))]
			work.Skills = append(work.Skills, NewSkill(sk.Dir(), of.Name+"-copy", of.Description, of.Body, "copy"))
		default:
			work.Skills = append(work.Skills, sk)
		}
	}
	return []Source{home, work, {Source: store.Source{Label: "empty", Root: "/empty"}}}
}

// A generator makes texts in which a few words are everywhere and most are rare.
type generator struct {
	rng   *rand.Rand
	zipf  *rand.Zipf
	words []string
}

func newGenerator(seed uint64) *generator {
	g := &generator{rng: rand.New(rand.NewPCG(seed, 1))}
	const vocabulary = 4000
	g.zipf = rand.NewZipf(g.rng, 1.2, 12, vocabulary-1)
	syllables := strings.Fields("ba co di fu ga ho ji ku la mo ni pu ra so ti vu wa xo ye zu")
	for len(g.words) < vocabulary {
		var b strings.Builder
		for range 2 + g.rng.IntN(3) {
			b.WriteString(syllables[g.rng.IntN(len(syllables))])
		}
		g.words = append(g.words, b.String())
	}
	return g
}

func (g *generator) text(n int) string {
	words := make([]string, n)
	for i := range words {
		words[i] = g.words[g.zipf.Uint64()]
	}
	return strings.Join(words, " ")
}

// odd are names that are not plain ASCII words.
var odd = []string{"数据报表", "数据清理", "отчёт-данных", "Ёлка", "🎉-party", "plugin/inner", "plugin/other", "ns:tool", "résumé", "ﬁle-tool", "100%"}

// skill returns the skill of that number.
func (g *generator) skill(i int) *skill.Skill {
	name := fmt.Sprintf("%s-%s-%d", g.words[g.rng.IntN(len(g.words))], g.words[g.zipf.Uint64()], i)
	if i%5 == 1 && i/5 < len(odd) {
		name = odd[i/5]
	}
	length := 40 + g.rng.IntN(300)
	if i == 10 {
		length = 200 << 10 / 7
	}
	description := g.text(6 + g.rng.IntN(20))
	if i%40 == 5 {
		description = ""
	}
	if i%40 == 6 {
		description += " 生成数据报表 и отчёт 🎉"
	}
	var tags []string
	for range g.rng.IntN(3) {
		tags = append(tags, fmt.Sprintf("tag%d", g.rng.IntN(6)))
	}
	if i == 8 || i == 12 || i == 44 {
		tags = append(tags, []string{RareTag, strings.ToUpper(RareTag)}[i%8/4])
	}
	slices.Sort(tags)
	sk := NewSkill(fmt.Sprintf("skills/%d", i), name, description, g.text(length)+" "+Everywhere, slices.Compact(tags)...)
	if i%4 == 3 {
		about := strings.Fields(description + " x y z")
		sk.Triggers = skill.Triggers{
			Keywords: []string{strings.Join(about[:2], " "), about[2], g.text(1)}, Verbs: []string{g.text(1)},
			Patterns: []string{about[2][:1] + `\w+ ` + about[1] + "|" + Everywhere + "x"},
		}
	}
	return sk
}

// Queries returns n prompts for the sources, the same for the same seed: parts of
// texts, names, beginnings of names, and texts that are no requests. The agents take
// turns in asking.
func Queries(sources []Source, seed uint64, n int, agents []*search.Agent) []search.Query {
	g := newGenerator(seed)
	g.rng = rand.New(rand.NewPCG(seed, 2))
	var all []*skill.Skill
	for i := range sources {
		all = append(all, sources[i].Skills...)
	}
	texts := []string{"", "yes", "no such words anywhere", Everywhere, "plug", "数据", "生成数据报表", "отчёт", "use the ns:tool skill", "fatal: " + strings.Repeat("at main.go:1\n", 40)}
	for len(texts) < n {
		sk := all[g.rng.IntN(len(all))]
		switch name := []rune(sk.Name); len(texts) % 5 {
		case 0:
			texts = append(texts, sk.Name)
		case 1:
			texts = append(texts, string(name[:min(len(name), 4)]))
		case 2:
			texts = append(texts, g.some(sk.Body, 8))
		default:
			texts = append(texts, "please "+g.some(sk.Description, 7)+" "+g.text(2))
		}
	}
	queries := make([]search.Query, n)
	for i := range queries {
		queries[i] = search.Query{Text: texts[i]}
		if len(agents) > 0 {
			queries[i].Agent = agents[i%len(agents)]
		}
	}
	return queries
}

// some returns n words of a text.
func (g *generator) some(text string, n int) string {
	words := strings.Fields(text)
	g.rng.Shuffle(len(words), func(i, j int) { words[i], words[j] = words[j], words[i] })
	return strings.Join(words[:min(n, len(words))], " ")
}

// Agents returns agents with every kind of rule, for the sources of Generate.
func Agents() []*search.Agent {
	return []*search.Agent{
		nil,
		{Name: "all"},
		{Name: "three", Include: search.Rules{Tags: []string{RareTag}}},
		{Name: "tags", Include: search.Rules{Tags: []string{"tag1", "TAG2"}}, Exclude: search.Rules{Tags: []string{"tag3"}}},
		{Name: "source", Include: search.Rules{Sources: []string{"work"}}},
		{Name: "not-source", Exclude: search.Rules{Sources: []string{"home"}, Names: []string{"*-1?"}}},
		{Name: "globs", Include: search.Rules{Names: []string{"b*", "plugin/*", "数据*", "NS:*"}}},
		{Name: "pinned", Include: search.Rules{Names: []string{"a*", "plugin/*", "ё*", "*party"}}, Pinned: []string{"plugin/inner", "Ёлка", "🎉-party"}},
		{Name: "misspelt", Exclude: search.Rules{Names: []string{"no-such-name"}, Tags: []string{"no-such-tag"}, Sources: []string{"hom"}}},
		{Name: "nothing", Include: search.Rules{Sources: []string{"empty"}}},
	}
}
