// Package searchtest helps to test searches: it has a suite that every way of ranking
// must pass, a comparison of two catalogs, and generated skills of all kinds.
package searchtest

import (
	"cmp"
	"slices"
	"strings"
	"testing"

	"github.com/repertoire-skills/repertoire/embed"
	"github.com/repertoire-skills/repertoire/embed/embedtest"
	"github.com/repertoire-skills/repertoire/internal/words"
	"github.com/repertoire-skills/repertoire/search"
	"github.com/repertoire-skills/repertoire/skill"
)

// A Leg is one way to rank, with which Run tests a catalog.
type Leg struct {
	// Open returns an index over an empty catalog; the embedder may be nil.
	Open func(t testing.TB, e embed.Embedder) *Catalog
	// Changed is called whenever a source was brought in step; nil means no call.
	Changed func(t testing.TB, x *Catalog)
	// Skills is how many skills Run generates; 0 means 240.
	Skills int
}

// New returns an index over the sources, which it adds one by one.
func (l Leg) New(t testing.TB, e embed.Embedder, sources []Source) *Catalog {
	t.Helper()
	x := l.Open(t, e)
	for n := range sources {
		l.fill(t, x, sources[:n+1])
	}
	return x
}

func (l Leg) fill(t testing.TB, x *Catalog, sources []Source) {
	t.Helper()
	Fill(t, x, sources)
	if l.Changed != nil {
		l.Changed(t, x)
	}
}

// Run checks that a leg answers as it must, by text and with vectors.
func Run(t *testing.T, leg Leg) {
	for name, e := range map[string]embed.Embedder{"text": nil, "vectors": &embedtest.Fake{}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			sources := Generate(cmp.Or(leg.Skills, 240), 1)
			x := leg.New(t, e, sources)
			t.Run("Lists", func(t *testing.T) { testLists(t, x, sources) })
			t.Run("Scope", func(t *testing.T) { testScope(t, x, sources) })
			t.Run("Three", func(t *testing.T) { testThree(t, x) })
			t.Run("Names", func(t *testing.T) { testNames(t, x, sources) })
			t.Run("Why", func(t *testing.T) { testWhy(t, x, sources) })
			t.Run("Changes", func(t *testing.T) { testChanges(t, leg, x, sources) })
		})
	}
}

// winners returns the skills that are offered, by the key of their names.
func winners(sources []Source) map[string]seen { return winnersOf(sources, nil) }

// winnersOf returns the skills that are offered to an agent. If it sees several skills of
// one name, the skill of the first source wins, since the sources have falling priorities,
// and within a source the first by path.
func winnersOf(sources []Source, a *search.Agent) map[string]seen {
	m := make(map[string]seen)
	for i := range sources {
		for _, sk := range sources[i].Skills {
			key, one := words.NameKey(sk.Name), seen{sources[i].Label, sk.Dir(), sk.Name, sk.Tags}
			old, ok := m[key]
			if one.by(a) && (!ok || old.source == one.source && one.dir < old.dir) {
				m[key] = one
			}
		}
	}
	return m
}

// seen is what decides whether an agent sees a skill.
type seen struct {
	source, dir, name string
	tags              []string
}

// by reports whether the agent sees the skill. It works this out in the plainest way.
func (s seen) by(a *search.Agent) bool {
	if a == nil {
		return true
	}
	matches := func(r search.Rules) bool {
		glob := func(g string) bool { return matchesGlob([]rune(words.NameKey(g)), []rune(words.NameKey(s.name))) }
		tag := func(tag string) bool {
			return slices.ContainsFunc(s.tags, func(own string) bool { return words.SameName(own, tag) })
		}
		return slices.ContainsFunc(r.Names, glob) || slices.ContainsFunc(r.Tags, tag) || slices.Contains(r.Sources, s.source)
	}
	all := len(a.Include.Names)+len(a.Include.Tags)+len(a.Include.Sources) == 0
	return (all || matches(a.Include)) && !matches(a.Exclude)
}

