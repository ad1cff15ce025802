package cli

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/repertoire-skills/repertoire"
	"github.com/repertoire-skills/repertoire/internal/must"
)

// A realm is a random catalog: folders with skills of the user, of a project and of a
// team, and a configuration with an agent. edit changes it once.
type realm struct {
	seed          uint64
	rng           *rand.Rand
	home, project string
	agent         map[string]any
	disabled      bool              // what the agent excludes is disabled instead
	names         map[string]string // new names of skills in the root "one", by folder
	projectRoots  string            // the project's configuration; "" means none
	skills        []realmSkill
	edited        []realmSkill // the skills after the edit
	away          bool         // the root "two" is away after the edit
}

// A realmSkill is a skill in a folder of a place, see realmPlaces.
type realmSkill struct{ place, folder, name, tag, text, requires string }

// realmPlaces are the folders of each source, by its label. The names of those of the
// project begin with "project".
var realmPlaces = map[string]string{
	"one": "home/one", "two": "home/two", "user:.claude": "home/.claude/skills",
	"project:.claude": "project/.claude/skills", "project:team": "project/team",
}

var realmLabels = []string{"one", "two", "user:.claude", "user:.claude", "project:.claude", "project:.claude", "project:team"}

// realmNames are names that must not confuse a scope.
var realmNames = []string{"code-review", "Code-Review", "CODE-review", "secret", "secret/b", "secret/plan", "..", "one/f1", "git", "GIT", "x y", "数据", "Ёлка", "[x]", "a*b",
	"user:.claude/git"}

// realmPatterns are patterns of rules, and what they match, worked out by hand: the key
// of a name is the name in lower case.
var realmPatterns = map[string]func(key string) bool{
	"code-review": func(key string) bool { return key == "code-review" },
	"secret*":     func(key string) bool { return strings.HasPrefix(key, "secret") },
	"s*t*":        func(key string) bool { return strings.HasPrefix(key, "secret") },
	"se*an":       func(key string) bool { return key == "secret/plan" },
	"*/f1":        func(key string) bool { return key == "one/f1" },
	"o*":          func(key string) bool { return key == "one/f1" },
	"u*t":         func(key string) bool { return key == "user:.claude/git" },
	"secret":      func(key string) bool { return key == "secret" },
	"s*b":         func(key string) bool { return key == "secret/b" },
	"g?t":         func(key string) bool { return key == "git" },
	"*/*":         func(key string) bool { return strings.Contains(key, "/") },
	"*":           func(string) bool { return true },
	"c*":          func(key string) bool { return strings.HasPrefix(key, "c") },
	`\[x]`:        func(key string) bool { return key == "[x]" },
	`a\*b`:        func(key string) bool { return key == "a*b" },
	"[数ё]*":       func(key string) bool { return strings.HasPrefix(key, "数") || strings.HasPrefix(key, "ё") },
	"f[0-9]*":     func(key string) bool { return len(key) > 1 && key[0] == 'f' && key[1] >= '0' && key[1] <= '9' },
	"gone":        func(key string) bool { return key == "gone" },
	"no-such":     func(string) bool { return false },
}

func newRealm(t *testing.T, seed uint64) *realm {
	t.Helper()
	fixture(t)
	dir := t.TempDir()
	r := &realm{seed: seed, rng: rand.New(rand.NewPCG(seed, 3)), home: filepath.Join(dir, "home"), project: filepath.Join(dir, "project"), names: make(map[string]string)}
	must.Write(t, filepath.Join(r.project, ".git", "config"), "")
	must.Do(t, os.MkdirAll(r.home, 0o700))
	t.Setenv("HOME", r.home)
	t.Setenv("CLAUDE_PROJECT_DIR", "")
	t.Chdir(r.project)
	for i := range 2 + r.rng.IntN(39) {
		r.skills = append(r.skills, r.skill(r.pick(realmLabels...), fmt.Sprintf("f%d", i)))
	}
	// What is gone after the edit is named by a rule.
	r.skills[0].name = r.pick("gone", r.skills[0].name)
	for range r.rng.IntN(3) {
		r.names[fmt.Sprintf("f%d", r.rng.IntN(len(r.skills)))] = r.pick(realmNames...)
	}
	for i := range r.skills {
		r.rename(&r.skills[i])
	}
	hidden := r.pick(realmNames...)
	renames := jsonOf(t, map[string]string{"f1": hidden, "f3": hidden, "secret": "code-review", "git": hidden})
	r.projectRoots = r.pick("", "roots: [../team]", "roots: [../team]",
		"roots: [../team, {path: ~/.claude/skills, label: here, names: "+renames+"}]",
		"roots: [../team, {path: "+filepath.Join(r.home, ".claude/skills")+", names: "+renames+"}]",
		"roots: [../team, {path: ../../home/.claude/skills, names: "+renames+"}]")
	r.chooseAgent()
	r.edit()
	r.disabled = seed%2 == 1
	return r
}

