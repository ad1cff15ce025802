package searchtest_test

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"golang.org/x/text/unicode/norm"

	"github.com/repertoire-skills/repertoire/embed"
	"github.com/repertoire-skills/repertoire/embed/embedtest"
	"github.com/repertoire-skills/repertoire/internal/must"
	"github.com/repertoire-skills/repertoire/internal/testsize"
	"github.com/repertoire-skills/repertoire/internal/words"
	"github.com/repertoire-skills/repertoire/search"
	"github.com/repertoire-skills/repertoire/search/searchtest"
	"github.com/repertoire-skills/repertoire/skill"
	"github.com/repertoire-skills/repertoire/source"
	"github.com/repertoire-skills/repertoire/store"
)

// TestScopeIsWorld: for an agent, a catalog is the same as one from which all that its
// rules keep out was deleted, also while sources are away. Only word statistics, and so
// scores and order, may differ.
func TestScopeIsWorld(t *testing.T) {
	testsize.Long(t)
	t.Parallel()
	kinds := []string{"memory", "unpublished", "delta", "memory", "fts5", "merged", "memory", "memory"} // files are slow
	for i := range testsize.Rounds(16, 1000) {
		seed, kind := uint64(i), kinds[i%len(kinds)]
		var e embed.Embedder
		if i%3 == 0 {
			e = &embedtest.Fake{}
		}
		ok := t.Run(fmt.Sprintf("%s-%d", kind, seed), func(t *testing.T) {
			w := newWorld(seed)
			leg := legs[kind]
			full := leg.Open(t, e)
			for range 3 {
				w.fill(t, leg, full, w.sources)
				w.compare(t, full, e)
				w.edit()
			}
		})
		if !ok {
			t.Fatalf("the first failure has the seed %d", seed)
		}
	}
}

// A world is a random catalog with an agent.
type world struct {
	rng     *rand.Rand
	sources []searchtest.Source
	away    map[string]bool // labels of sources
	agent   *search.Agent
	made    int // skills so far
}

// worldNames are names with everything that a rule, an ID or a path may trip over.
var worldNames = []string{"code-review", "Code-Review", "CODE-REVIEW", "git", " git ", "secret/b", "secret", "a/../b", "..", "one/git",
	"two/s3", "数据报表", "Ёлка", "е\u0308лка", "елка", "Straße", "STRASSE", "ﬁle", "file", "x y", "[x]", "*", "a*b", "résumé", "re\u0301sume\u0301", "s1", "-", "user:.claude/git"}

var worldTags = []string{"quality", "Quality", "office", "über", "Größe", "gro\u0308sse"}

func newWorld(seed uint64) *world {
	w := &world{rng: rand.New(rand.NewPCG(seed, 7)), away: make(map[string]bool)}
	labels := [][]string{{"one", "two"}, {"one", "one/two", "two"}, {"user:.claude", "project:.claude"}}[w.rng.IntN(3)]
	for _, label := range labels {
		w.sources = append(w.sources, searchtest.Source{Source: store.Source{Label: label, Root: "/" + label, Priority: w.rng.IntN(3)}})
	}
	for range 2 + w.rng.IntN(39) {
		w.add(&w.sources[w.rng.IntN(len(w.sources))])
	}
	for _, label := range labels {
		w.away[label] = w.rng.IntN(4) == 0
	}
	w.agent = &search.Agent{Name: "a"}
	if w.rng.IntN(3) > 0 {
		w.agent.Include = w.rules()
	}
	if w.rng.IntN(3) > 0 {
		w.agent.Exclude = w.rules()
	}
	for range w.rng.IntN(4) {
		w.agent.Pinned = append(w.agent.Pinned, w.pick(worldNames))
	}
	return w
}

func (w *world) pick(list []string) string { return list[w.rng.IntN(len(list))] }

// add adds a skill to a source. Many share a name, a text or both with others.
func (w *world) add(src *searchtest.Source) {
	w.made++
	src.Skills = append(src.Skills, w.skill(fmt.Sprintf("s%d", w.made)))
}

// skill returns a skill in the folder dir.
func (w *world) skill(dir string) *skill.Skill {
	name := w.pick(worldNames)
	if w.rng.IntN(3) == 0 {
		name = dir
	}
	text := fmt.Sprint("number ", w.rng.IntN(12))
	var tags []string
	if w.rng.IntN(2) == 0 {
		tags = []string{w.pick(worldTags)}
	}
	return searchtest.NewSkill(dir, name, text+" "+searchtest.Everywhere, strings.Repeat(text+" body ", 9)+searchtest.Everywhere, tags...)
}