// matchesGlob reports whether a pattern matches all of a name. The generated patterns
// have * and ? only.
func matchesGlob(pattern, name []rune) bool {
	switch {
	case len(pattern) == 0:
		return len(name) == 0
	case pattern[0] == '*':
		return matchesGlob(pattern[1:], name) || len(name) > 0 && matchesGlob(pattern, name[1:])
	}
	return len(name) > 0 && (pattern[0] == '?' || pattern[0] == name[0]) && matchesGlob(pattern[1:], name[1:])
}

// visible returns the names that an agent sees, sorted.
func visible(sources []Source, a *search.Agent) []string {
	names := []string{}
	for _, s := range winnersOf(sources, a) {
		names = append(names, s.name)
	}
	slices.Sort(names)
	return names
}

func namesOf(list []search.Entry) []string {
	names := make([]string, len(list))
	for i := range list {
		names[i] = list[i].Name
	}
	slices.Sort(names)
	return names
}

// testLists: List, Lookup and Size return what the sources hold.
func testLists(t *testing.T, x *Catalog, sources []Source) {
	files := 0
	for i := range sources {
		s := &sources[i]
		files += len(s.Skills) + len(s.Refused)
		for _, sk := range s.Skills {
			e, err := x.Lookup(t.Context(), s.Label+"/"+sk.Dir(), nil)
			if err != nil || e.Name != sk.Name || e.Description != sk.Description || e.Digest != sk.Digest ||
				e.Location != sk.Location || !slices.Equal(e.Tags, sk.Tags) || e.Source != s.Label || e.Dir() != sk.Dir() {
				t.Errorf("%s/%s is %+v, %v", s.Label, sk.Dir(), e, err)
			}
			won := winners(sources)[words.NameKey(sk.Name)]
			if (e.ShadowedBy == "") != (won.source == s.Label && won.dir == sk.Dir()) || e.ShadowedBy != "" && e.ShadowedBy != won.name {
				t.Errorf("%s/%s is shadowed by %q, want %+v to be offered", s.Label, sk.Dir(), e.ShadowedBy, won)
			}
		}
	}
	offered, found, err := x.Size(t.Context())
	if err != nil || offered != len(winners(sources)) || found != files {
		t.Errorf("%d offered of %d, %v; want %d of %d", offered, found, err, len(winners(sources)), files)
	}
	twins, err := x.Twins(t.Context())
	if err != nil || len(twins) == 0 {
		t.Errorf("%d twins, %v; there are copies", len(twins), err)
	}
}

// testScope: an agent sees, finds and looks up its part, and no other skill.
func testScope(t *testing.T, x *Catalog, sources []Source) {
	for _, a := range Agents() {
		want := visible(sources, a)
		list, err := x.List(t.Context(), a, nil)
		if err != nil || !slices.Equal(namesOf(list), want) {
			t.Errorf("agent %s sees %d skills, %v; want %d", nameOf(a), len(list), err, len(want))
		}
		pinned, err := x.Pinned(t.Context(), a)
		if err != nil || a != nil && len(pinned) != len(a.Pinned) {
			t.Errorf("agent %s has pinned %v, %v", nameOf(a), namesOf(pinned), err)
		}
		for i := range pinned {
			if pinned[i].Name != a.Pinned[i] {
				t.Errorf("agent %s: pinned %q, want %q", nameOf(a), pinned[i].Name, a.Pinned[i])
			}
		}
		for name, s := range winners(sources) {
			won, ok := winnersOf(sources, a)[name]
			if e, err := x.Lookup(t.Context(), s.name, a); (err == nil) != ok || e.Source != won.source || e.ShadowedBy != "" {
				t.Errorf("agent %s looks up %s: %+v, %v; want %+v", nameOf(a), name, e, err, won)
			}
		}
		for _, q := range Queries(sources, 3, 25, []*search.Agent{a}) {
			for _, h := range Ask(t, x, q).Hits {
				for _, e := range append(h.Copies, h.Entry) {
					if _, ok := slices.BinarySearch(want, e.Name); !ok || e.ShadowedBy != "" {
						t.Errorf("agent %s finds %s for %.80q", nameOf(a), e.ID, q.Text)
					}
				}
			}
		}
	}
}

