package search_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/repertoire-skills/repertoire/internal/must"
	"github.com/repertoire-skills/repertoire/search"
	"github.com/repertoire-skills/repertoire/search/searchtest"
	"github.com/repertoire-skills/repertoire/skill"
)

func names(list ...string) search.Rules { return search.Rules{Names: list} }

// offered returns the IDs that an agent lists, and checks that each other door of the
// searcher has the same.
func offered(t *testing.T, x *searchtest.Catalog, a *search.Agent) []string {
	t.Helper()
	list, err := x.List(t.Context(), a, nil)
	must.Do(t, err)
	var listed []string
	for _, e := range list {
		listed = append(listed, e.ID)
		if e.State != search.Offered {
			t.Errorf("%s is listed as %s", e.ID, e.State)
		}
	}
	for _, q := range []search.Query{{Text: "animal", Agent: a}, {Text: "animal", Agent: a, Syntax: true}} {
		found := searchtest.IDs(searchtest.Ask(t, x, q).Hits)
		slices.Sort(found)
		if !slices.Equal(found, listed) {
			t.Errorf("finds %q, lists %q", found, listed)
		}
	}
	return listed
}

// heldBack returns the skills that are held back, with their states.
func heldBack(t *testing.T, x *searchtest.Catalog, a *search.Agent) (list []string) {
	t.Helper()
	entries, err := x.List(t.Context(), a, &search.ListOptions{Held: true})
	must.Do(t, err)
	for _, e := range entries {
		if e.State != search.Offered {
			list = append(list, fmt.Sprintf("%s %s: %s", e.ID, e.State, e.Reason))
		}
	}
	return list
}

// TestPolicy: which skills each kind of rule holds back, and which copies take their places.
func TestPolicy(t *testing.T) {
	t.Parallel()
	x := zoo(t)
	digests := make(map[string]string) // by source and name
	all, err := x.List(t.Context(), nil, &search.ListOptions{Shadowed: true})
	must.Do(t, err)
	for _, e := range all {
		digests[e.Source+" "+e.Name] = e.Digest
	}
	trusted := func(skills ...string) func(string) bool {
		return func(digest string) bool {
			return slices.ContainsFunc(skills, func(s string) bool { return digests[s] == digest })
		}
	}
	locked := func(source, dir, digest string) bool {
		return source+" "+dir != "home pdf-merge" || digest == "sha256:old"
	}
	at := search.Place{File: "c.yaml", Line: 3}
	kinds := map[string]string{"home": "user", "work": "project"}
	for _, tt := range []struct {
		name    string
		policy  *search.Policy
		offered string
		held    []string
	}{
		{"nil", nil, "deploy git pdf-forms pdf-merge", nil},
		{"nothing", &search.Policy{}, "deploy git pdf-forms pdf-merge", nil},
		{"name", &search.Policy{Disabled: []search.Ban{{Rules: names("PDF-m*"), Place: at}}}, "deploy git pdf-forms",
			[]string{"pdf-merge disabled: disabled by c.yaml:3"}},
		{"tag, without place", &search.Policy{Disabled: []search.Ban{{Rules: search.Rules{Tags: []string{"CODE"}}}}}, "pdf-forms pdf-merge",
			[]string{"deploy disabled: disabled by the configuration", "git disabled: disabled by the configuration"}},
		{"nothing matches", &search.Policy{Disabled: []search.Ban{{Rules: names("gitt")}}}, "deploy git pdf-forms pdf-merge", nil},
		{"the first of two copies", &search.Policy{Disabled: []search.Ban{{Rules: names("pdf-forms"), Within: []string{"home"}, Place: at}}},
			"deploy git pdf-forms pdf-merge", []string{"home/pdf-forms disabled: disabled by c.yaml:3"}},
		{"both copies", &search.Policy{Disabled: []search.Ban{{Rules: names("git")}, {Rules: names("pdf-forms"), Place: at}}}, "deploy pdf-merge",
			[]string{"git disabled: disabled by the configuration", "pdf-forms disabled: disabled by c.yaml:3", "work/tools/pdf-forms disabled: disabled by c.yaml:3"}},
		{"in a kind of sources only", &search.Policy{Disabled: []search.Ban{{Rules: names("*"), Within: []string{"project"}, Place: at}}}, "git pdf-forms pdf-merge",
			[]string{"deploy disabled: disabled by c.yaml:3", "work/tools/pdf-forms disabled: disabled by c.yaml:3"}},
		{"untrusted", &search.Policy{Ask: []string{"project"}, Trusted: trusted()}, "git pdf-forms pdf-merge",
			[]string{"deploy untrusted: its project is not trusted yet; \"skills trust\" shows and trusts it", "work/tools/pdf-forms untrusted: its project is not trusted yet; \"skills trust\" shows and trusts it"}},
		{"no function", &search.Policy{Ask: []string{"work"}}, "git pdf-forms pdf-merge",
			[]string{"deploy untrusted: its project is not trusted yet; \"skills trust\" shows and trusts it", "work/tools/pdf-forms untrusted: its project is not trusted yet; \"skills trust\" shows and trusts it"}},
		{"one is trusted", &search.Policy{Ask: []string{"work", "home"}, Trusted: trusted("work pdf-forms", "home git")}, "git pdf-forms",
			[]string{"deploy untrusted: its project is not trusted yet; \"skills trust\" shows and trusts it", "home/pdf-forms untrusted: its project is not trusted yet; \"skills trust\" shows and trusts it",
				"pdf-merge untrusted: its project is not trusted yet; \"skills trust\" shows and trusts it"}},
		{"changed", &search.Policy{Installed: []string{"home"}, Locked: locked}, "deploy git pdf-forms",
			[]string{"pdf-merge changed: changed since it was installed; \"skills update --verify pdf-merge\" shows what"}},
		{"all at once", &search.Policy{Installed: []string{"user"}, Locked: locked, Ask: []string{"user"},
			Disabled: []search.Ban{{Rules: names("pdf-*"), Within: []string{"user"}, Place: at}}}, "deploy pdf-forms",
			[]string{"git untrusted: its project is not trusted yet; \"skills trust\" shows and trusts it", "home/pdf-forms disabled: disabled by c.yaml:3", "pdf-merge disabled: disabled by c.yaml:3"}},
	} {
		x.SetPolicy(tt.policy, kinds)
		if got := strings.Join(offered(t, x, nil), " "); got != tt.offered {
			t.Errorf("%s: offers %s, want %s", tt.name, got, tt.offered)
		}
		if got := heldBack(t, x, nil); !slices.Equal(got, tt.held) {
			t.Errorf("%s: holds back %q\nwant %q", tt.name, got, tt.held)
		}
		if n, found, err := x.Size(t.Context()); n != len(strings.Fields(tt.offered)) || found != 5 || err != nil {
			t.Errorf("%s: %d of %d are offered, %v", tt.name, n, found, err)
		}
	}
}

