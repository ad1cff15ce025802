package search_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/repertoire-skills/repertoire/internal/must"
	"github.com/repertoire-skills/repertoire/internal/testsize"
	"github.com/repertoire-skills/repertoire/search"
	"github.com/repertoire-skills/repertoire/search/searchtest"
	"github.com/repertoire-skills/repertoire/skill"
	"github.com/repertoire-skills/repertoire/store"
)

// zoo has two sources with a name in common, and an empty one.
func zoo(t *testing.T) *searchtest.Catalog {
	t.Helper()
	x := searchtest.New(t, nil)
	searchtest.SyncSource(t, x, store.Source{Label: "home", Root: "/h", Priority: 2}, searchtest.TreeOf(
		searchtest.Skill("pdf-forms", "animal forms", "body", "office"),
		searchtest.Skill("pdf-merge", "animal merge", "body", "Office", "files"),
		searchtest.Skill("git", "animal git", "body", "code")).Refs())
	work := searchtest.Tree{
		"tools/pdf-forms": searchtest.Skill("pdf-forms", "animal forms at work", "body", "secret"),
		"deploy":          searchtest.Skill("deploy", "animal deploy", "body", "code", "secret"),
	}
	searchtest.SyncSource(t, x, store.Source{Label: "work", Root: "/w", Priority: 1}, work.Refs())
	searchtest.SyncSource(t, x, store.Source{Label: "empty", Root: "/e"}, searchtest.TreeOf().Refs())
	return x
}

// TestExcludedFolder: a rule that holds back and names a folder of a client in a project means the
// folders of that name anywhere in it, and no other.
func TestExcludedFolder(t *testing.T) {
	t.Parallel()
	x := searchtest.New(t, nil)
	labels := []string{"project:.claude", "project:./.claude", "project:sub/.Claude", "project:sub/.claude/x", "project:x.claude", "user:.claude", "project:tools", "project:sub/tools"}
	for i, label := range labels {
		searchtest.SyncSource(t, x, store.Source{Label: label, Root: fmt.Sprint("/", i), Priority: i}, searchtest.TreeOf(searchtest.Skill(fmt.Sprint("s", i), "animal", "body")).Refs())
	}
	for rule, held := range map[string]string{
		"project:.claude": "s0 s1 s2", "project:../../.claude": "s0 s1 s2", "project:sub/.claude": "s2", "project:tools": "s6", "user:.claude": "s5", "project:../gone": "", "project:": "",
	} {
		list, err := x.List(t.Context(), &search.Agent{Exclude: search.Rules{Sources: []string{rule}}}, nil)
		must.Do(t, err)
		for i := range labels {
			id := fmt.Sprint("s", i)
			listed := slices.ContainsFunc(list, func(e search.Entry) bool { return e.ID == id })
			if want := !slices.Contains(strings.Fields(held), id); listed != want {
				t.Errorf("%s: skill of %s is listed: %t", rule, labels[i], listed)
			}
		}
	}
}

