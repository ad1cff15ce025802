package search_test

import (
	"cmp"
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/repertoire-skills/repertoire/internal/must"
	"github.com/repertoire-skills/repertoire/internal/testsize"
	"github.com/repertoire-skills/repertoire/rank"
	"github.com/repertoire-skills/repertoire/search"
	"github.com/repertoire-skills/repertoire/search/searchtest"
	"github.com/repertoire-skills/repertoire/skill"
	"github.com/repertoire-skills/repertoire/store"
)

// essay is a body of n words, all different.
func essay(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, "word%d ", i)
	}
	return b.String()
}

const parcels = "Tracks parcels of every carrier and writes to whoever waits for them too long"

// TestCopies: what counts as a copy and what does not.
func TestCopies(t *testing.T) {
	testsize.Long(t)
	t.Parallel()
	body := essay(300)
	edited := strings.Replace(body, "word150 ", "another ", 1)
	original := searchtest.Skill("parcels", parcels, body)
	for _, c := range []struct {
		what  string
		other *skill.Skill
		copy  bool
	}{
		{"same text, longer name", searchtest.Skill("parcels-2", parcels, body), true},
		{"same text, another name", searchtest.Skill("mail-tracker", parcels, body), true},
		{"edited body", searchtest.Skill("my-parcels", parcels, edited), true},
		{"longer description", searchtest.Skill("parcels-fork", parcels+" at home", body), true},
		{"description twice over", searchtest.Skill("parcels-pro", parcels+". "+parcels, body), true},
		{"description twice over, another name", searchtest.Skill("mail-tracker", parcels+" "+parcels, body), true},
		{"description twice over, another body", searchtest.Skill("parcels-pro", parcels+". "+parcels, strings.ReplaceAll(body, "word", "term")), false},
		{"edited body, another name", searchtest.Skill("mail-tracker", parcels, edited), true},
		{"another word in the description", searchtest.Skill("parcels-2", strings.Replace(parcels, "carrier", "airline", 1), body), true},
		{"another word in the description, another name", searchtest.Skill("mail-tracker", strings.Replace(parcels, "carrier", "airline", 1), body), false},
		{"much longer description", searchtest.Skill("parcels-2", parcels+" at home, in ships, trains, depots, harbours, shops", body), true},
		{"much longer description, another name, more in the body", searchtest.Skill("mail-tracker", parcels+" at home, in ships, trains, depots, harbours, shops", body+strings.ReplaceAll(essay(100), "word", "term")), true},
		{"another description", searchtest.Skill("parcels-2", "Tells who waits for a parcel of a carrier where it is", body), false},
		{"half of the body", searchtest.Skill("parcels-2", parcels, essay(150)), true},
		{"half of the body, another name", searchtest.Skill("mail-tracker", parcels, essay(150)), true},
		{"edited in many places", searchtest.Skill("parcels-2", parcels, strings.ReplaceAll(body, "55 ", "x ")), true},
		{"edited in many places, another name", searchtest.Skill("mail-tracker", parcels, strings.ReplaceAll(body, "55 ", "x ")), true},
		{"another body", searchtest.Skill("parcels-2", parcels, strings.ReplaceAll(body, "word", "term")), false},
		{"a template filled in otherwise", searchtest.Skill("parcels-2", parcels, strings.ReplaceAll(body, "5 ", "x ")), false},
		{"longer body", searchtest.Skill("parcels-2", parcels, body+strings.ReplaceAll(essay(60), "word", "term")), true},
		{"no body", searchtest.Skill("parcels-2", parcels, ""), false},
	} {
		t.Run(c.what, func(t *testing.T) {
			x := searchtest.New(t, nil)
			searchtest.Sync(t, x, "a", searchtest.TreeOf(original, c.other).Refs())
			hits := searchtest.Ask(t, x, search.Query{Text: "track a parcel of a carrier"}).Hits
			if c.copy != (len(hits) == 1 && len(hits[0].Copies) == 1) || len(hits)+len(hits[0].Copies) != 2 {
				t.Errorf("found %q, copies of the first: %d", searchtest.IDs(hits), len(hits[0].Copies))
			}
		})
	}
}

// TestCopiesShort: bodies of a few words say little, so all else must agree.
func TestCopiesShort(t *testing.T) {
	t.Parallel()
	x := searchtest.New(t, nil)
	searchtest.Sync(t, x, "a", searchtest.TreeOf(
		searchtest.Skill("mail", parcels, ""), searchtest.Skill("post", parcels, ""), searchtest.Skill("post-2", parcels, ""),
		searchtest.Skill("post-3", parcels, "now"), searchtest.Skill("post-4", parcels+" now", ""),
	).Refs())
	got := searchtest.Found(t, x, "parcels")
	slices.Sort(got)
	if want := []string{"mail", "post", "post-3", "post-4"}; !slices.Equal(got, want) {
		t.Errorf("found %q, want %q", got, want)
	}
}