// TestHeldFromAgents: for an agent a disabled skill does not exist, and of others it learns
// only that they are held back; what its rules keep out never exists.
func TestHeldFromAgents(t *testing.T) {
	t.Parallel()
	x := zoo(t)
	x.SetPolicy(&search.Policy{Disabled: []search.Ban{{Rules: names("git"), Place: search.Place{File: "/secret/c.yaml", Line: 3}}}, Ask: []string{"work"}}, nil)
	agent := &search.Agent{Name: "a", Exclude: names("pdf-merge"), Pinned: []string{"git", "deploy", "pdf-forms"}}
	if got := fmt.Sprint(offered(t, x, agent)); got != "[pdf-forms]" {
		t.Errorf("offers %s", got)
	}
	if list, err := x.Pinned(t.Context(), agent); err != nil || len(list) != 1 || list[0].Source != "home" {
		t.Errorf("pinned %+v, %v", list, err)
	}
	narrow := &search.Agent{Name: "n", Include: names("pdf-*")}
	owner := &search.Agent{Held: true}
	for _, tt := range []struct {
		id    string
		agent *search.Agent
		want  string
	}{
		{"git", nil, "skill git is held back: disabled by /secret/c.yaml:3"},
		{"git", agent, `no skill "git" among 1`},
		{"git", narrow, `no skill "git" among 2`},
		{"deploy", nil, "skill deploy is held back: its project is not trusted yet; \"skills trust\" shows and trusts it"},
		{"work/deploy", nil, "skill deploy is held back: its project is not trusted yet; \"skills trust\" shows and trusts it"},
		{"deploy", agent, "skill deploy is held back: only the user can release it, after a review"},
		{"deploy", narrow, `no skill "deploy" among 2`},
		{"work/tools/pdf-forms", nil, "skill work/tools/pdf-forms is held back: its project is not trusted yet; \"skills trust\" shows and trusts it"},
		{"git", owner, "disabled"},
		{"deploy", owner, "untrusted"},
		{"pdf-forms", owner, ""},
	} {
		e, err := x.Lookup(t.Context(), tt.id, tt.agent)
		got := string(e.State)
		if err != nil {
			got = err.Error()
			if !errors.Is(err, skill.ErrNotFound) {
				t.Errorf("%s for %v: %v is no ErrNotFound", tt.id, tt.agent, err)
			}
		}
		if got != tt.want {
			t.Errorf("%s for %v: %s\nwant %s", tt.id, tt.agent, got, tt.want)
		}
	}
	if got := offered(t, x, owner); len(got) != 2 {
		t.Errorf("an owner is offered %q", got)
	}
}