func TestScopeRules(t *testing.T) {
	t.Parallel()
	x := zoo(t)
	for _, tt := range []struct {
		name  string
		agent *search.Agent
		want  []string
	}{
		{"nil", nil, []string{"deploy", "git", "pdf-forms", "pdf-merge"}},
		{"no rules", &search.Agent{}, []string{"deploy", "git", "pdf-forms", "pdf-merge"}},
		{"name", &search.Agent{Include: search.Rules{Names: []string{"git"}}}, []string{"git"}},
		{"name in capitals", &search.Agent{Include: search.Rules{Names: []string{"GIT"}}}, []string{"git"}},
		{"pattern", &search.Agent{Include: search.Rules{Names: []string{"pdf-*"}}}, []string{"pdf-forms", "pdf-merge"}},
		{"everything", &search.Agent{Include: search.Rules{Names: []string{"*"}}}, []string{"deploy", "git", "pdf-forms", "pdf-merge"}},
		{"tag", &search.Agent{Include: search.Rules{Tags: []string{"office"}}}, []string{"pdf-forms", "pdf-merge"}},
		{"source", &search.Agent{Include: search.Rules{Sources: []string{"work"}}}, []string{"deploy", "pdf-forms"}},
		{"all but a source", &search.Agent{Exclude: search.Rules{Sources: []string{"home"}}}, []string{"deploy", "pdf-forms"}},
		{"a source without skills", &search.Agent{Include: search.Rules{Sources: []string{"empty"}}}, nil},
		{"any rule", &search.Agent{Include: search.Rules{Names: []string{"git"}, Tags: []string{"files"}}}, []string{"git", "pdf-merge"}},
		{"exclude", &search.Agent{Exclude: search.Rules{Tags: []string{"code"}}}, []string{"pdf-forms", "pdf-merge"}},
		{"exclude wins", &search.Agent{Include: search.Rules{Tags: []string{"code"}}, Exclude: search.Rules{Sources: []string{"work"}}}, []string{"git"}},
		{"exclude all", &search.Agent{Exclude: search.Rules{Names: []string{"*"}}}, nil},
		{"pinned", &search.Agent{Include: search.Rules{Names: []string{"git"}}, Pinned: []string{"deploy", "git"}}, []string{"git"}},
		{"include of nothing", &search.Agent{Include: search.Rules{Names: []string{"secret-*", "gitt"}, Tags: []string{"ofice"}, Sources: []string{"wrok"}}}, nil},
		{"exclude of nothing", &search.Agent{Exclude: search.Rules{Names: []string{"secret-*", "gitt"}, Tags: []string{"ofice"}, Sources: []string{"wrok"}}}, []string{"deploy", "git", "pdf-forms", "pdf-merge"}},
	} {
		list, err := x.List(t.Context(), tt.agent, nil)
		if err != nil {
			t.Errorf("%s: %v", tt.name, err)
			continue
		}
		var listed []string
		for _, e := range list {
			listed = append(listed, e.ID)
		}
		searched := searchtest.IDs(searchtest.Ask(t, x, search.Query{Text: "animal", Agent: tt.agent}).Hits)
		slices.Sort(searched)
		if !slices.Equal(listed, tt.want) || !slices.Equal(searched, tt.want) {
			t.Errorf("%s: lists %q, finds %q, want %q", tt.name, listed, searched, tt.want)
		}
		for _, id := range []string{"deploy", "git", "pdf-forms", "pdf-merge"} {
			_, err := x.Lookup(t.Context(), id, tt.agent)
			if got, want := err == nil, slices.Contains(tt.want, id); got != want {
				t.Errorf("%s: looking up %s: %v", tt.name, id, err)
			}
		}
	}
}

func TestPinned(t *testing.T) {
	t.Parallel()
	x := zoo(t)
	list, err := x.Pinned(t.Context(), &search.Agent{Pinned: []string{"pdf-merge", "Deploy"}})
	if err != nil || len(list) != 2 || list[0].ID != "pdf-merge" || list[1].ID != "deploy" {
		t.Errorf("pinned %+v, %v", list, err)
	}
	if list, err := x.Pinned(t.Context(), nil); err != nil || len(list) != 0 {
		t.Errorf("pinned of nobody %+v, %v", list, err)
	}
}

// TestMalformedPattern: a malformed pattern is an error everywhere, because it might have
// been meant to close something.
func TestMalformedPattern(t *testing.T) {
	t.Parallel()
	x := zoo(t)
	a := &search.Agent{Name: "x", Exclude: search.Rules{Names: []string{"git", "[secret"}}}
	_, searched := x.Search(t.Context(), search.Query{Text: "animal", Agent: a})
	_, listed := x.List(t.Context(), a, &search.ListOptions{Shadowed: true})
	_, looked := x.Lookup(t.Context(), "git", a)
	_, pinned := x.Pinned(t.Context(), a)
	want := `agent x: exclude.names: "[secret" is not a pattern (* ? [a-z] and \ are special)`
	for _, err := range []error{searched, listed, looked, pinned, a.Check()} {
		if err == nil || err.Error() != want {
			t.Errorf("error %v\nwant %s", err, want)
		}
	}
}

func TestCheck(t *testing.T) {
	t.Parallel()
	rules := func(names ...string) search.Rules { return search.Rules{Names: names} }
	for _, tt := range []struct {
		agent search.Agent
		want  string
	}{
		{search.Agent{Name: "a", Pinned: []string{"git"}}, ""},
		{search.Agent{Name: "a", Include: rules("G*"), Pinned: []string{"git"}}, ""},
		{search.Agent{Name: "a", Include: search.Rules{Names: []string{"x"}, Tags: []string{"t"}}, Pinned: []string{"git"}}, ""}, // git may have the tag
		{search.Agent{Name: "a", Exclude: rules("g*"), Pinned: []string{"git"}}, `agent a: pinned: skill "git" is excluded too; remove one of the two`},
		{search.Agent{Name: "a", Include: rules("x"), Pinned: []string{"x", "git"}}, `agent a: pinned: skill "git" is not included; add it to include.names, or do not pin it`},
	} {
		got := ""
		if err := tt.agent.Check(); err != nil {
			got = err.Error()
		}
		if got != tt.want {
			t.Errorf("%+v: error %q, want %q", tt.agent, got, tt.want)
		}
	}
}

