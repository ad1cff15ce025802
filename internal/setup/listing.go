package setup

import (
	"encoding/json"
	"maps"
	"slices"
)

// The values of Claude Code's skillOverrides that are written here.
const nameOnly = "name-only"

// ListingFolders returns the folders whose skills Claude Code lists itself in a
// scope, as far as its settings can turn them down.
func ListingFolders(env *Env, s Scope) []string {
	template := "{claude}/skills"
	if s == Project {
		template = "{project}/.claude/skills"
	}
	if dir := env.expand(template); dir != "" {
		return []string{dir}
	}
	return nil
}

// NewListingPlan makes Claude Code list skills by their names only, or as
// before. What the user has decided about a skill is kept.
func NewListingPlan(env *Env, s Scope, names []string, on bool) (*Plan, error) {
	p, err := newPlanner(env, Request{Scope: s, Remove: on})
	if err != nil {
		return nil, err
	}
	p.add(p.listing(names, on))
	p.finish()
	return p.plan, nil
}

func (p *planner) listing(names []string, on bool) Change {
	c, _ := Find("claude")
	ch, ed, ok := p.begin(c, Listing, c.hook.files, jsonFormat{})
	switch {
	case !ok:
		return ch
	case on:
		return p.listInFull(ch, ed)
	}
	return p.listNames(ch, ed, names)
}

func (p *planner) listNames(ch Change, ed *Edit, names []string) Change {
	at := pathTo("skillOverrides")
	var missing []string
	for _, name := range slices.Compact(slices.Sorted(slices.Values(names))) {
		if !has(ed.tree, at.with(name)) {
			missing = append(missing, name)
		}
	}
	if len(missing) == 0 {
		return settled(ch, Unchanged, nil)
	}
	var o object
	for _, name := range missing {
		o = append(o, member{name, nameOnly})
	}
	ch.Snippet = snippet(jsonFormat{}, at, o)
	ed.overridden = missing
	if !has(ed.tree, at) {
		ed.made = append(ed.made, at)
		return settled(ch, Added, ed.set(at, o))
	}
	for _, name := range missing {
		if err := ed.set(at.with(name), nameOnly); err != nil {
			return settled(ch, Updated, err)
		}
	}
	return settled(ch, Updated, nil)
}

func (p *planner) listInFull(ch Change, ed *Edit) Change {
	ch.Action = Absent
	r := p.record.Files[ed.File]
	if r == nil {
		return ch
	}
	for _, name := range r.Overrides {
		at := pathTo("skillOverrides", name)
		if lookup(ed.tree, at) != nameOnly { // the user has decided anew
			continue
		}
		if err := ed.remove(at, p.record); err != nil {
			return settled(ch, Refused, err)
		}
		ch.Action = Removed
	}
	return ch
}

// overrides returns what the record says of the listing after an edit.
func (ed *Edit) overrides(before []string) []string {
	var now []string
	for _, name := range slices.Concat(before, ed.overridden) {
		if lookup(ed.tree, pathTo("skillOverrides", name)) == nameOnly && !slices.Contains(now, name) {
			now = append(now, name)
		}
	}
	return now
}

// A Budget is how much of its skills a client lists.
type Budget struct {
	Client string
	Skills int // that it lists
	Needs  int // characters, or skills
	Names  int // what the names alone need, where the client can list only them; else 0
	Lists  int
	Unit   string // "characters" or "skills"
}

// A Listed skill is one in a folder that a client lists itself.
type Listed struct {
	Name, Description string
}

// Over reports whether something is left out.
func (b Budget) Over() bool { return b.Needs > b.Lists }

// entryCut is the longest description that Claude Code lists, in characters.
const entryCut = 1536

// overhead is what a client writes around the name and the description of a
// skill, in characters: "- name: description" and a line feed for Claude Code
// and Codex, tags for OpenClaw.
const (
	lineOverhead = 5
	tagOverhead  = 97
)

// claudeBudget returns the budget of Claude Code: 1 % of a context of 200,000
// tokens of 4 characters each, unless its settings or the environment say
// otherwise.
func claudeBudget(fraction float64, chars int) int {
	switch {
	case chars > 0:
		return chars
	case fraction > 0:
		return int(fraction * 200_000 * 4)
	}
	return 8000
}

// budgetOf adds up what listing skills takes. cut is the longest description,
// 0 for any.
func budgetOf(skills []Listed, overhead, cut int) int {
	total := 0
	for _, s := range skills {
		n := len([]rune(s.Description))
		if cut > 0 {
			n = min(n, cut)
		}
		total += overhead + len([]rune(s.Name)) + n
	}
	return total
}

// BudgetFolders returns the folders whose skills a client lists itself, none
// for a client without a budget.
func BudgetFolders(env *Env, client string) []string {
	var folders []string
	for _, t := range map[string][]string{
		"claude":   {"{claude}/skills", "{project}/.claude/skills"},
		"codex":    {"{home}/.agents/skills", "{codex}/skills", "{project}/.agents/skills", "{project}/.codex/skills"},
		"openclaw": {"{openclaw}/skills", "{home}/.agents/skills"},
	}[client] {
		if dir := env.expand(t); dir != "" {
			folders = append(folders, dir)
		}
	}
	return folders
}

// Budgets returns what the skills that a client lists itself take of its
// budgets.
func Budgets(env *Env, client string, skills []Listed) []Budget {
	n := len(skills)
	switch client {
	case "claude":
		skills, fraction, cut := claudeSettings(env, skills)
		var chars int
		_ = json.Unmarshal([]byte(env.Getenv("SLASH_COMMAND_TOOL_CHAR_BUDGET")), &chars)
		return []Budget{{client, n, budgetOf(skills, lineOverhead, cut), budgetOf(named(skills), lineOverhead, cut), claudeBudget(fraction, chars), "characters"}}
	case "codex":
		return []Budget{{client, n, budgetOf(skills, lineOverhead, 0), 0, 8000, "characters"}}
	case "openclaw":
		return []Budget{{client, n, budgetOf(skills, tagOverhead, 0), 0, 30_000, "characters"}, {client, n, n, 0, 150, "skills"}}
	}
	return nil
}

// named returns the skills without their descriptions.
func named(skills []Listed) []Listed {
	names := make([]Listed, len(skills))
	for i, s := range skills {
		names[i].Name = s.Name
	}
	return names
}

// claudeSettings returns the skills as the user's settings have them listed.
func claudeSettings(env *Env, skills []Listed) (listed []Listed, fraction float64, cut int) {
	cut = entryCut
	overrides := make(map[string]any)
	for _, t := range []string{"{claude}/settings.json", "{project}/.claude/settings.json", "{project}/.claude/settings.local.json"} {
		data, err := readConfig(env.expand(t))
		if err != nil {
			continue
		}
		tree, err := jsonFormat{}.decode(data)
		if err != nil {
			continue
		}
		if v, ok := lookup(tree, pathTo("skillListingBudgetFraction")).(number); ok {
			_ = json.Unmarshal([]byte(v), &fraction)
		}
		if v, ok := lookup(tree, pathTo("skillListingMaxDescChars")).(number); ok {
			_ = json.Unmarshal([]byte(v), &cut)
		}
		m, _ := lookup(tree, pathTo("skillOverrides")).(map[string]any)
		maps.Copy(overrides, m)
	}
	for _, s := range skills {
		switch overrides[s.Name] {
		case "off", "user-invocable-only":
		case nameOnly:
			listed = append(listed, Listed{Name: s.Name})
		default:
			listed = append(listed, s)
		}
	}
	return listed, fraction, cut
}
