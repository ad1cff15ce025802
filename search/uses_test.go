package search_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/repertoire-skills/repertoire/internal/must"
	"github.com/repertoire-skills/repertoire/search"
	"github.com/repertoire-skills/repertoire/search/searchtest"
	"github.com/repertoire-skills/repertoire/skill"
	"github.com/repertoire-skills/repertoire/store"
)

// TestUses: without include, an agent sees what it uses. A private skill is seen by the agents
// that name it by its source, whatever they include, and by nobody else.
func TestUses(t *testing.T) {
	t.Parallel()
	x := zoo(t)
	searchtest.SyncSource(t, x, store.Source{Label: "mine", Root: "/m", Priority: -1}, searchtest.Tree{".": searchtest.Skill("git", "animal of mine", "body", "office")}.Refs())
	searchtest.SyncSource(t, x, store.Source{Label: "yours", Root: "/y", Priority: -2}, searchtest.Tree{".": searchtest.Skill("vault", "animal of yours", "body")}.Refs())
	x.SetPolicy(&search.Policy{Private: []string{"hidden"}, Disabled: []search.Ban{{Rules: search.Rules{Names: []string{"deploy"}}}}}, map[string]string{"mine": "hidden", "yours": "hidden"})
	all := []string{"home git", "home pdf-forms", "home pdf-merge"}
	for _, tt := range []struct {
		name  string
		agent *search.Agent
		want  []string
	}{
		{"nil", nil, all},
		{"no rules", &search.Agent{}, all},
		{"a name", &search.Agent{Uses: []string{"GIT"}}, []string{"home git"}},
		{"a name of a private skill only", &search.Agent{Uses: []string{"vault"}}, nil},
		{"a pattern is a name", &search.Agent{Uses: []string{"pdf-*", "gi?", "[g]it"}}, nil},
		{"a copy", &search.Agent{Uses: []string{"work/pdf-forms", "work/tools/pdf-forms"}}, []string{"work pdf-forms"}},
		{"what is disabled", &search.Agent{Uses: []string{"deploy", "git"}}, []string{"home git"}},
		{"private", &search.Agent{Uses: []string{"mine/."}}, []string{"mine git"}},
		{"private, by name", &search.Agent{Uses: []string{"yours/vault"}}, []string{"yours vault"}},
		{"private and not", &search.Agent{Uses: []string{"git", "mine/."}}, []string{"home git"}},
		{"with include", &search.Agent{Uses: []string{"git", "yours/."}, Include: search.Rules{Names: []string{"pdf-merge"}}}, []string{"home pdf-merge", "yours vault"}},
		{"include of private ones", &search.Agent{Include: search.Rules{Names: []string{"vault", "git"}, Sources: []string{"mine", "yours"}}}, []string{"home git"}},
		{"exclude wins", &search.Agent{Uses: []string{"git", "mine/."}, Exclude: search.Rules{Sources: []string{"home"}}}, []string{"mine git"}},
		{"exclude wins over private", &search.Agent{Uses: []string{"git", "yours/."}, Exclude: search.Rules{Names: []string{"v*"}}}, []string{"home git"}},
		{"nothing", &search.Agent{Uses: []string{"gitt"}}, nil},
	} {
		list, err := x.List(t.Context(), tt.agent, nil)
		must.Do(t, err)
		var listed, ids []string
		for _, e := range list {
			listed, ids = append(listed, e.Source+" "+e.Name), append(ids, e.ID)
			if got, err := x.Lookup(t.Context(), e.ID, tt.agent); err != nil || got.Source != e.Source {
				t.Errorf("%s: %s is of %s, %v", tt.name, e.ID, got.Source, err)
			}
		}
		searched := searchtest.IDs(searchtest.Ask(t, x, search.Query{Text: "animal", Agent: tt.agent}).Hits)
		slices.Sort(searched)
		if !slices.Equal(listed, tt.want) || !slices.Equal(searched, ids) {
			t.Errorf("%s: lists %q, finds %q, want %q", tt.name, listed, searched, tt.want)
		}
		held, err := x.List(t.Context(), tt.agent, &search.ListOptions{Shadowed: true, Held: true})
		for _, e := range held {
			private := e.Source == "mine" || e.Source == "yours"
			if uses := func(id string) bool { return strings.HasPrefix(id, e.Source+"/") }; private && (tt.agent == nil || !slices.ContainsFunc(tt.agent.Uses, uses)) {
				t.Errorf("%s: the owner of the agent sees %s, %v", tt.name, e.ID, err)
			}
		}
		for _, id := range []string{"vault", "yours/.", "yours/vault"} {
			_, err := x.Lookup(t.Context(), id, tt.agent)
			if got := err == nil; got != slices.Contains(tt.want, "yours vault") {
				t.Errorf("%s: looking up %s: %v", tt.name, id, err)
			}
		}
	}
	e, err := x.Why(t.Context(), "vault", search.Query{Text: "animal"})
	if want := "Not offered: only agents that use it see it."; err != nil || e.Verdict != want {
		t.Errorf("why: %s, %v; want %s", e.Verdict, err, want)
	}
	e, err = x.Why(t.Context(), "pdf-merge", search.Query{Text: "animal", Agent: &search.Agent{Name: "a", Uses: []string{"git", "x"}}})
	if want := "Not offered: agent a sees only what it uses: git, x."; err != nil || e.Verdict != want {
		t.Errorf("why: %s, %v; want %s", e.Verdict, err, want)
	}
}