// edit lets sources come and go. It removes, renames and adds some skills of those that
// are not away from before to after, and may change which source comes first.
func (w *world) edit() {
	for i := range w.sources {
		s := &w.sources[i]
		was := w.away[s.Label]
		if w.rng.IntN(3) == 0 {
			w.away[s.Label] = !was
		}
		if w.rng.IntN(4) == 0 {
			s.Priority = w.rng.IntN(3)
		}
		if was && w.away[s.Label] {
			continue // nobody sees an edit there
		}
		s.Skills = slices.DeleteFunc(slices.Clone(s.Skills), func(*skill.Skill) bool { return w.rng.IntN(5) == 0 })
		for n, old := range s.Skills {
			if w.rng.IntN(6) == 0 {
				s.Skills[n] = w.skill(old.Dir())
			}
		}
		for range w.rng.IntN(3) {
			w.add(s)
		}
	}
}

// fill brings a catalog in step with the sources. One that is away was there before.
func (w *world) fill(t *testing.T, leg searchtest.Leg, x *searchtest.Catalog, list []searchtest.Source) {
	t.Helper()
	known, err := x.Store.Sources(t.Context())
	must.Do(t, err)
	var labels []string
	for _, s := range list {
		labels = append(labels, s.Label)
		was := slices.ContainsFunc(known, func(o store.Source) bool { return o.Label == s.Label && o.Away })
		if !was || !w.away[s.Label] {
			searchtest.SyncSource(t, x, s.Source, s.Refs())
		}
		if w.away[s.Label] {
			if leg.Changed != nil {
				leg.Changed(t, x)
			}
			searchtest.SyncSource(t, x, s.Source, func(yield func(*skill.Ref, error) bool) { yield(nil, source.ErrAway) })
		}
	}
	must.Do(t, x.Retain(t.Context(), labels))
	searchtest.Embed(t, x)
	if leg.Changed != nil {
		leg.Changed(t, x)
	}
}

// rules returns a few rules, some of which match nothing.
func (w *world) rules() (r search.Rules) {
	for range 1 + w.rng.IntN(3) {
		name := w.pick(worldNames)
		switch w.rng.IntN(8) {
		case 0:
			r.Tags = append(r.Tags, w.pick(worldTags))
		case 1, 2:
			r.Sources = append(r.Sources, w.pick([]string{"one", "two", "one/two", "user:.claude", "project:.claude", "on"}))
		case 3:
			r.Names = append(r.Names, "no-such-name")
		case 4, 5:
			runes := []rune(strings.TrimSpace(name))
			r.Names = append(r.Names, escaped(string(runes[:1+w.rng.IntN(len(runes))]))+"*")
		case 6:
			r.Names = append(r.Names, w.pick([]string{"*", "*b", "*e*", "?", "??", "s?", "stra?e", "?лка"}))
		default:
			r.Names = append(r.Names, escaped(name))
		}
	}
	return r
}

// escaped returns the pattern that matches only a name.
func escaped(name string) string {
	return strings.NewReplacer("*", `\*`, "[", `\[`).Replace(name)
}

// matches works out in the plainest way whether rules match a skill.
func matches(r search.Rules, label string, sk *skill.Skill) bool {
	return slices.Contains(r.Sources, label) ||
		slices.ContainsFunc(r.Tags, func(tag string) bool {
			return slices.ContainsFunc(sk.Tags, func(own string) bool { return words.SameName(own, tag) })
		}) ||
		slices.ContainsFunc(r.Names, func(pattern string) bool {
			return fits(pattern, sk.Name, words.NameKey) || fits(pattern, sk.Name, func(name string) string { return strings.ToLower(norm.NFKC.String(name)) })
		})
}

// fits works out in the plainest way whether a pattern matches a name when key has made both alike.
func fits(pattern, name string, key func(string) string) bool {
	expr := regexp.QuoteMeta(key(pattern))
	for quoted, meaning := range map[string]string{`\\\*`: "\x00", `\\\[`: `\[`} { // what was escaped
		expr = strings.ReplaceAll(expr, quoted, meaning)
	}
	expr = strings.NewReplacer(`\*`, ".*", `\?`, ".", "\x00", `\*`).Replace(expr)
	return regexp.MustCompile("(?s)^" + expr + "$").MatchString(key(name))
}

