package search_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/repertoire-skills/repertoire/search"
	"github.com/repertoire-skills/repertoire/skill"
)

// TestScriptFor: the most specific says how scripts run, field by field. What strangers may have
// written only narrows that.
func TestScriptFor(t *testing.T) {
	t.Parallel()
	rules := []search.ScriptRule{
		{Skills: []string{"*"}, Script: search.Script{Timeout: time.Second, Output: 100, Executor: "plain"}},
		{Skills: []string{"fetch-*", "x"}, Script: search.Script{Timeout: 5 * time.Minute, Network: []int{443, 80}}},
		{Skills: []string{"Fetch-All"}, Script: search.Script{Network: []int{22}, Executor: "container", Runtime: "runsc"}},
		{Skills: []string{"fetch-*"}, Sources: []string{"project:p"}, Script: search.Script{Timeout: 2 * time.Hour}},
	}
	agent := func(s search.Script) *search.Agent { return &search.Agent{Script: s} }
	project := func(s search.Script) *search.Agent { return &search.Agent{Script: s, Foreign: true} }
	minute, mib := time.Minute, int64(1<<20)
	for _, tt := range []struct {
		name          string
		rules         []search.ScriptRule
		skill, source string
		agent         *search.Agent
		want          search.Script
	}{
		{"nothing said", nil, "a", "own", nil, search.DefaultScript()},
		{"for all", rules, "a", "own", nil, search.Script{Executor: "plain", Timeout: time.Second, Output: 100}},
		{"the first pattern", rules, "fetch-it", "own", nil, search.Script{Executor: "plain", Timeout: time.Second, Output: 100, Network: []int{443, 80}}},
		{"a whole name before patterns", rules, "fetch-all", "own", nil, search.Script{Executor: "container", Timeout: time.Second, Output: 100, Network: []int{22}, Runtime: "runsc"}},
		{"a name in a list of patterns", rules[1:], "x", "own", nil, search.Script{Timeout: 5 * time.Minute, Output: mib, Network: []int{443, 80}}},
		{"the agent first", rules, "fetch-it", "own", agent(search.Script{Executor: "virtual", Timeout: time.Hour, Network: []int{}}),
			search.Script{Executor: "virtual", Timeout: time.Hour, Output: 100, Network: []int{}}},
		{"an agent of a project narrows", rules, "fetch-it", "own", project(search.Script{Timeout: minute, Output: 7, Network: []int{443, 25}}),
			search.Script{Executor: "plain", Timeout: time.Second, Output: 7, Network: []int{443}}},
		{"and stays behind walls", rules[1:], "fetch-all", "own", project(search.Script{Executor: "virtual", Network: []int{}}),
			search.Script{Executor: "virtual", Timeout: 5 * time.Minute, Output: mib, Network: []int{}}},
		{"which it cannot weaken", nil, "a", "own", project(search.Script{Executor: "plain", Timeout: time.Hour, Output: 2 * mib, Network: []int{443}}),
			search.Script{Timeout: minute, Output: mib}},
		{"a skill of a project is only narrowed", rules[:3], "fetch-all", "project:p", nil,
			search.Script{Executor: "container", Timeout: time.Second, Output: 100, Runtime: "runsc"}},
		{"unless a rule names its source", rules[1:], "fetch-it", "project:p", nil, search.Script{Timeout: 2 * time.Hour, Output: mib}},
		{"which comes before other rules", rules, "fetch-all", "project:p", nil,
			search.Script{Executor: "container", Timeout: 2 * time.Hour, Output: 100, Runtime: "runsc"}},
		{"a folder below only narrows", []search.ScriptRule{{Skills: []string{"*"}, Sources: []string{"project:.p"}, Script: search.Script{Timeout: time.Hour, Output: 7}}}, "a", "project:sub/.p", nil,
			search.Script{Timeout: minute, Output: 7}},
		{"a rule for another source", rules[3:], "fetch-it", "own", nil, search.DefaultScript()},
	} {
		m := skill.Meta{Name: tt.skill, Source: tt.source}
		if diff := cmp.Diff(tt.want, search.ScriptFor(tt.rules, &m, tt.source != "own", tt.agent)); diff != "" {
			t.Errorf("%s (-want +got)\n%s", tt.name, diff)
		}
	}
}
