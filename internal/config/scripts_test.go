package config_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/repertoire-skills/repertoire/internal/config"
	"github.com/repertoire-skills/repertoire/internal/must"
	"github.com/repertoire-skills/repertoire/search"
	"github.com/repertoire-skills/repertoire/source"
)

const agentText = `agents:
  writer:
    prompt: |
      You write.
      Briefly.
    uses_skills: [style, team/tone, ~/own/facts, ./more/facts, /abs/facts]
    instructions: Sign nothing.
    script: {timeout: 5s, output: 10, network: [443, 80]}
    executor: container
    runtime: runsc
  reader:
    uses_skills: ../more/../more/facts
    script: {network: []}
scripts:
- {skills: [fetch-*, get], sources: [team], timeout: 2m, network: 443, executor: confined}
- {skills: "*", output: 5}
`

// TestAgentKeys: what an agent is told and uses, and how scripts run. An agent that names the
// path of another one shares its source.
func TestAgentKeys(t *testing.T) {
	home, dir := t.TempDir(), t.TempDir()
	setHome(t, home)
	name := filepath.Join(dir, "conf", "config.yaml")
	must.Write(t, name, strings.Replace(agentText, "../more/../more/facts", "../conf/./more/facts/", 1))
	s := config.Default()
	must.Do(t, s.ReadUser(name))
	want := []*search.Agent{
		{Name: "writer", Prompt: "You write.\nBriefly.\n", Instructions: "Sign nothing.",
			Uses:   []string{"style", "team/tone", "preloaded:facts/.", "preloaded:more/facts/.", "preloaded:abs/facts/."},
			Script: search.Script{Executor: "container", Timeout: 5 * time.Second, Output: 10, Network: []int{443, 80}, Runtime: "runsc"}},
		{Name: "reader", Uses: []string{"preloaded:more/facts/."}, Script: search.Script{Network: []int{}}},
	}
	if diff := cmp.Diff(want, s.Agents, withoutPlaces); diff != "" {
		t.Errorf("agents (-want +got)\n%s", diff)
	}
	if at := s.Agents[0].Places[search.Rule{Key: "uses_skills", Text: "team/tone"}]; at.Line != 6 {
		t.Errorf("place %v", at)
	}
	rules := []search.ScriptRule{
		{Skills: []string{"fetch-*", "get"}, Sources: []string{"team"}, Place: search.Place{File: name, Line: 15},
			Script: search.Script{Executor: "confined", Timeout: 2 * time.Minute, Network: []int{443}}},
		{Skills: []string{"*"}, Script: search.Script{Output: 5}, Place: search.Place{File: name, Line: 16}},
	}
	if diff := cmp.Diff(rules, s.Scripts); diff != "" {
		t.Errorf("scripts (-want +got)\n%s", diff)
	}
	if p := s.Policy(t.TempDir(), "", nil); p == nil || !slices.Equal(p.Private, []string{source.KindPreloaded}) {
		t.Errorf("policy %+v", p)
	}

	got := make(map[string]string)
	for _, set := range config.Show(s, nil) {
		data, err := json.Marshal(set.Value)
		must.Do(t, err)
		got[set.Key] += strings.NewReplacer(dir, "DIR", home, "HOME").Replace(string(data))
	}
	for key, want := range map[string]string{
		"agents.writer": `{"executor":"container","instructions":"Sign nothing.","prompt":"You write.\nBriefly.\n","runtime":"runsc",` +
			`"script":{"network":[443,80],"output":10,"timeout":"5s"},"uses_skills":["style","team/tone","HOME/own/facts","DIR/conf/more/facts","/abs/facts"]}`,
		"agents.reader": `{"script":{"network":[]},"uses_skills":["DIR/conf/more/facts"]}`,
		"scripts":       `{"executor":"confined","network":[443],"skills":["fetch-*","get"],"sources":["team"],"timeout":"2m0s"}{"output":5,"skills":["*"]}`,
	} {
		if got[key] != want {
			t.Errorf("%s is shown as\n%s, want\n%s", key, got[key], want)
		}
	}
	for _, project := range []bool{false, true} {
		if err := validator(t, project)(agentText); (err != nil) != project {
			t.Errorf("the schema (of a project: %v) says %v", project, err)
		}
	}
}