// rest returns the sources without what the agent's rules keep out.
func (w *world) rest() (list []searchtest.Source) {
	all := len(w.agent.Include.Names)+len(w.agent.Include.Tags)+len(w.agent.Include.Sources) == 0
	for _, s := range w.sources {
		s.Skills = slices.DeleteFunc(slices.Clone(s.Skills), func(sk *skill.Skill) bool {
			return matches(w.agent.Exclude, s.Label, sk) || !all && !matches(w.agent.Include, s.Label, sk)
		})
		list = append(list, s)
	}
	return list
}

// compare asks the full catalog as the agent, and one of the rest as somebody without
// rules, everything that there is to ask.
func (w *world) compare(t *testing.T, full *searchtest.Catalog, e embed.Embedder) {
	t.Helper()
	rest := legs["memory"].Open(t, e)
	w.fill(t, legs["memory"], rest, w.rest())
	free := &search.Agent{Name: "a", Pinned: w.agent.Pinned}
	for what, ask := range w.questions(t) {
		got, err1 := ask(full, w.agent)
		want, err2 := ask(rest, free)
		if !reflect.DeepEqual(got, want) || fmt.Sprint(err1) != fmt.Sprint(err2) {
			t.Fatalf("%s: the agent %+v of %d skills has\n%+v, %v\nwithout the others it has\n%+v, %v", what, *w.agent, w.made, got, err1, want, err2)
		}
	}
	w.compareWinners(t, full)
	w.compareSyntax(t, full)
	w.compareWhy(t, full)
}

// compareWinners: of the skills of one name that the agent sees, the first by precedence
// whose source is there is offered. If all are away, the first is away. All others are
// its shadowed copies.
func (w *world) compareWinners(t *testing.T, x *searchtest.Catalog) {
	t.Helper()
	list, err := x.List(t.Context(), w.agent, &search.ListOptions{Shadowed: true})
	must.Do(t, err)
	got := make(map[string]search.Entry) // by source and path
	for _, e := range list {
		got[e.Source+"/"+e.Path] = e
	}
	sources := w.rest()
	slices.SortFunc(sources, func(a, b searchtest.Source) int {
		order := map[bool]int{true: 1}
		return cmp.Or(order[w.away[a.Label]]-order[w.away[b.Label]], b.Priority-a.Priority, strings.Compare(a.Label, b.Label))
	})
	winners, all := make(map[string]string), 0
	for _, s := range sources {
		slices.SortFunc(s.Skills, func(a, b *skill.Skill) int { return strings.Compare(a.Path, b.Path) })
		for _, sk := range s.Skills {
			all++
			e, key := got[s.Label+"/"+sk.Path], words.NameKey(sk.Name)
			id, away := s.Label+"/"+sk.Dir(), false
			winner, shadowed := winners[key]
			if !shadowed {
				id, away, winners[key] = sk.Name, w.away[s.Label], sk.Name
			}
			if e.Name != sk.Name || e.ID != id || e.Away != away || e.ShadowedBy != winner {
				t.Fatalf("the agent %+v has %+v; want the ID %q, away %v, shadowed by %q", *w.agent, e, id, away, winner)
			}
		}
	}
	if len(list) != all {
		t.Fatalf("the agent %+v has %d skills, want %d: %v", *w.agent, len(list), all, list)
	}
}

// A question asks a catalog as an agent.
type question func(x *searchtest.Catalog, a *search.Agent) (any, error)

func (w *world) questions(t *testing.T) map[string]question {
	q := map[string]question{
		"list": func(x *searchtest.Catalog, a *search.Agent) (any, error) { return x.List(t.Context(), a, nil) },
		"list shadowed": func(x *searchtest.Catalog, a *search.Agent) (any, error) {
			return x.List(t.Context(), a, &search.ListOptions{Shadowed: true})
		},
		"pinned": func(x *searchtest.Catalog, a *search.Agent) (any, error) {
			list, err := x.Pinned(t.Context(), a)
			return fmt.Sprint(list), err
		},
		"no tag": func(x *searchtest.Catalog, a *search.Agent) (any, error) { return filtered(t, x, a, "", "nothing") },
		"no source": func(x *searchtest.Catalog, a *search.Agent) (any, error) {
			return filtered(t, x, a, "nothing", "")
		},
		"search": func(x *searchtest.Catalog, a *search.Agent) (any, error) {
			answer, err := x.Search(t.Context(), search.Query{Text: searchtest.Everywhere, Agent: a, Limit: searchtest.All})
			return groups(answer.Hits), err
		},
		"snippets": func(x *searchtest.Catalog, a *search.Agent) (any, error) {
			list, err := x.List(t.Context(), a, &search.ListOptions{Shadowed: true})
			if err != nil {
				return nil, err
			}
			return x.Snippets(t.Context(), search.Query{Text: searchtest.Everywhere, Agent: a}, list, 0)
		},
	}
	for _, id := range w.ids() {
		q["lookup "+id] = func(x *searchtest.Catalog, a *search.Agent) (any, error) { return x.Lookup(t.Context(), id, a) }
		// What a prompt names or begins is found, and nothing outside.
		q["named "+id] = func(x *searchtest.Catalog, a *search.Agent) (any, error) {
			e, err := x.Lookup(t.Context(), id, a)
			if err != nil {
				return nil, err
			}
			answer, err := x.Search(t.Context(), search.Query{Text: e.Name, Agent: a, Limit: searchtest.All})
			return slices.ContainsFunc(groups(answer.Hits), func(ids []search.Entry) bool {
				return slices.ContainsFunc(ids, func(o search.Entry) bool { return words.NameKey(o.Name) == words.NameKey(e.Name) })
			}), err
		}
	}
	return q
}

