package setup

import (
	"cmp"
	"fmt"
	"maps"
	"os"
	"reflect"
	"slices"
	"strings"

	"github.com/repertoire-skills/repertoire/internal/client"
	"github.com/repertoire-skills/repertoire/internal/edit"
	"github.com/repertoire-skills/repertoire/internal/regular"
)

// A Request says what to set up, or to remove.
type Request struct {
	Clients []client.Client
	MCP     bool // the MCP server; without MCP and Hook, what a client has
	Hook    bool
	Scope   client.Scope
	Remove  bool
	Name    string // of the MCP server
}

// DefaultName is the name of the MCP server.
const DefaultName = "skills"

// The kinds of changes.
const (
	MCP     = "mcp"
	Hook    = "hook"
	Listing = "listing"
)

// What was done, or will be.
const (
	Added     = "added"
	Updated   = "updated"
	Unchanged = "unchanged"
	Removed   = "removed"
	Absent    = "absent"  // there was nothing to remove
	Refused   = "refused" // see Message
)

// A Change is what happens to one client.
type Change struct {
	Client  string       `json:"client"`
	Kind    string       `json:"kind"`
	Scope   client.Scope `json:"scope"`
	File    string       `json:"file"`
	Action  string       `json:"action"`
	Message string       `json:"message,omitempty"` // why it was refused, or left as it is
	Snippet string       `json:"snippet,omitempty"` // what to put into the file by hand
}

// A Plan is what will be done.
type Plan struct {
	Changes  []Change
	Edits    []*Edit  // of files that will be changed
	Warnings []string // of what is then there twice

	files     map[string]*Edit // by real path, also those without a change
	forgotten []Lost           // that were to be removed, and are gone already
}

// planner makes a plan.
type planner struct {
	env    *Env
	req    Request
	record *record
	plan   *Plan
	keep   bool // see KeepListingPlan
}

// NewPlan reads the files of clients and works out how they must change. What
// is wrong with one of them is in its Change, and does not hinder the others.
func NewPlan(env *Env, req Request) (*Plan, error) {
	req.Name = cmp.Or(req.Name, DefaultName)
	p, err := newPlanner(env, req)
	if err != nil {
		return nil, err
	}
	for _, c := range req.Clients {
		mcp, hook := req.MCP, req.Hook
		if !mcp && !hook {
			hook = len(hookFiles(c).In(req.Scope)) > 0
			mcp = len(c.MCP.Files.In(req.Scope)) > 0 || !hook // to be refused
		}
		if mcp {
			p.add(p.mcp(c))
		}
		switch {
		case hook && req.Remove:
			p.add(p.removeHook(c))
		case hook:
			p.add(p.hook(c))
		case p.hasHook(c):
			// It tells the model where to read skills, so it has to follow.
			if ch := p.hook(c); ch.Action != Unchanged {
				p.add(ch)
			}
		}
		if listingOf(c) != nil && req.Remove && !req.MCP && !req.Hook {
			if ch := p.listing(c, nil); ch.Action != Absent {
				p.add(ch)
			}
		}
	}
	p.finish()
	return p.plan, nil
}

// Missing returns the titles of the clients that were set up and that do not seem
// to be on the machine.
func (p *Plan) Missing(env *Env) []string {
	var titles []string
	for _, ch := range p.Changes {
		if c, ok := client.Find(ch.Client); ok && ch.Action == Added && !env.Installed(c) && !slices.Contains(titles, c.Title) {
			titles = append(titles, c.Title)
		}
	}
	return titles
}

func newPlanner(env *Env, req Request) (*planner, error) {
	rec, err := readRecord(env.State)
	if err != nil {
		return nil, err
	}
	return &planner{env: env, req: req, record: rec, plan: &Plan{files: make(map[string]*Edit)}}, nil
}