// testThree: a scope is applied before the best are chosen. In a scope of three skills
// a word that every skill has finds all three.
func testThree(t *testing.T, x *Catalog) {
	a := Agents()[2]
	want, err := x.List(t.Context(), a, nil)
	if err != nil || len(want) != 3 {
		t.Fatalf("%d skills have the rare tag, %v", len(want), err)
	}
	var found []search.Entry
	for _, h := range Ask(t, x, search.Query{Text: Everywhere, Agent: a}).Hits {
		found = append(found, h.Entry)
	}
	if !slices.Equal(namesOf(found), namesOf(want)) {
		t.Errorf("found %q, want %q", namesOf(found), namesOf(want))
	}
}

// testNames: a skill whose name is the prompt comes first, whatever the script,
// and one whose name begins with it is found.
func testNames(t *testing.T, x *Catalog, sources []Source) {
	n := 0
	for _, s := range winners(sources) {
		odd := strings.ContainsFunc(s.name, func(r rune) bool { return r > 127 || r == '/' || r == ':' })
		if n++; !odd && n%5 != 0 {
			continue
		}
		hits := Ask(t, x, search.Query{Text: s.name}).Hits
		if len(hits) == 0 || hits[0].Name != s.name || !hits[0].Relevant || hits[0].Probability != 1 {
			t.Errorf("%q does not find the skill first: %d hits", s.name, len(hits))
		}
		start := string([]rune(s.name)[:min(5, len([]rune(s.name)))])
		if len(start) < 3 || strings.ContainsRune(start, ' ') {
			continue
		}
		hits = Ask(t, x, search.Query{Text: start, Limit: 500}).Hits
		if !slices.ContainsFunc(hits, func(h search.Hit) bool {
			return h.Name == s.name || slices.ContainsFunc(h.Copies, func(e search.Entry) bool { return e.Name == s.name })
		}) {
			t.Errorf("%q does not find %q", start, s.name)
		}
	}
}

// testWhy: Why gives a hit the place that Search gave it, and distinguishes skills that
// an agent does not see from skills that do not fit.
func testWhy(t *testing.T, x *Catalog, sources []Source) {
	for _, q := range Queries(sources, 4, 30, nil) {
		for i, h := range Ask(t, x, q).Hits {
			e, err := x.Why(t.Context(), h.ID, q)
			if err != nil || e.Rank != i+1 || e.Score != h.Score || e.Relevant != h.Relevant {
				t.Errorf("%.80q: hit %d is %s with %g; explained as %d with %g, %v", q.Text, i+1, h.ID, h.Score, e.Rank, e.Score, err)
			}
		}
	}
	nothing := Agents()[9]
	for name := range winners(sources) {
		e, err := x.Why(t.Context(), name, search.Query{Text: name, Agent: nothing})
		if err != nil || e.Filter == "" {
			t.Errorf("%s for an agent that sees nothing: %+v, %v", name, e, err)
		}
		break
	}
}

// testChanges: a changed skill is found by its new text, and not by its old text.
func testChanges(t *testing.T, leg Leg, x *Catalog, sources []Source) {
	finds := func(text, name string) bool {
		return slices.ContainsFunc(Ask(t, x, search.Query{Text: text}).Hits, func(h search.Hit) bool {
			return h.Name == name && h.Strength > 0
		})
	}
	changed := slices.Clone(sources)
	changed[2].Skills = append(changed[2].Skills, NewSkill("new", "quokka-watch", "Watches a quokka", "all about marsupials"))
	leg.fill(t, x, changed)
	if !finds("marsupials", "quokka-watch") {
		t.Error("a new skill is not found by its body")
	}
	changed[2].Skills = []*skill.Skill{NewSkill("new", "quokka-watch", "Watches a quokka", "all about wombats")}
	leg.fill(t, x, changed)
	if finds("marsupials", "quokka-watch") || !finds("wombats", "quokka-watch") {
		t.Error("a skill is not found by its new body, or by the old one")
	}
	leg.fill(t, x, sources)
	if finds("wombats", "quokka-watch") || finds("quokka-watch", "quokka-watch") {
		t.Error("a skill that is gone is found")
	}
}