// TestUnmatchedUses: the owner hears of each used skill that the agent does not see, and of what
// used skills require in vain.
func TestUnmatchedUses(t *testing.T) {
	t.Parallel()
	x := zoo(t)
	searchtest.SyncSource(t, x, store.Source{Label: "mine", Root: "/m", Priority: -1}, searchtest.TreeOf().Refs())
	needy := searchtest.Skill("needy", "animal", "body")
	needy.Needs = skill.Needs{Skills: []string{"git", "pdf-merge"}}
	searchtest.SyncSource(t, x, store.Source{Label: "more", Root: "/o", Priority: -2}, searchtest.TreeOf(needy).Refs())
	for _, tt := range []struct {
		agent *search.Agent
		want  []string
	}{
		{&search.Agent{Uses: []string{"git", "work/tools/pdf-forms"}}, nil},
		{&search.Agent{Uses: []string{"gitt", "home/pdf-form", "mine/."}, Places: map[search.Rule]search.Place{{Key: "uses_skills", Text: "mine/."}: {File: "c.yaml", Line: 3}}}, []string{
			`: error: agent x: uses_skills: no skill "gitt"; did you mean git? [agent]`,
			`: error: agent x: uses_skills: no skill "home/pdf-form"; there are: deploy, git, needy, pdf-forms, pdf-merge [agent]`,
			`c.yaml:3: error: agent x: uses_skills: no skill in /m [agent]`}},
		{&search.Agent{Uses: []string{"git"}, Exclude: search.Rules{Tags: []string{"code"}}}, []string{
			`: error: agent x: uses_skills: skill "git" is outside: the agent excludes it (tags code) [agent]`}},
		{&search.Agent{Uses: []string{"work/deploy"}, Include: search.Rules{Names: []string{"git"}}}, []string{
			`: error: agent x: uses_skills: skill "work/deploy" is outside: the agent includes only names git [agent]`}},
		{&search.Agent{Uses: []string{"needy", "git"}}, []string{
			`: error: agent x: uses_skills: skill "needy" requires "pdf-merge", which the agent does not see [agent]`}},
	} {
		tt.agent.Name = "x"
		problems, err := x.Unmatched(t.Context(), tt.agent)
		var got []string
		for _, p := range problems {
			got = append(got, p.String())
		}
		if err != nil || !slices.Equal(got, tt.want) {
			t.Errorf("%v\n%s\nwant\n%s", err, strings.Join(got, "\n"), strings.Join(tt.want, "\n"))
		}
	}
}

func TestAdmitsUses(t *testing.T) {
	t.Parallel()
	for name, a := range map[string]*search.Agent{
		"git":   {Uses: []string{"Git", "x"}},
		"other": {Uses: []string{"git"}, Include: search.Rules{Names: []string{"o*"}}},
	} {
		for _, id := range []string{"git", "other"} {
			if got := a.Admits(id, nil); got != (id == name) {
				t.Errorf("%+v admits %s: %v", a, id, got)
			}
		}
	}
}