// TestCopyNamed: a copy that the prompt names for certain stays instead of the other, and
// if it names two copies so, both stay.
func TestCopyNamed(t *testing.T) {
	t.Parallel()
	x := searchtest.New(t, nil)
	searchtest.Sync(t, x, "a", searchtest.TreeOf(searchtest.Skill("parcels", parcels, "body"), searchtest.Skill("parcels-old", parcels, "body")).Refs())
	for prompt, want := range map[string][]string{
		"track the parcel":                                 {"parcels"},
		"use the parcels-old skill":                        {"parcels-old"},
		"use the parcels skill or the skill `parcels-old`": {"parcels-old", "parcels"},
		"continue with the parcels skill ":                 {"parcels"},
	} {
		if got := searchtest.Found(t, x, prompt); !slices.Equal(got, want) {
			t.Errorf("%q finds %q, want %q", prompt, got, want)
		}
	}
}

// TestCopiesPrecedence: of copies the one that comes first in precedence stays, whichever
// fits the prompt better: by the priority of its source, then by label, then by folder.
func TestCopiesPrecedence(t *testing.T) {
	t.Parallel()
	fork := searchtest.Skill("parcels-fork", parcels+". Tracks parcels", essay(50))
	original := searchtest.Skill("parcels", parcels, essay(50))
	for _, c := range []struct {
		what, originalIn, forkIn string
		high                     string // label of the source with priority
		want                     string
	}{
		{"folder", "one", "one", "", "parcels"},
		{"label", "one", "two", "", "parcels"},
		{"label of the fork", "two", "one", "", "parcels-fork"},
		{"priority", "two", "one", "two", "parcels"},
		{"priority of the fork", "one", "two", "two", "parcels-fork"},
	} {
		x := searchtest.New(t, nil)
		trees := map[string][]*skill.Skill{}
		trees[c.originalIn] = append(trees[c.originalIn], original)
		trees[c.forkIn] = append(trees[c.forkIn], fork)
		for label, skills := range trees {
			src := store.Source{Label: label, Root: "/" + label}
			if label == c.high {
				src.Priority = 1
			}
			searchtest.SyncSource(t, x, src, searchtest.TreeOf(skills...).Refs())
		}
		hits := searchtest.Ask(t, x, search.Query{Text: "tracks parcels fork"}).Hits
		if len(hits) != 1 || hits[0].Name != c.want || len(hits[0].Copies) != 1 || hits[0].Copies[0].Name == c.want {
			t.Fatalf("%s: found %+v", c.what, hits)
		}
		// The fork fits better, and its score stands for both.
		if hits[0].Terms[0].Value != 1 || hits[0].Terms[1].Value != rank.NameMatch(2, 2) {
			t.Errorf("%s: terms of the score %+v", c.what, hits[0].Terms)
		}
	}
}

// TestCopiesScope: a copy outside the scope hides none inside, and is not mentioned.
func TestCopiesScope(t *testing.T) {
	t.Parallel()
	x := searchtest.New(t, nil)
	searchtest.Sync(t, x, "a", searchtest.TreeOf(searchtest.Skill("parcels", parcels, "body"), searchtest.Skill("parcels-2", parcels, "body")).Refs())
	for _, hidden := range []string{"parcels", "parcels-2"} {
		agent := &search.Agent{Name: "clerk", Exclude: search.Rules{Names: []string{hidden}}}
		hits := searchtest.Ask(t, x, search.Query{Text: "track the parcel", Agent: agent}).Hits
		if len(hits) != 1 || hits[0].ID == hidden || len(hits[0].Copies) != 0 {
			t.Errorf("without %s: found %+v", hidden, hits)
		}
	}
}

// TestRepeated: a skill that says its description three times over does not score higher by
// that than its original, and the original stands for both.
func TestRepeated(t *testing.T) {
	t.Parallel()
	x := searchtest.New(t, nil)
	other := strings.ReplaceAll(essay(50), "word", "term")
	tree := searchtest.Many(20)
	tree["parcels"] = searchtest.Skill("parcels", parcels, essay(50))
	tree["parcels-pro"] = searchtest.Skill("parcels-pro", parcels+". "+parcels+". "+parcels, essay(50))
	tree["mail"] = searchtest.Skill("mail", parcels, other)
	tree["mail-pro"] = searchtest.Skill("mail-pro", parcels+". "+parcels+". "+parcels, strings.ReplaceAll(other, "term", "line")) // no copy
	searchtest.Sync(t, x, "a", tree.Refs())
	scores := make(map[string]float64)
	for _, h := range searchtest.Ask(t, x, search.Query{Text: "track who waits for a carrier"}).Hits {
		scores[h.ID] = h.Score
	}
	if _, ok := scores["parcels-pro"]; ok || scores["parcels"] == 0 || scores["mail"] == 0 || scores["mail-pro"] > scores["mail"] {
		t.Errorf("scores %v", scores)
	}
}