func (r *realm) pick(list ...string) string { return list[r.rng.IntN(len(list))] }

// skill returns a skill for a folder of a place. Many share a name, a text or both.
func (r *realm) skill(place, folder string) realmSkill {
	s := realmSkill{place: place, folder: folder, name: r.pick(realmNames...), tag: r.pick("", "quality", "office"), requires: r.pick(realmNames...)}
	if r.rng.IntN(3) == 0 {
		s.name = folder
	}
	s.text = fmt.Sprintf("Number %d of everything.", r.rng.IntN(9))
	return s
}

// rename gives a skill the name that the configuration gives it.
func (r *realm) rename(s *realmSkill) {
	if name, ok := r.names[s.folder]; ok && s.place == "one" {
		s.name = name
	}
}

// chooseAgent makes random rules and pins. No rule names a pin, which is an error.
func (r *realm) chooseAgent() {
	patterns := make([]string, 0, len(realmPatterns))
	for p := range realmPatterns {
		patterns = append(patterns, p)
	}
	slices.Sort(patterns)
	rules := func() map[string][]string {
		m := map[string][]string{"names": {r.pick("no-such", "gone")}}
		for range 1 + r.rng.IntN(2) {
			switch r.rng.IntN(5) {
			case 0:
				m["tags"] = []string{r.pick("quality", "Office", "no-such-tag")}
			case 1, 2:
				m["sources"] = []string{r.pick(append(realmLabels, "no-such-source")...)}
			default:
				m["names"] = append(m["names"], r.pick(patterns...))
			}
		}
		return m
	}
	r.agent = make(map[string]any)
	if r.rng.IntN(4) > 0 {
		r.agent["exclude"] = rules()
	}
	if r.rng.IntN(3) == 0 {
		r.agent["include"] = rules()
	}
	uses := r.chooseUses()
	pinned := []string{} // not nil, which would be no value
	for range r.rng.IntN(5) {
		name := r.skills[r.rng.IntN(len(r.skills))].name
		a := repertoire.Agent{Include: rulesOf(r.agent["include"]), Exclude: rulesOf(r.agent["exclude"]), Uses: uses, Pinned: []string{name}}
		if a.Check() == nil {
			pinned = append(pinned, name)
		}
	}
	r.agent["pinned"] = pinned
}

// chooseUses makes every third agent that includes nothing a specialist, which sees only the
// skills that it uses.
func (r *realm) chooseUses() (uses []string) {
	if r.agent["include"] != nil || r.seed%3 != 0 {
		return nil
	}
	for range 6 {
		name := r.skills[r.rng.IntN(len(r.skills))].name
		a := repertoire.Agent{Exclude: rulesOf(r.agent["exclude"]), Uses: []string{name}}
		same := func(other string) bool { return strings.EqualFold(name, other) }
		if name != ".." && !strings.Contains(name, "/") && a.Check() == nil && !slices.ContainsFunc(uses, same) {
			uses = append(uses, name)
		}
	}
	if uses != nil {
		r.agent["uses_skills"] = uses
	}
	return uses
}

func rulesOf(v any) repertoire.Rules {
	m, _ := v.(map[string][]string)
	return repertoire.Rules{Names: m["names"], Tags: m["tags"], Sources: m["sources"]}
}

// edit decides what changes while a server runs: skills are removed, renamed, and added
// with names of others; the root "two" may be away.
func (r *realm) edit() {
	r.away = r.rng.IntN(3) == 0
	for _, s := range r.skills {
		change := r.rng.IntN(8)
		switch {
		case r.away && s.place == "two": // nobody sees an edit there
		case change == 0 || s.name == "gone":
			continue
		case change < 3:
			s = r.skill(s.place, s.folder)
			r.rename(&s)
		}
		r.edited = append(r.edited, s)
	}
	for i := range r.rng.IntN(4) {
		s := r.skill(r.pick(realmLabels...), fmt.Sprintf("e%d", i))
		if s.place != "two" || !r.away {
			r.edited = append(r.edited, s)
		}
	}
}