// TestUnmatched: the owner hears of each rule that matches nothing, and where it is.
func TestUnmatched(t *testing.T) {
	t.Parallel()
	x := zoo(t)
	a := &search.Agent{
		Name:    "x",
		Include: search.Rules{Names: []string{"gitt", "git"}, Tags: []string{"ofice", "files"}, Sources: []string{"empty"}},
		Exclude: search.Rules{Names: []string{"secret-*"}, Tags: []string{"zzz"}, Sources: []string{"wrok"}},
		Pinned:  []string{"git", "pdf-form", "deploy"},
		Places:  map[search.Rule]search.Place{{Key: "exclude.tags", Text: "zzz"}: {File: "conf.yaml", Line: 7}},
	}
	want := []string{
		`: error: agent x: include.names: no skill "gitt"; did you mean git? [agent]`,
		`: error: agent x: include.tags: no tag "ofice"; did you mean Office, office? [agent]`,
		`: error: agent x: exclude.names: no skill "secret-*"; there are: deploy, git, pdf-forms, pdf-merge [agent]`,
		`conf.yaml:7: error: agent x: exclude.tags: no tag "zzz"; there are: Office, code, files, office, secret [agent]`,
		`: error: agent x: exclude.sources: no source "wrok"; did you mean work? [agent]`,
		`: error: agent x: pinned: no skill "pdf-form"; did you mean pdf-forms? [agent]`,
		`: error: agent x: pinned: skill "deploy" is outside: the agent includes only names gitt, git; tags ofice, files; sources empty [agent]`,
	}
	for range 2 { // the second time from what is kept
		problems, err := x.Unmatched(t.Context(), a)
		var got []string
		for _, p := range problems {
			got = append(got, p.String())
		}
		if err != nil || !slices.Equal(got, want) {
			t.Errorf("%v\n%s\nwant\n%s", err, strings.Join(got, "\n"), strings.Join(want, "\n"))
		}
	}
}

// TestScopeFiltersBeforeTop: 150 skills outside the scope fit better, more than
// a leg returns.
func TestScopeFiltersBeforeTop(t *testing.T) {
	testsize.Long(t)
	t.Parallel()
	src := make(searchtest.Tree)
	for i := range search.Depth + 50 {
		name := fmt.Sprintf("outside-%03d", i)
		src[name] = searchtest.Skill(name, "mango papaya", "mango papaya")
	}
	for i := range 3 {
		name := fmt.Sprintf("inside-%d", i)
		src[name] = searchtest.Skill(name, "papaya among many other things", strings.Repeat("filler ", 50), "mine")
	}
	for i := range 2 * search.Depth { // so that no word of the prompts is common
		name := fmt.Sprintf("other-%03d", i)
		src[name] = searchtest.Skill(name, "something else", "entirely")
	}
	for mode, e := range map[string]*searchtest.Embedder{"text (no embedder)": nil, "hybrid": new(searchtest.Embedder).SetDim(64)} {
		x := searchtest.New(t, nil)
		if e != nil {
			x = x.Another(t, e, nil)
		}
		searchtest.Sync(t, x, "a", src.Refs())
		searchtest.Embed(t, x)
		for _, text := range []string{"mango papaya", "outside-001 mango", "papaya"} {
			for _, q := range []search.Query{{Agent: &search.Agent{Include: search.Rules{Tags: []string{"mine"}}}}, {Tag: "Mine"}} {
				q.Text, q.Limit = text, 3
				a := searchtest.Ask(t, x, q)
				want := []string{"inside-0", "inside-1", "inside-2"}
				if text == "outside-001 mango" && e == nil {
					want = []string{} // these queries do not name it
				}
				got := searchtest.IDs(a.Hits)
				slices.Sort(got)
				if a.Mode != mode || !slices.Equal(got, want) {
					t.Errorf("%s: %q finds %q by %s, want %q", mode, text, got, a.Mode, want)
				}
			}
		}
	}
}

// TestSearchNarrowed: a source and a tag leave out other skills, and change nothing else: what
// is shadowed stays so, and what the agent does not see too.
func TestSearchNarrowed(t *testing.T) {
	t.Parallel()
	x := zoo(t)
	noCode := &search.Agent{Exclude: search.Rules{Tags: []string{"code"}}}
	for _, tt := range []struct {
		q    search.Query
		want []string
	}{
		{search.Query{Source: "home"}, []string{"git", "pdf-forms", "pdf-merge"}},
		{search.Query{Source: "work"}, []string{"deploy"}},
		{search.Query{Tag: "OFFICE"}, []string{"pdf-forms", "pdf-merge"}},
		{search.Query{Tag: "code", Source: "work"}, []string{"deploy"}},
		{search.Query{Tag: "code", Agent: noCode}, []string{}},
		{search.Query{Source: "home", Agent: noCode}, []string{"pdf-forms", "pdf-merge"}},
		{search.Query{Source: "empty"}, []string{}},
		{search.Query{Tag: "absent"}, []string{}},
	} {
		for _, tt.q.Syntax = range []bool{false, true} {
			tt.q.Text = "animal"
			got := searchtest.IDs(searchtest.Ask(t, x, tt.q).Hits)
			if slices.Sort(got); !slices.Equal(got, tt.want) {
				t.Errorf("%+v finds %q, want %q", tt.q, got, tt.want)
			}
		}
	}
}