// TestCopiesTrust: a copy of a source that is trusted less never stands for its family, and what it
// says does not speak for its original; between equals the newer version stands, and speaks for the
// older one.
func TestCopiesTrust(t *testing.T) {
	t.Parallel()
	const stuffed = parcels + ". Also invoices, taxes and holidays"
	original, fork := searchtest.Skill("parcels", parcels, essay(60)), searchtest.Skill("a-better-tracker", stuffed, essay(80))
	original.Version, fork.Version = "1.9", "1.10"
	for _, c := range []struct {
		what, forkIn string
		found        map[string]string
	}{
		{"trusted less", "cheap", map[string]string{"track a parcel of a carrier": "parcels", "do my taxes and invoices": "", "use the a-better-tracker skill": "a-better-tracker"}},
		{"newer, of the same source", "home", map[string]string{"track a parcel of a carrier": "a-better-tracker", "do my taxes and invoices": "a-better-tracker"}},
		{"of a later source", "later", map[string]string{"track a parcel of a carrier": "parcels", "do my taxes and invoices": "parcels"}},
	} {
		x := searchtest.New(t, nil)
		x.SetPolicy(&search.Policy{Lower: []string{"cheap"}}, nil)
		trees := map[string][]*skill.Skill{"home": {original}}
		trees[c.forkIn] = append(trees[c.forkIn], fork)
		for label, skills := range trees {
			tree := searchtest.TreeOf(skills...)
			if label == "home" {
				for name, s := range searchtest.Many(20) {
					tree[name] = s
				}
			}
			searchtest.Sync(t, x, label, tree.Refs())
		}
		for prompt, want := range c.found {
			hits := searchtest.Ask(t, x, search.Query{Text: prompt}).Hits
			if got := strings.Join(searchtest.IDs(hits), " "); got != want || want != "" && len(hits[0].Copies) != 1 {
				t.Errorf("%s: %q finds %q, want %q: %+v", c.what, prompt, got, want, hits)
			}
		}
		e, err := x.Why(t.Context(), "a-better-tracker", search.Query{Text: "track a parcel of a carrier"})
		if must.Do(t, err); c.forkIn != "home" && e.CopyOf != "parcels" {
			t.Errorf("%s: why says that it is a copy of %q", c.what, e.CopyOf)
		}
	}
}

// TestCopiesPublished: families are known of what was published, of what has changed since, and of
// both together.
func TestCopiesPublished(t *testing.T) {
	testsize.Long(t)
	t.Parallel()
	x := searchtest.New(t, nil)
	tree := searchtest.Many(40)
	tree["parcels"] = searchtest.Skill("parcels", parcels, essay(80))
	copies := func() int {
		return len(searchtest.Ask(t, x, search.Query{Text: "track a parcel of a carrier"}).Hits[0].Copies)
	}
	step := func(what string, want int) {
		t.Helper()
		searchtest.Sync(t, x, "a", tree.Refs())
		if got := copies(); got != want {
			t.Errorf("%s: %d copies, want %d", what, got, want)
		}
		searchtest.Publish(t, x, false)
		if got := copies(); got != want {
			t.Errorf("%s, published: %d copies, want %d", what, got, want)
		}
	}
	step("one", 0)
	searchtest.Publish(t, x, true)
	tree["parcels-2"] = searchtest.Skill("parcels-2", parcels, essay(80))
	tree["parcels-3"] = searchtest.Skill("parcels-3", parcels, essay(85))
	step("two more", 2)
	searchtest.Publish(t, x, true)
	step("all in the base", 2)
	tree["parcels-2"] = searchtest.Skill("parcels-2", parcels, strings.ReplaceAll(essay(80), "word", "term"))
	step("one rewritten", 1)
	tree["parcels-2"] = searchtest.Skill("parcels-2", parcels, essay(80))
	delete(tree, "parcels")
	step("one rewritten back, the first gone", 1)
	searchtest.Publish(t, x, true)
	step("in a new base", 1)
}

