package index

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/repertoire-skills/repertoire/skill"
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
	body := essay(300)
	edited := strings.Replace(body, "word150 ", "another ", 1)
	original := newSkill("parcels", parcels, body)
	for _, c := range []struct {
		what  string
		other *skill.Skill
		copy  bool
	}{
		{"same text, longer name", newSkill("parcels-2", parcels, body), true},
		{"same text, another name", newSkill("mail-tracker", parcels, body), true},
		{"edited body", newSkill("my-parcels", parcels, edited), true},
		{"longer description", newSkill("parcels-fork", parcels+" at home", body), true},
		{"edited body, another name", newSkill("mail-tracker", parcels, edited), false},
		{"another word in the description", newSkill("parcels-2", strings.Replace(parcels, "carrier", "airline", 1), body), false},
		{"much longer description", newSkill("parcels-2", parcels+" at home, in ships, trains, depots, harbours, shops", body), false},
		{"another body", newSkill("parcels-2", parcels, strings.ReplaceAll(body, "word", "term")), false},
		{"a template filled in otherwise", newSkill("parcels-2", parcels, strings.ReplaceAll(body, "5 ", "x ")), false},
		{"longer body", newSkill("parcels-2", parcels, body+strings.ReplaceAll(essay(60), "word", "term")), false},
		{"no body", newSkill("parcels-2", parcels, ""), false},
	} {
		t.Run(c.what, func(t *testing.T) {
			x := newIndex(t, nil)
			syncTree(t, x, "a", treeOf(original, c.other).refs())
			hits := search(t, x, Query{Text: "track a parcel of a carrier"}).Hits
			if c.copy != (len(hits) == 1 && len(hits[0].Copies) == 1) || len(hits)+len(hits[0].Copies) != 2 {
				t.Errorf("found %q, copies of the first: %d", idsOf(hits), len(hits[0].Copies))
			}
		})
	}
}

// TestCopiesShort: bodies of a few words say little, so all else must agree.
func TestCopiesShort(t *testing.T) {
	x := newIndex(t, nil)
	syncTree(t, x, "a", treeOf(
		newSkill("mail", parcels, ""), newSkill("post", parcels, ""), newSkill("post-2", parcels, ""),
		newSkill("post-3", parcels, "now"), newSkill("post-4", parcels+" now", ""),
	).refs())
	got := found(t, x, "parcels")
	slices.Sort(got)
	if want := []string{"mail", "post", "post-3", "post-4"}; !slices.Equal(got, want) {
		t.Errorf("found %q, want %q", got, want)
	}
}

// TestCopyNamed: a copy that the prompt names is the best one, and of two that
// it names none is left out.
func TestCopyNamed(t *testing.T) {
	x := newIndex(t, nil)
	syncTree(t, x, "a", treeOf(newSkill("parcels", parcels, "body"), newSkill("old-parcels", parcels, "body")).refs())
	for prompt, want := range map[string][]string{
		"track the parcel":                 {"parcels"},
		"use `old-parcels`":                {"old-parcels"},
		"use `parcels` or `old-parcels`":   {"old-parcels", "parcels"},
		"continue with the parcels skill ": {"parcels"},
	} {
		if got := found(t, x, prompt); !slices.Equal(got, want) {
			t.Errorf("%q finds %q, want %q", prompt, got, want)
		}
	}
}

// TestCopiesPriority: of equal copies that of the higher source stays.
func TestCopiesPriority(t *testing.T) {
	for _, high := range []string{"one", "two"} {
		x := newIndex(t, nil)
		for label, name := range map[string]string{"one": "mail", "two": "post"} {
			src := Source{Label: label, Root: "/" + label}
			if label == high {
				src.Priority = 1
			}
			syncSource(t, x, src, treeOf(newSkill(name, parcels, essay(50))).refs())
		}
		hits := search(t, x, Query{Text: "track the parcel"}).Hits
		if len(hits) != 1 || hits[0].Source != high || len(hits[0].Copies) != 1 || hits[0].Copies[0].Source == high {
			t.Errorf("with %s first: found %+v", high, hits)
		}
	}
}

// TestCopiesScope: a copy outside of the scope hides none inside, and is not
// told of.
func TestCopiesScope(t *testing.T) {
	x := newIndex(t, nil)
	syncTree(t, x, "a", treeOf(newSkill("parcels", parcels, "body"), newSkill("parcels-2", parcels, "body")).refs())
	for _, hidden := range []string{"parcels", "parcels-2"} {
		agent := &Agent{Name: "clerk", Exclude: Rules{Names: []string{hidden}}}
		hits := search(t, x, Query{Text: "track the parcel", Agent: agent}).Hits
		if len(hits) != 1 || hits[0].ID == hidden || len(hits[0].Copies) != 0 {
			t.Errorf("without %s: found %+v", hidden, hits)
		}
	}
}