func filtered(t *testing.T, x *searchtest.Catalog, a *search.Agent, label, tag string) (any, error) {
	list, err := x.List(t.Context(), a, nil)
	if err != nil {
		return nil, err
	}
	return search.Filter(list, label, tag)
}

// ids returns all IDs by which the skills of the whole catalog may be asked for, and some
// of nothing.
func (w *world) ids() (list []string) {
	list = append(list, "code-reviev", "one/s999", "secret/", "nothing")
	for _, s := range w.sources {
		for _, sk := range s.Skills {
			list = append(list, sk.Name, s.Label+"/"+sk.Dir(), s.Label+"/"+sk.Name)
		}
	}
	slices.Sort(list)
	return slices.Compact(list)
}

// groups returns the skills of an answer, each with its copies, whatever their order.
func groups(hits []search.Hit) (list [][]search.Entry) {
	byID := func(a, b search.Entry) int { return strings.Compare(a.ID, b.ID) }
	for _, h := range hits {
		list = append(list, slices.SortedFunc(slices.Values(append(slices.Clone(h.Copies), h.Entry)), byID))
	}
	slices.SortFunc(list, func(a, b []search.Entry) int { return byID(a[0], b[0]) })
	return list
}

// compareSyntax: the query language finds what the agent is listed, and no more.
func (w *world) compareSyntax(t *testing.T, x *searchtest.Catalog) {
	t.Helper()
	answer, err := x.Search(t.Context(), search.Query{Text: searchtest.Everywhere, Syntax: true, Agent: w.agent, Limit: searchtest.All})
	list, err2 := x.List(t.Context(), w.agent, nil)
	list = slices.DeleteFunc(list, func(e search.Entry) bool { return e.Away })
	got := []search.Entry{}
	for _, h := range answer.Hits {
		got = append(got, h.Entry)
	}
	byID := func(a, b search.Entry) int { return strings.Compare(a.ID, b.ID) }
	slices.SortFunc(got, byID)
	slices.SortFunc(list, byID)
	if err != nil || err2 != nil || len(got) != len(list) || len(list) > 0 && !reflect.DeepEqual(got, list) {
		t.Fatalf("the query language finds %v, %v; the list has %v, %v", got, err, list, err2)
	}
}

// compareWhy: to the owner of the catalog, each skill that the agent does not see is out
// of its scope by a rule, and no other.
func (w *world) compareWhy(t *testing.T, x *searchtest.Catalog) {
	t.Helper()
	seen := make(map[string]bool) // by location
	list, err := x.List(t.Context(), w.agent, &search.ListOptions{Shadowed: true})
	for _, e := range list {
		seen[e.Source+e.Location] = true
	}
	all, err2 := x.List(t.Context(), nil, &search.ListOptions{Shadowed: true})
	if err != nil || err2 != nil {
		t.Fatal(err, err2)
	}
	for _, e := range all {
		id := e.Source + "/" + e.Dir()
		for _, a := range []*search.Agent{w.agent, nil} {
			if other, err := x.Lookup(t.Context(), id, a); err == nil && other.Location != e.Location {
				id = "" // is also the name of another skill
			}
		}
		if id == "" {
			continue
		}
		why, err := x.Why(t.Context(), id, search.Query{Text: searchtest.Everywhere, Agent: w.agent})
		if err != nil || why.Location != e.Location || (why.Filter == "") != seen[e.Source+e.Location] {
			t.Fatalf("%s is explained as %+v, %v", e.ID, why.Entry, err)
		}
	}
}