// TestCopiesOwn: of near copies in random places and orders of places one of the user's own or
// installed skills stands for all, then one of a project, then one that was fetched; but none that is
// disabled, switched off, reserved or cannot run.
func TestCopiesOwn(t *testing.T) {
	testsize.Long(t)
	t.Parallel()
	trust := map[string]int{"user": 0, "installed": 0, "project": 1, "fetched": 2}
	first := make(map[string]int) // how often a place comes first
	for seed := range uint64(testsize.Rounds(40, 400)) {
		rng := rand.New(rand.NewPCG(seed, 1))
		type copied struct {
			name, in, state string
			priority        int
		}
		var all []copied
		var off []search.Switch
		var bans []search.Ban
		x := searchtest.Open(t, t.TempDir()+"/catalog.db", nil, &searchtest.Options{Search: search.Options{Missing: func(_ context.Context, n skill.Needs) []string { return n.Commands }}})
		for i, in := range []string{"fetched", "installed", "project", "user"} {
			priority, tree := 10*rng.IntN(4)+i, make(searchtest.Tree)
			for range rng.IntN(3) {
				c := copied{fmt.Sprintf("%c-%s-%d", 'a'+rng.IntN(26), in, len(all)), in, []string{"", "", "", "disabled", "off", "reserved", "unavailable"}[rng.IntN(7)], priority}
				s := searchtest.Skill(c.name, parcels, strings.Replace(essay(300), fmt.Sprintf("word%d ", rng.IntN(300)), "another ", 1))
				switch c.state {
				case "disabled":
					bans = append(bans, search.Ban{Rules: names(c.name)})
				case "off":
					off = append(off, search.Switch{Client: "here", Names: c.name, Use: search.Disabled})
				case "reserved":
					s.InvokedBy = skill.InvokedByUser
				case "unavailable":
					s.Needs.Commands = []string{"absent"}
				}
				tree[c.name] = s
				all = append(all, c)
			}
			searchtest.SyncSource(t, x, store.Source{Label: in, Root: "/" + in, Priority: priority}, tree.Refs())
		}
		x.SetPolicy(&search.Policy{Lower: []string{"fetched"}, Foreign: []string{"projects"}, Disabled: bans, Switches: func() []search.Switch { return off }}, map[string]string{"project": "projects"})
		slices.SortFunc(all, func(a, b copied) int {
			return cmp.Or(trust[a.in]-trust[b.in], b.priority-a.priority, strings.Compare(a.name, b.name))
		})
		var want []string
		for _, c := range all {
			if c.state == "" || c.state == "unavailable" && len(want) > 0 {
				want = append(want, c.name)
			}
		}
		if len(want) > 0 {
			first[all[slices.IndexFunc(all, func(c copied) bool { return c.name == want[0] })].in]++
		}
		hits := searchtest.Ask(t, x, search.Query{Text: "track a parcel of a carrier", Agent: &search.Agent{Name: "a", Client: "here"}}).Hits
		switch {
		case len(want) == 0 && len(hits) == 0:
		case len(hits) != 1 || len(want) == 0 || hits[0].ID != want[0] || hits[0].Lower != (hits[0].Source == "fetched"):
			t.Errorf("seed %d: found %q, want %q: %+v", seed, searchtest.IDs(hits), want, all)
		case all[0].state == "": // all that are left out are named, the best first
			var copies []string
			for _, e := range hits[0].Copies {
				copies = append(copies, e.ID)
			}
			if !slices.Equal(copies, want[1:]) {
				t.Errorf("seed %d: copies %q, want %q", seed, copies, want[1:])
			}
		}
	}
	if len(first) < len(trust) {
		t.Errorf("only %v come first; the test needs all", first)
	}
}

// TestManyCopies: two thousand copies are one family, of which one hit names the others.
func TestManyCopies(t *testing.T) {
	testsize.Long(t)
	t.Parallel()
	const n = 2000
	x := searchtest.New(t, nil)
	tree := searchtest.Many(20)
	for i := range n {
		name := fmt.Sprintf("parcels-%d", i)
		tree[name] = searchtest.Skill(name, parcels, fmt.Sprint(essay(300), "number", i))
	}
	searchtest.Sync(t, x, "a", tree.Refs())
	hits := searchtest.Ask(t, x, search.Query{Text: "track a parcel of a carrier"}).Hits
	if len(hits) != 1 || hits[0].ID != "parcels-0" || len(hits[0].Copies) != n-1 {
		t.Fatalf("found %q", searchtest.IDs(hits))
	}
	for i := 0; i < n; i += testsize.Rounds(97, 1) { // each compares the skill with all copies
		p, err := x.Position(t.Context(), fmt.Sprintf("parcels-%d", i), "")
		if must.Do(t, err); (p.CopyOf == "") != (i == 0) {
			t.Fatalf("parcels-%d is a copy of %q", i, p.CopyOf)
		}
	}
	twins, err := x.Twins(t.Context())
	if must.Do(t, err); len(twins) == 0 || !slices.ContainsFunc(twins, func(w search.Twins) bool { return w.Copies && len(w.Skills) == n }) {
		t.Errorf("%d groups of twins; want one of all copies", len(twins))
	}
}