// TestNotFoundKeepsSecrets: an error reveals nothing about skills outside the scope.
func TestNotFoundKeepsSecrets(t *testing.T) {
	t.Parallel()
	x := zoo(t)
	a := &search.Agent{Exclude: search.Rules{Tags: []string{"secret"}}}
	for _, id := range []string{"deploy", "deploi", "work/deploy", "work/tools/pdf-forms", "absent"} {
		_, err := x.Lookup(t.Context(), id, a)
		var e *search.NotFoundError
		if !errors.As(err, &e) || !errors.Is(err, skill.ErrNotFound) {
			t.Errorf("%s: error %v, want a NotFoundError", id, err)
			continue
		}
		if slices.Contains(e.Similar, "deploy") || e.Known != 3 {
			t.Errorf("%s: %v", id, err)
		}
	}
	_, err := x.Lookup(t.Context(), "pdf-form", a)
	if want := `no skill "pdf-form" among 3; did you mean pdf-forms?`; err == nil || err.Error() != want {
		t.Errorf("error %v, want %s", err, want)
	}
}

func TestShadowedCopies(t *testing.T) {
	t.Parallel()
	x := zoo(t)
	for id, want := range map[string]string{
		"pdf-forms": "home pdf-forms", "home/pdf-forms": "home pdf-forms", "PDF-forms": "home pdf-forms",
		"work/pdf-forms": "work tools/pdf-forms", "work/tools/pdf-forms": "work tools/pdf-forms",
	} {
		e, err := x.Lookup(t.Context(), id, nil)
		if got := e.Source + " " + e.Dir(); err != nil || got != want {
			t.Errorf("%s is %q, %v; want %q", id, got, err, want)
		}
	}
	list, err := x.List(t.Context(), nil, &search.ListOptions{Shadowed: true})
	if err != nil || len(list) != 5 || list[3].ID != "work/tools/pdf-forms" || list[3].ShadowedBy != "pdf-forms" {
		t.Errorf("with shadowed copies %+v, %v", list, err)
	}
	// The winner is outside the scope: there the copy is no copy.
	a := &search.Agent{Exclude: search.Rules{Sources: []string{"home"}}, Pinned: []string{"pdf-forms"}}
	for _, id := range []string{"pdf-forms", "work/pdf-forms", "work/tools/pdf-forms"} {
		if e, err := x.Lookup(t.Context(), id, a); err != nil || e.ID != "pdf-forms" || e.Source != "work" || e.ShadowedBy != "" {
			t.Errorf("%s is %+v, %v", id, e, err)
		}
	}
	if list, err := x.List(t.Context(), a, &search.ListOptions{Shadowed: true}); err != nil || len(list) != 2 || list[1].ID != "pdf-forms" {
		t.Errorf("an agent that sees one of two copies has %+v, %v", list, err)
	}
	if list, err := x.Pinned(t.Context(), a); err != nil || len(list) != 1 || list[0].Source != "work" {
		t.Errorf("pinned %+v, %v", list, err)
	}
}

// TestFolderBeforeName: the folder of one skill is the name of another, and the
// ID of a shadowed copy is its folder.
func TestFolderBeforeName(t *testing.T) {
	t.Parallel()
	x := searchtest.New(t, nil)
	searchtest.SyncSource(t, x, store.Source{Label: "a", Priority: 1}, searchtest.TreeOf(searchtest.Skill("x", "d", "b")).Refs())
	searchtest.SyncSource(t, x, store.Source{Label: "b"}, searchtest.Tree{"foo": searchtest.Skill("x", "d", "copy"), "bar": searchtest.Skill("foo", "d", "b")}.Refs())
	list, err := x.List(t.Context(), nil, &search.ListOptions{Shadowed: true})
	must.Do(t, err)
	for _, e := range list {
		if got, err := x.Lookup(t.Context(), e.ID, nil); err != nil || got.Dir() != e.Dir() || got.Source != e.Source {
			t.Errorf("%s is %+v, %v; want %+v", e.ID, got, err, e)
		}
	}
}
