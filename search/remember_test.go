package search_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/repertoire-skills/repertoire/search"
)

// TestRemembered: what agents see is remembered once for all agents with the same rules, and
// for a bounded number of others.
func TestRemembered(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name   string
		policy *search.Policy
		want   int
	}{
		{"nothing is held back", nil, 1},
		{"a skill is held back, also from those who see everything", &search.Policy{Disabled: []search.Ban{{Rules: names("deploy")}}}, 2},
	} {
		t.Run(tt.name, func(t *testing.T) {
			x := zoo(t)
			x.SetPolicy(tt.policy, nil)
			for i := range 50 {
				offered(t, x, &search.Agent{Held: true})
				for _, a := range []*search.Agent{{Name: fmt.Sprint(i), Include: names("git")}, {Include: names("git"), Prompt: "x", Held: true}} {
					if got := offered(t, x, a); !slices.Equal(got, []string{"git"}) {
						t.Fatalf("sees %q", got)
					}
				}
			}
			if n := search.Scopes(t, x.Searcher); n != tt.want {
				t.Errorf("%d scopes are remembered, want %d", n, tt.want)
			}
			for i := range 2 * search.MostScopes {
				a := &search.Agent{Include: names("git", fmt.Sprint("no-", i))}
				if got := offered(t, x, a); !slices.Equal(got, []string{"git"}) {
					t.Fatalf("sees %q", got)
				}
			}
			if n := search.Scopes(t, x.Searcher); n != search.MostScopes {
				t.Errorf("%d scopes are remembered, want %d", n, search.MostScopes)
			}
		})
	}
}

// TestRememberedApart: rules that differ only in where a text ends, or in what they are for, are
// of different scopes.
func TestRememberedApart(t *testing.T) {
	t.Parallel()
	x := zoo(t)
	for _, tt := range []struct {
		agent search.Agent
		want  []string
	}{
		{search.Agent{Include: names("git", "deploy")}, []string{"deploy", "git"}},
		{search.Agent{Include: names("gitdeploy")}, nil},
		{search.Agent{Include: names("git"), Exclude: names("deploy")}, []string{"git"}},
		{search.Agent{Include: names("git6 deploy")}, nil},
		{search.Agent{Include: search.Rules{Tags: []string{"git", "deploy"}}}, nil},
		{search.Agent{Uses: []string{"git", "deploy"}}, []string{"deploy", "git"}},
		{search.Agent{Exclude: names("git", "deploy")}, []string{"pdf-forms", "pdf-merge"}},
	} {
		if got := offered(t, x, &tt.agent); !slices.Equal(got, tt.want) {
			t.Errorf("%+v sees %q, want %q", tt.agent, got, tt.want)
		}
	}
}