// TestPreloadedSources: the folders that agents name come after all other sources, also when
// they are missing, and only the configured roots count if nothing else is asked for.
func TestPreloadedSources(t *testing.T) {
	home := t.TempDir()
	setHome(t, home)
	name := filepath.Join(home, "config.yaml")
	must.Write(t, name, "user: false\nproject: false\nagents: {a: {uses_skills: [./there, ./absent]}}\n")
	must.Write(t, filepath.Join(home, "there", "SKILL.md"), "---\nname: there\ndescription: Is there.\n---\n")
	s, err := config.Read(home, &config.Options{File: name})
	must.Do(t, err)
	sources, err := s.Sources(home, func(err error) { t.Error(err) })
	must.Do(t, err)
	var labels []string
	for i, src := range sources {
		info := src.Info()
		labels = append(labels, info.Label)
		if i > 0 && info.Priority >= sources[i-1].Info().Priority || strings.HasPrefix(info.Label, "preloaded:") != (info.Kind == source.KindPreloaded) {
			t.Errorf("%+v", info)
		}
	}
	if n := len(labels); n < 3 || labels[n-2] != "preloaded:there" || labels[n-1] != "preloaded:absent" {
		t.Errorf("sources %q", labels)
	}
	s, err = config.Read(home, &config.Options{File: name, Roots: []string{home}, OnlyRoots: true})
	if must.Do(t, err); len(s.Preloaded) > 0 {
		t.Errorf("beside the only root: %+v", s.Preloaded)
	}
}

// TestAgentKeyErrors reads invalid values of the user's file.
func TestAgentKeyErrors(t *testing.T) {
	for text, want := range map[string]string{
		"agents: {a: {prompt: [x]}}\n":                                   "1: expected a text",
		"agents: {a: {prompts: x}}\n":                                    `1: agent a: no key "prompts"; did you mean prompt?`,
		"agents: {a: {uses_skills: []}}\n":                               "1: a uses_skills names nothing; leave it out or name a skill",
		"agents: {a: {uses_skills: [\" \"]}}\n":                          "1: uses_skills: a name is missing",
		"agents:\n  a:\n    uses_skills:\n    - x\n    - X\n":            "5: uses_skills: X stands here twice",
		"agents: {a: {uses_skills: [/x/y, /x/./y/]}}\n":                  "1: uses_skills: /x/./y/ stands here twice",
		"agents: {a: {uses_skills: [Preloaded:x/.]}}\n":                  `1: uses_skills: "Preloaded:x/.": labels that begin with "preloaded:" are made from paths; name the path of the folder`,
		"agents: {a: {uses_skills: [xy], exclude: {names: x*}}}\n":       `1: agent a: uses_skills: skill "xy" is excluded too; remove one of the two`,
		"agents:\n  a:\n    include: {names: y}\n    uses_skills: x\n":   `4: agent a: uses_skills: skill "x" is not included; add it to include.names, or do not use it`,
		"agents: {a: {uses_skills: x, pinned: y}}\n":                     `1: agent a: pinned: skill "y" is not in uses_skills, which is all that the agent sees; add it there or to include.names, or do not pin it`,
		"agents: {a: {executor: docker}}\n":                              `1: expected confined or plain or bubblewrap or container or virtual, not "docker"`,
		"agents: {a: {runtime: --privileged}}\n":                         `1: expected the name or path of a program, not "--privileged"`,
		"agents: {a: {script: {time: 1s}}}\n":                            `1: a script: no key "time"; did you mean timeout?`,
		"agents: {a: {script: {timeout: 5}}}\n":                          `1: expected a duration such as 250ms or 2s, not "5"`,
		"agents: {a: {script: {output: 0}}}\n":                           "1: output: expected at least 1 byte",
		"agents: {a: {script: {network: [80, 65536]}}}\n":                `1: network: expected a port from 1 to 65535, not "65536"`,
		"agents: {a: {script: {network: http}}}\n":                       `1: network: expected a port from 1 to 65535, not "http"`,
		"agents:\n  a:\n    script:\n      network: [80,\n        80]\n": "5: network: port 80 stands here twice",
		"scripts: {skills: x}\n":                                         "1: scripts must be a list of mappings with skills and what holds for them",
		"scripts:\n- {timeout: 1s}\n":                                    `2: scripts: skills are missing; name them, or write ["*"] for all`,
		"scripts: [{skills: \"[x\"}]\n":                                  `1: skills: "[x" is not a pattern (* ? [a-z] and \ are special)`,
		"scripts: [{skills: x, agent: a}]\n":                             `1: scripts: no key "agent"; there are: executor, network, output, runtime, skills, sources, timeout`,
	} {
		name := filepath.Join(t.TempDir(), "c.yaml")
		must.Write(t, name, text)
		s := config.Default()
		err := s.ReadUser(name)
		if err == nil || err.Error() != name+":"+want {
			t.Errorf("%s\n got %v\nwant %s", text, err, want)
		}
	}
}