// matches works out in the plainest way whether rules match a skill.
func (s *realmSkill) matches(r repertoire.Rules) bool {
	return slices.ContainsFunc(r.Names, func(p string) bool { return realmPatterns[p](strings.ToLower(s.name)) }) ||
		slices.ContainsFunc(r.Tags, func(tag string) bool { return strings.EqualFold(tag, s.tag) }) ||
		slices.Contains(r.Sources, s.place)
}

// outside reports whether the agent's rules keep a skill out.
func (r *realm) outside(s realmSkill) bool {
	include, exclude := rulesOf(r.agent["include"]), rulesOf(r.agent["exclude"])
	same := func(name string) bool { return strings.EqualFold(s.name, name) }
	if uses, ok := r.agent["uses_skills"].([]string); ok && !slices.ContainsFunc(uses, same) {
		return true
	}
	return s.matches(exclude) || r.agent["include"] != nil && !s.matches(include)
}

// configure writes the configuration, with the rules of the agent or without, and removes
// all that was made of another. JSON is YAML too.
func (r *realm) configure(t *testing.T, rules bool) {
	t.Helper()
	agent := map[string]any{"pinned": r.agent["pinned"]}
	disabled := map[string][]string{}
	if rules {
		agent = r.agent
		if exclude, ok := r.agent["exclude"].(map[string][]string); ok && r.disabled {
			agent = maps.Clone(r.agent)
			delete(agent, "exclude")
			disabled = exclude
		}
	}
	config := os.Getenv("REPERTOIRE_CONFIG")
	must.Write(t, config, jsonOf(t, map[string]any{
		"bundled": false, "embedder": "none", "schedule": "@every 24h", "agents": map[string]any{"a": agent}, "disabled": disabled,
		"roots": []any{
			map[string]any{"path": filepath.Join(r.home, "one"), "label": "one", "names": r.names},
			map[string]any{"path": filepath.Join(r.home, "two"), "label": "two"},
		},
	}))
	if r.projectRoots != "" {
		must.Write(t, filepath.Join(r.project, ".agents", "repertoire.yaml"), r.projectRoots+"\n")
	}
	for _, dir := range []string{os.Getenv("REPERTOIRE_CACHE"), filepath.Join(r.home, ".local")} {
		must.Do(t, os.RemoveAll(dir))
	}
}

// build makes the folders hold these skills. A root that is away has been there before.
func (r *realm) build(t *testing.T, skills []realmSkill, away bool) {
	t.Helper()
	want := make(map[string]bool)
	for label, place := range realmPlaces {
		dir := filepath.Join(filepath.Dir(r.home), filepath.FromSlash(place))
		if away && label == "two" {
			must.Do(t, os.RemoveAll(dir))
			continue
		}
		must.Do(t, os.MkdirAll(dir, 0o700))
		for _, s := range skills {
			if s.place != label {
				continue
			}
			folder := filepath.Join(dir, s.folder)
			want[folder] = true
			text := fmt.Sprintf("---\nname: %q\ndescription: %s\ntags: [%s]\nrequires: %s\n---\n%s\n",
				s.name, s.text, s.tag, jsonOf(t, []string{s.requires, "nothing"}), strings.Repeat(s.text+" ", 20))
			if old, err := os.ReadFile(filepath.Join(folder, "SKILL.md")); err != nil || string(old) != text {
				must.Write(t, filepath.Join(folder, "SKILL.md"), text)
				must.Write(t, filepath.Join(folder, "scripts", "run.sh"), s.text)
			}
		}
		folders, err := filepath.Glob(filepath.Join(dir, "*"))
		must.Do(t, err)
		for _, folder := range folders {
			if !want[folder] {
				must.Do(t, os.RemoveAll(folder))
			}
		}
	}
}

// ids are all IDs by which somebody may ask for skills, seen or not, and some of nothing.
func (r *realm) ids() []string {
	list := []string{"code-reviev", "nothing", "gone"}
	for _, s := range slices.Concat(r.skills, r.edited) {
		list = append(list, s.name, s.place+"/"+s.folder, s.place+"/"+s.name)
	}
	slices.Sort(list)
	return slices.Compact(list)
}