func (p *planner) add(c Change) {
	switch linked := p.env.checkLinks(c.File, c.Scope, c.Client) != nil; {
	case linked:
		c.Snippet = "" // by hand it must not be put there either
	case c.Action == Refused && p.plan.files[regular.Real(c.File)] != nil:
		p.plan.files[regular.Real(c.File)].rollback()
	}
	if c.Action == Absent && p.record.Files[regular.Real(c.File)] != nil {
		p.plan.forgotten = append(p.plan.forgotten, Lost{c.Client, c.Kind, c.Scope, c.File})
	}
	p.plan.Changes = append(p.plan.Changes, c)
}

// finish keeps the files that will change and tells what is there twice then.
func (p *planner) finish() {
	for _, name := range slices.Sorted(maps.Keys(p.plan.files)) {
		ed := p.plan.files[name]
		if p.req.Remove {
			ed.restore(p.env, p.record)
		}
		if ed.Delete || string(ed.Before) != string(ed.After) {
			p.plan.Edits = append(p.plan.Edits, ed)
		}
	}
	if p.req.Remove {
		return
	}
	p.shadowed()
	asked := make(map[string]bool)
	for _, c := range p.plan.Changes {
		asked[c.Client] = true
	}
	statuses := scan(p.env, client.All(), func(file string, f edit.Format) (any, error) {
		if ed := p.plan.files[regular.Real(file)]; ed != nil {
			return ed.tree, nil
		}
		return readTree(file, f)
	})
	for _, d := range doublesOf(statuses) {
		if asked[d.Client] || asked[d.With] {
			p.plan.Warnings = append(p.plan.Warnings, d.Message)
		}
	}
}

// shadowed warns of a file of another client that a client reads instead of the file
// that is written for it.
func (p *planner) shadowed() {
	for _, ch := range p.plan.Changes {
		c, _ := client.Find(ch.Client)
		if c.MCP.Instead == "" || ch.Kind != MCP || ch.Scope != client.Project {
			continue
		}
		other, _ := client.Find(c.MCP.Instead)
		file := p.env.File(other.MCP.Files, client.Project)
		_, err := os.Stat(file)
		if ed := p.plan.files[regular.Real(file)]; err == nil || ed != nil && len(ed.After) > 0 {
			p.plan.Warnings = append(p.plan.Warnings, fmt.Sprintf("%s reads %s instead of %s: put the server there (\"skills setup %s --mcp --scope project\")",
				c.Title, file, ch.File, other.Name))
		}
	}
}

// begin opens the file of a change. ok is false when the change is refused.
func (p *planner) begin(c client.Client, kind string, files client.Places, f edit.Format) (ch Change, ed *Edit, ok bool) {
	ch = Change{Client: c.Name, Kind: kind, Scope: p.req.Scope, Action: Refused}
	if len(files.User)+len(files.Project) == 0 {
		ch.Message = fmt.Sprintf("%s has no %s that could be set up", c.Title, kind)
		return ch, nil, false
	}
	ch.File = p.env.File(files, p.req.Scope)
	ed, err := p.open(ch.File, p.req.Scope, c.Name, f)
	switch {
	case err == nil:
		ed.save()
		return ch, ed, true
	case ch.File != "":
		ch.Message = err.Error()
	case p.req.Scope == client.Project && len(files.Project) > 0:
		ch.Message = "the working folder belongs to no project"
	case p.req.Scope == client.Project:
		ch.Message = fmt.Sprintf("%s has no such settings in a project; leave out --scope", c.Title)
	default:
		ch.Message = "there is no home folder"
	}
	return ch, nil, false
}