// TestSealed: a skill that is offered for its digest is not verified with another one.
func TestSealed(t *testing.T) {
	t.Parallel()
	x := zoo(t)
	git, err := x.Lookup(t.Context(), "git", nil)
	must.Do(t, err)
	locked := func(_, dir, digest string) bool { return dir != "git" || digest == git.Digest }
	x.SetPolicy(&search.Policy{Ask: []string{"work"}, Trusted: func(string) bool { return true }, Installed: []string{"home"}, Locked: locked}, nil)
	for id, want := range map[string]string{
		"deploy":    "skill deploy is held back: its project is not trusted yet; \"skills trust\" shows and trusts it",
		"git":       "skill git is held back: changed since it was installed; \"skills update --verify git\" shows what",
		"pdf-forms": "skill pdf-forms is held back: changed since it was installed; \"skills update --verify pdf-forms\" shows what",
	} {
		e, err := x.Lookup(t.Context(), id, nil)
		if err != nil || e.Verify(e.Digest) != nil {
			t.Errorf("%s: %v, %v", id, err, e.Verify(e.Digest))
		}
		got := ""
		if err := e.Verify("sha256:other"); err != nil {
			got = err.Error()
		}
		if got != want {
			t.Errorf("%s with another digest: %q, want %q", id, got, want)
		}
	}
}

// TestPolicyVersion: a new version of the answers of Trusted counts at once.
func TestPolicyVersion(t *testing.T) {
	t.Parallel()
	x := zoo(t)
	var version atomic.Int64
	x.SetPolicy(&search.Policy{Ask: []string{"work"}, Version: func() string { return fmt.Sprint(version.Load()) },
		Trusted: func(string) bool { return version.Load()%2 == 1 }}, nil)
	for n, want := range []string{"[git pdf-forms pdf-merge]", "[deploy git pdf-forms pdf-merge]", "[git pdf-forms pdf-merge]"} {
		version.Store(int64(n))
		if got := fmt.Sprint(offered(t, x, nil)); got != want {
			t.Errorf("version %d: %s, want %s", n, got, want)
		}
	}
}

// TestWhyHeld: the reason stands in the verdict, and a skill is not said to be hidden by one
// that is held back.
func TestWhyHeld(t *testing.T) {
	t.Parallel()
	x := zoo(t)
	x.SetPolicy(&search.Policy{Disabled: []search.Ban{{Rules: names("pdf-forms"), Within: []string{"home"}}}}, nil)
	agent := &search.Agent{Name: "a", Include: names("git")}
	for id, want := range map[string]string{
		"home/pdf-forms": "home/pdf-forms disabled Not offered: disabled by the configuration.",
		"pdf-forms":      "pdf-forms  Not offered: agent a includes only names git.",
	} {
		e, err := x.Why(t.Context(), id, search.Query{Text: "animal", Agent: agent})
		if got := fmt.Sprintf("%s %s %s", e.ID, e.State, e.Verdict); err != nil || got != want {
			t.Errorf("%s: %s, %v; want %s", id, got, err, want)
		}
	}
	e, err := x.Why(t.Context(), "pdf-forms", search.Query{Text: "animal forms", Threshold: search.Always})
	if err != nil || e.Source != "work" || !e.Relevant {
		t.Errorf("%+v, %v", e, err)
	}
}

// TestUnmatchedPolicy: rules that disable nothing are findings, and a pinned skill that is
// held back is said to be.
func TestUnmatchedPolicy(t *testing.T) {
	t.Parallel()
	x := zoo(t)
	if list, err := x.Unmatched(t.Context(), nil); err != nil || len(list) != 0 {
		t.Errorf("without a policy: %v, %v", list, err)
	}
	x.SetPolicy(&search.Policy{Disabled: []search.Ban{
		{Rules: names("git")}, {Rules: names("gitt"), Place: search.Place{File: "c.yaml", Line: 2}},
		{Rules: search.Rules{Tags: []string{"ofice"}, Sources: []string{"empty"}}},
		{Rules: names("deploy"), Within: []string{"home"}},
	}}, nil)
	list, err := x.Unmatched(t.Context(), nil)
	var got []string
	for _, p := range list {
		got = append(got, fmt.Sprintf("%s:%d %s", p.Path, p.Line, p.Message))
	}
	want := []string{`c.yaml:2 disabled: names: no skill "gitt"; did you mean git?`, `:0 disabled: tags: no tag "ofice"; did you mean Office, office?`,
		`:0 disabled: names deploy: there is none in home`}
	if err != nil || !slices.Equal(got, want) {
		t.Errorf("%q, %v\nwant %q", got, err, want)
	}
	list, err = x.Unmatched(t.Context(), &search.Agent{Name: "a", Pinned: []string{"git"}})
	if err != nil || len(list) != 1 || !strings.Contains(list[0].Message, `skill "git" is held back: disabled by the configuration`) {
		t.Errorf("%v, %v", list, err)
	}
}

// TestPolicyCheck: a malformed pattern is an error with its place.
func TestPolicyCheck(t *testing.T) {
	t.Parallel()
	p := &search.Policy{Disabled: []search.Ban{{Rules: names("a*")}, {Rules: names("[a"), Place: search.Place{File: "c.yaml", Line: 2}}}}
	if err := p.Check(); err == nil || !strings.HasPrefix(err.Error(), `c.yaml:2: disabled: "[a" is not a pattern`) {
		t.Error(err)
	}
	if err := (*search.Policy)(nil).Check(); err != nil {
		t.Error(err)
	}
}
