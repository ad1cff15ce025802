package setup

import (
	"cmp"
	"fmt"
	"maps"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/repertoire-skills/repertoire/internal/client"
	"github.com/repertoire-skills/repertoire/internal/edit"
	"github.com/repertoire-skills/repertoire/internal/regular"
)

// A Registration is an entry of ours in a file of a client.
type Registration struct {
	Kind  string       `json:"kind"` // MCP or Hook
	Scope client.Scope `json:"scope"`
	File  string       `json:"file"`
	Name  string       `json:"name,omitempty"` // of the MCP server
	Words []string     `json:"command"`        // or the URL
	URL   string       `json:"url,omitempty"`  // of a server that is reached over HTTP
	Gone  bool         `json:"gone,omitempty"` // the program no longer exists

	// Answer is what came of running it; nil means that it was not run.
	Answer   *Answer  `json:"-"`
	Line     string   `json:"-"` // the command of a hook as it stands in the file; "" for a server
	Environ  []string `json:"-"` // the variables, as NAME=VALUE, that a client sets for a server
	TokenEnv string   `json:"-"` // the environment variable with the token of a server; "" means none

	at edit.Path // of a handler: "hooks", the event, then its place
}

// A Status says what is set up for a client.
type Status struct {
	Client        client.Client
	Installed     bool
	Registrations []Registration // one for each server and each file with hooks
	Problems      []FileProblem
	Lost          []Lost // entries that setup has written, and that are no longer there
	Off           *Off   // why the client runs no hook; nil if nothing says so
}

// A FileProblem is a file of a client that cannot be read.
type FileProblem struct {
	File    string `json:"file"`
	Message string `json:"message"`
}

// servers returns the entries of a file that run our MCP server.
func (e *Env) servers(tree any, form client.MCP) []Registration {
	m, _ := edit.Lookup(tree, edit.To(form.Key...)).(map[string]any)
	var found []Registration
	for _, name := range slices.Sorted(maps.Keys(m)) {
		if words := e.mcpWords(m[name]); words != nil {
			found = append(found, Registration{Kind: MCP, Name: name, Words: words, Environ: environOf(m[name])})
		} else if at := e.ourURL(m[name]); at != "" {
			found = append(found, Registration{Kind: MCP, Name: name, Words: []string{at}, URL: at, TokenEnv: tokenEnvOf(m[name])})
		}
	}
	return found
}

// handlers returns the handlers of a file that run our hook, in the order of
// their places.
func (e *Env) handlers(tree any, form *client.Hook) []Registration {
	events, _ := edit.Lookup(tree, edit.Path{"hooks"}).(map[string]any)
	var found []Registration
	add := func(handler any, at edit.Path) {
		for _, key := range form.Lines {
			line, _ := edit.Lookup(handler, edit.Path{key}).(string)
			if words := e.hookWords(line, form.Args()...); words != nil {
				found = append(found, Registration{Kind: Hook, Words: words, at: at, Line: line})
				return
			}
		}
	}
	for _, event := range slices.Sorted(maps.Keys(events)) {
		list, _ := events[event].([]any)
		for i, element := range list {
			at := edit.Path{"hooks", event, i}
			if !form.Groups {
				add(element, at)
				continue
			}
			group, _ := edit.Lookup(element, edit.Path{"hooks"}).([]any)
			for j, handler := range group {
				add(handler, at.With("hooks", j))
			}
		}
	}
	return found
}

// settings are files of a client where entries of ours can be.
type settings struct {
	files  client.Places
	format edit.Format
	find   func(tree any) []Registration // our entries in a file: each server, one handler
}

// settingsOf returns the settings of a client.
func (e *Env) settingsOf(c client.Client) []settings {
	all := []settings{{c.MCP.Files, formatOf(c.MCP.Format), func(tree any) []Registration { return e.servers(tree, c.MCP) }}}
	if c.Hook != nil {
		find := func(tree any) []Registration {
			ours := e.handlers(tree, c.Hook)
			if i := slices.IndexFunc(ours, func(r Registration) bool { return r.Asks(c.Hook) }); i > 0 {
				ours = ours[i:]
			}
			return ours[:min(len(ours), 1)]
		}
		all = append(all, settings{c.Hook.Files, hookFormatOf(c), find}, settings{c.Hook.Also, hookFormatOf(c), find})
	}
	return all
}

// anyOurs reports whether a file still holds an entry of ours.
func (e *Env) anyOurs(ed *Edit, rec *record) bool {
	if r := rec.Files[ed.File]; r != nil && len(r.Overrides)+len(r.Off) > 0 {
		return true
	}
	for _, c := range ed.clients {
		for _, set := range e.settingsOf(c) {
			for _, s := range scopes {
				if file := e.File(set.files, s); file != "" && regular.Real(file) == ed.File && len(set.find(ed.tree)) > 0 {
					return true
				}
			}
		}
	}
	return false
}

// Scan returns the status of all clients.
func Scan(env *Env) []Status { return ScanOf(env, client.All()) }

// ScanOf returns the status of some clients.
func ScanOf(env *Env, clients []client.Client) []Status {
	all := scan(env, clients, readTree)
	rec, _ := readRecord(env.State) // a damaged one is reported by whoever writes
	for i := range all {
		st := &all[i]
		st.Off = env.hooksOff(st.Client.Hook)
		if rec != nil && st.Installed {
			st.Lost = env.lost(st, rec)
		}
	}
	return all
}