// TestProjectAgents: the file of a project tells its own agents what it likes and may narrow how
// scripts run. It reaches no folder outside, opens no port and weakens no wall.
func TestProjectAgents(t *testing.T) {
	dir := t.TempDir()
	setHome(t, filepath.Join(dir, "home"))
	must.Do(t, os.MkdirAll(filepath.Join(dir, "p", ".git"), 0o700))
	name := filepath.Join(dir, "p", ".agents", "repertoire.yaml")
	read := func(keys string) (config.Settings, error) {
		must.Write(t, name, "agents: {a: {"+keys+"}}\n")
		s := config.Default()
		return s, s.ReadProject(name)
	}
	path := "a project's configuration names skills, not paths; make the folder one of its roots, or move the agent to your own"
	for keys, want := range map[string]string{
		"uses_skills: [/etc]":              `uses_skills: "/etc": ` + path,
		"uses_skills: [~/.ssh]":            `uses_skills: "~/.ssh": ` + path,
		"uses_skills: [../../x]":           `uses_skills: "../../x": ` + path,
		"uses_skills: [\"preloaded:x/.\"]": `uses_skills: "preloaded:x/.": labels that begin with "preloaded:" are made from paths; name the path of the folder`,
		"uses_skills: [" + strings.TrimSpace(numbered(65, "s%d, ")) + "]": "uses_skills: 65 skills; an agent of a project may use 64",
		"executor: plain":           `expected virtual (a project's configuration cannot choose another executor; your own can), not "plain"`,
		"executor: container":       `expected virtual (a project's configuration cannot choose another executor; your own can), not "container"`,
		"runtime: runsc":            "runtime: a project's configuration cannot set this; move it to your own",
		"script: {network: [443]}":  "network: a project's configuration cannot open ports; write [] to close all, or move it to your own",
		"script: {timeout: 61s}":    "timeout: a project's configuration can only shorten it, to at most 1m0s",
		"script: {output: 1048577}": "output: a project's configuration can only lower it, to at most 1048576",
	} {
		if s, err := read(keys); err == nil || err.Error() != name+":1: "+want || len(s.Agents)+len(s.Preloaded) > 0 {
			t.Errorf("%s\n got %v\nwant %s", keys, err, want)
		}
	}
	s, err := read("prompt: p, instructions: i, uses_skills: [x, \"project:./y/z\"], executor: virtual, script: {timeout: 60s, output: 1048576, network: []}")
	must.Do(t, err)
	want := []*search.Agent{{Name: "a", Prompt: "p", Instructions: "i", Uses: []string{"x", "project:./y/z"}, Foreign: true,
		Script: search.Script{Executor: "virtual", Timeout: time.Minute, Output: 1 << 20, Network: []int{}}}}
	if diff := cmp.Diff(want, s.Agents, withoutPlaces); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
	must.Write(t, name, "scripts: [{skills: x}]\n")
	if err := s.ReadProject(name); err == nil || !strings.HasSuffix(err.Error(), ":1: scripts: a project's configuration cannot set this; move it to your own") {
		t.Errorf("scripts of a project: %v", err)
	}
}