// mcp plans the entry of the MCP server.
func (p *planner) mcp(c client.Client) Change {
	f := formatOf(c.MCP.Format)
	ch, ed, ok := p.begin(c, MCP, c.MCP.Files, f)
	entry, words := p.env.entryOf(c, p.req.Name)
	at := edit.To(c.MCP.Key...).With(p.req.Name)
	if !p.req.Remove {
		ch.Snippet = snippet(f, at, entry)
	}
	if !ok {
		return ch
	}
	if env := p.env.Server.TokenEnv; env != "" && c.MCP.Plain && !p.req.Remove {
		ch.Message = fmt.Sprintf("%s takes no token from the environment: put this into %s, with what %s holds as TOKEN", c.Title, ch.File, env)
		return ch
	}
	ed.commands = append(ed.commands, commandOf(words))
	existing := edit.Lookup(ed.tree, at)
	ours := p.env.mcpWords(existing) != nil || p.env.ourURL(existing) != ""
	switch {
	case p.req.Remove && !ours: // under another name it may have been written by hand
		return settled(ch, Absent, nil)
	case p.req.Remove:
		return settled(ch, Removed, ed.remove(at, p.record))
	case existing == nil:
		for _, s := range p.env.servers(ed.tree, c.MCP) {
			if !sameServer(s.Words, words) {
				continue
			}
			ch.Message = fmt.Sprintf("it is there under the name %q", s.Name)
			if !isGone(s.Words[0]) {
				return settled(ch, Unchanged, nil)
			}
			named, _ := p.env.entryOf(c, s.Name)
			action, err := ed.update(edit.To(c.MCP.Key...).With(s.Name), named, p.record)
			return settled(ch, action, err)
		}
		return settled(ch, Added, ed.set(at, entry))
	case !ours:
		ch.Message = fmt.Sprintf("%q in %s is another server; give ours a different name with --name", at.String(), ch.File)
		return ch
	}
	action, err := ed.update(at, entry, p.record)
	return settled(ch, action, err)
}

// update brings the command of an entry up to date. The user may have changed the other
// members.
func (ed *Edit) update(at edit.Path, entry edit.Object, rec *record) (action string, err error) {
	action = Unchanged
	if before := urlOf(edit.Lookup(ed.tree, at)); (before != "") != (urlOf(edit.Plain(entry)) != "") {
		return Updated, ed.replace(at, entry, rec)
	}
	for _, m := range entry {
		isCommand := slices.Contains(slices.Concat([]string{"command", "args", "cmd"}, urlKeys(), tokenKeys()), m.Key)
		if isCommand && !reflect.DeepEqual(edit.Lookup(ed.tree, at.With(m.Key)), edit.Plain(m.Value)) {
			action = Updated
			if err := ed.set(at.With(m.Key), m.Value); err != nil {
				return action, err
			}
		}
	}
	return action, nil
}

// replace puts an entry in the place of one of another kind.
func (ed *Edit) replace(at edit.Path, entry edit.Object, rec *record) error {
	if ed.set(at, entry) == nil {
		return nil
	}
	if err := ed.remove(at, rec); err != nil { // TOML cannot replace a table as a whole
		return err
	}
	return ed.set(at, entry)
}

// settled ends a change; one that went well needs no snippet.
func settled(ch Change, action string, err error) Change {
	if err != nil {
		ch.Action, ch.Message = Refused, err.Error()
		return ch
	}
	ch.Action, ch.Snippet = action, ""
	return ch
}

// snippet shows what to write at a place by hand.
func snippet(f edit.Format, at edit.Path, v any) string {
	return strings.TrimSpace(edit.Snippet(f, at, v))
}

// Offers returns the clients on this machine, or with entries of ours, that have what a
// request is for.
func Offers(env *Env, req Request) []client.Client {
	var found []client.Client
	for _, st := range Scan(env) {
		mcp := len(st.Client.MCP.Files.In(req.Scope)) > 0
		hook := len(hookFiles(st.Client).In(req.Scope)) > 0
		has := mcp || hook
		if req.MCP || req.Hook {
			has = mcp && req.MCP || hook && req.Hook
		}
		if has && (len(st.Registrations) > 0 || env.foundWithoutUs(st.Client) != "") {
			found = append(found, st.Client)
		}
	}
	return found
}

// Changed returns the names of the clients whose settings a plan changes.
func (p *Plan) Changed() []string {
	var names []string
	for _, c := range p.Changes {
		if (c.Action == Added || c.Action == Updated || c.Action == Removed) && !slices.Contains(names, c.Client) {
			names = append(names, c.Client)
		}
	}
	return names
}