// scan reads each file once: some files are large, and some hold both MCP servers and
// hooks.
func scan(env *Env, clients []client.Client, read func(file string, f edit.Format) (any, error)) []Status {
	trees, bad := make(map[string]any), make(map[string]error)
	var all []Status
	for _, c := range clients {
		st := Status{Client: c, Installed: env.Installed(c)}
		for _, scope := range scopes {
			for _, set := range env.settingsOf(c) {
				file := env.File(set.files, scope)
				if _, seen := trees[file]; !seen && file != "" {
					trees[file] = nil
					if bad[file] = env.checkLinks(file, scope, c.Name); bad[file] == nil {
						trees[file], bad[file] = read(file, set.format)
					}
				}
				st.add(file, scope, set.find(trees[file]), bad[file])
			}
		}
		all = append(all, st)
	}
	return all
}

// add adds our entries in a file, or that it cannot be read.
func (st *Status) add(file string, scope client.Scope, ours []Registration, err error) {
	if err != nil && !slices.ContainsFunc(st.Problems, func(o FileProblem) bool { return o.File == file }) {
		st.Problems = append(st.Problems, FileProblem{file, placed(err, file, "").Error()})
	}
	for _, r := range ours {
		r.Scope, r.File = scope, file
		r.Gone = isGone(r.Words[0])
		st.Registrations = append(st.Registrations, r)
	}
}

// isGone reports whether the program of a command no longer exists. One without a path may
// be anywhere.
func isGone(program string) bool {
	_, err := os.Stat(program)
	return err != nil && filepath.IsAbs(program)
}

// server returns the MCP server that the command of a hook refers to; "" means none.
func (r Registration) server() string { return r.flag("--mcp-server") }

// flag returns the value of a flag of a hook.
func (r Registration) flag(name string) string {
	if i := slices.Index(r.Words, name); r.Kind == Hook && i >= 0 && i+1 < len(r.Words) {
		return r.Words[i+1]
	}
	return ""
}

// Host returns the host of the server that the entry asks; "" means that it asks the catalog of
// this machine.
func (r Registration) Host() string {
	u, err := url.Parse(cmp.Or(r.URL, r.flag("--url")))
	if err != nil {
		return ""
	}
	return u.Host
}

// A double is something that a client gets twice.
type double struct {
	Client  string
	With    string // another client, whose entry it reads too; "" for its own
	File    string
	Message string
}

// doublesOf finds what is set up twice.
func doublesOf(all []Status) []double {
	var found []double
	hooks := make(map[string][]Registration)
	for _, st := range all {
		var servers []Registration
		for _, r := range st.Registrations {
			if r.Kind == Hook {
				hooks[st.Client.Name] = append(hooks[st.Client.Name], r)
			} else {
				servers = append(servers, r)
			}
		}
		found = append(found, twoServers(st.Client, servers)...)
		if h := hooks[st.Client.Name]; len(h) > 1 {
			found = append(found, double{st.Client.Name, "", h[1].File, fmt.Sprintf("%s runs the hook twice for a prompt, from %s and from %s: remove one of them",
				st.Client.Title, h[0].File, h[1].File)})
		}
	}
	for _, st := range all {
		own := hooks[st.Client.Name]
		if len(own) == 0 || st.Client.Hook.RunsHooksOf == "" {
			continue
		}
		other, _ := client.Find(st.Client.Hook.RunsHooksOf)
		if h := hooks[other.Name]; len(h) > 0 {
			found = append(found, double{st.Client.Name, other.Name, own[0].File, fmt.Sprintf("%s may be set to read the hooks of %s, too, in %s: then run \"skills setup %s --hook --remove%s\"",
				st.Client.Title, other.Title, h[0].File, st.Client.Name, scopeFlag(own[0].Scope))})
		}
	}
	return found
}

func scopeFlag(s client.Scope) string {
	if s == client.Project {
		return " --scope project"
	}
	return ""
}

// twoServers reports servers that do the same. Two servers with one name in different
// scopes are fine: the client uses one of them.
func twoServers(c client.Client, servers []Registration) []double {
	for i, a := range servers {
		for _, b := range servers[i+1:] {
			if a.Name != b.Name && sameServer(a.Words, b.Words) {
				return []double{{c.Name, "", b.File, fmt.Sprintf("%s starts the server twice, as %q (%s) and as %q (%s): remove one of them",
					c.Title, a.Name, a.File, b.Name, b.File)}}
			}
		}
	}
	return nil
}

// trust is what is known of the user's approval of a hook.
type trust int

// The states of trust.
const (
	given   trust = iota // perhaps for an older command; or none is needed
	pending              // the client has never asked
	disabled
)

// trustOf returns whether the user has approved a hook. It applies to clients that ask
// the user, and store the answer under the place of the handler.
func trustOf(env *Env, st Status, r Registration) trust {
	if r.Kind != Hook || st.Client.Hook.Approvals == nil || len(r.at) < 5 {
		return given
	}
	tree, err := readTree(st.Client.Hook.Approvals(&env.Machine), edit.TOML)
	if err != nil {
		return pending
	}
	states, _ := edit.Lookup(tree, edit.Path{"hooks", "state"}).(map[string]any)
	for key, state := range states {
		file, place, ok := strings.Cut(key, ":user_prompt_submit:")
		if !ok || place != fmt.Sprintf("%d:%d", r.at[2], r.at[4]) || regular.Real(file) != regular.Real(r.File) {
			continue
		}
		if on, ok := edit.Lookup(state, edit.Path{"enabled"}).(bool); ok && !on {
			return disabled
		}
		if hash, _ := edit.Lookup(state, edit.Path{"trusted_hash"}).(string); hash != "" {
			return given
		}
	}
	return pending
}
