package setup

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"

	"github.com/repertoire-skills/repertoire/internal/client"
)

// A Registration is an entry of ours in a file of a client.
type Registration struct {
	Kind  string   `json:"kind"` // MCP or Hook
	Scope Scope    `json:"scope"`
	File  string   `json:"file"`
	Name  string   `json:"name,omitempty"` // of the MCP server
	Words []string `json:"command"`
	Gone  bool     `json:"gone,omitempty"` // the program no longer exists

	at path
}

// A Status says what is set up for a client.
type Status struct {
	Client        client.Client
	Installed     bool
	Registrations []Registration // one for each server and each file with hooks
	Problems      []FileProblem
}

// A FileProblem is a file of a client that cannot be read.
type FileProblem struct {
	File string
	Err  error
}

// servers returns the entries of a file that run our MCP server.
func (e *Env) servers(tree any, form *client.MCP) []Registration {
	m, _ := lookup(tree, pathTo(form.Key...)).(map[string]any)
	var found []Registration
	for _, name := range slices.Sorted(maps.Keys(m)) {
		if words := e.mcpWords(m[name]); words != nil {
			found = append(found, Registration{Kind: MCP, Name: name, Words: words, at: pathTo(form.Key...).with(name)})
		}
	}
	return found
}

// A handlerAt is a handler of ours in a file.
type handlerAt struct {
	at    path
	event string
	words []string
}

// handlers returns the handlers of a file that run our hook, in the order of
// their places.
func (e *Env) handlers(tree any, form *client.Hook) []handlerAt {
	events, _ := lookup(tree, pathTo("hooks")).(map[string]any)
	var found []handlerAt
	add := func(handler any, at path, event string) {
		for _, key := range form.Lines {
			line, _ := lookup(handler, path{key}).(string)
			if words := e.hookWords(line, form.Args()...); words != nil {
				found = append(found, handlerAt{at, event, words})
				return
			}
		}
	}
	for _, event := range slices.Sorted(maps.Keys(events)) {
		list, _ := events[event].([]any)
		for i, element := range list {
			at := pathTo("hooks", event).with(i)
			if !form.Groups {
				add(element, at, event)
				continue
			}
			group, _ := lookup(element, path{"hooks"}).([]any)
			for j, handler := range group {
				add(handler, at.with("hooks", j), event)
			}
		}
	}
	return found
}

// settings are files of a client where entries of ours can be.
type settings struct {
	files  client.Places
	format format
	find   func(tree any) []Registration // our entries in a file: each server, the first handler
}

// settingsOf returns the settings of a client.
func (e *Env) settingsOf(c client.Client) []settings {
	var all []settings
	if c.MCP != nil {
		all = append(all, settings{c.MCP.Files, formatOf(c.MCP), func(tree any) []Registration { return e.servers(tree, c.MCP) }})
	}
	if c.Hook != nil {
		find := func(tree any) []Registration {
			if h := e.handlers(tree, c.Hook); len(h) > 0 {
				return []Registration{{Kind: Hook, Words: h[0].words, at: h[0].at}}
			}
			return nil
		}
		all = append(all, settings{c.Hook.Files, jsonFormat{}, find}, settings{c.Hook.Also, jsonFormat{}, find})
	}
	return all
}

// anyOurs reports whether a file still holds an entry of ours.
func (e *Env) anyOurs(ed *Edit, rec *record) bool {
	if r := rec.Files[ed.File]; r != nil && len(r.Overrides) > 0 {
		return true
	}
	for _, c := range ed.clients {
		for _, set := range e.settingsOf(c) {
			for _, s := range []Scope{User, Project} {
				if e.isFile(set.files, s, ed.File) && len(set.find(ed.tree)) > 0 {
					return true
				}
			}
		}
	}
	return false
}

func (e *Env) isFile(p client.Places, s Scope, real string) bool {
	file := e.File(p, s)
	return file != "" && realPath(file) == real
}

// Scan returns the status of all clients.
func Scan(env *Env) []Status { return scan(env, readConfig) }

func scan(env *Env, read func(string) ([]byte, error)) []Status {
	s := scanner{env: env, read: read, trees: make(map[string]any), bad: make(map[string]error)}
	var all []Status
	for _, c := range client.All() {
		all = append(all, s.client(c))
	}
	return all
}

// scanner reads each file once: some files are large, and some hold both MCP servers and
// hooks.
type scanner struct {
	env   *Env
	read  func(string) ([]byte, error)
	trees map[string]any
	bad   map[string]error
}

func (s *scanner) client(c client.Client) Status {
	st := Status{Client: c, Installed: s.env.Installed(c)}
	for _, scope := range []Scope{User, Project} {
		for _, set := range s.env.settingsOf(c) {
			s.file(&st, set, scope)
		}
	}
	return st
}

func (s *scanner) located(r Registration, scope Scope, file string) Registration {
	r.Scope, r.File = scope, file
	if filepath.IsAbs(r.Words[0]) {
		_, err := os.Stat(r.Words[0])
		r.Gone = err != nil
	}
	return r
}

// file reads a file of a client, if there is one, and adds our entries in it.
func (s *scanner) file(st *Status, set settings, scope Scope) {
	file := s.env.File(set.files, scope)
	if file == "" {
		return
	}
	tree, seen := s.trees[file]
	if !seen {
		data, err := s.read(file)
		if err == nil && len(data) > 0 {
			tree, err = set.format.decode(data)
		}
		s.trees[file], s.bad[file] = tree, err
	}
	if err := s.bad[file]; err != nil {
		if !slices.ContainsFunc(st.Problems, func(o FileProblem) bool { return o.File == file }) {
			st.Problems = append(st.Problems, FileProblem{file, placed(err, file, "")})
		}
		return
	}
	for _, r := range set.find(tree) {
		st.Registrations = append(st.Registrations, s.located(r, scope, file))
	}
}

// Server returns the MCP server that the command of a hook refers to; "" means none.
func (r Registration) Server() string {
	if i := slices.Index(r.Words, "--mcp-server"); r.Kind == Hook && i >= 0 && i+1 < len(r.Words) {
		return r.Words[i+1]
	}
	return ""
}

// A Double is something that a client gets twice.
type Double struct {
	Client  string
	With    string // another client, whose entry it reads too; "" for its own
	File    string
	Message string
}

// Doubles finds what is set up twice.
func Doubles(all []Status) []Double {
	var found []Double
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
			found = append(found, Double{st.Client.Name, "", h[1].File, fmt.Sprintf("%s runs the hook twice for a prompt, from %s and from %s: remove one of them",
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
			found = append(found, Double{st.Client.Name, other.Name, own[0].File, fmt.Sprintf("%s may be set to read the hooks of %s, too, in %s: then run \"skills setup %s --hook --remove%s\"",
				st.Client.Title, other.Title, h[0].File, st.Client.Name, scopeFlag(own[0].Scope))})
		}
	}
	return found
}

func scopeFlag(s Scope) string {
	if s == Project {
		return " --scope project"
	}
	return ""
}

// twoServers reports servers that do the same. Two servers with one name in different
// scopes are fine: the client uses one of them.
func twoServers(c client.Client, servers []Registration) []Double {
	for i, a := range servers {
		for _, b := range servers[i+1:] {
			if a.Name != b.Name && reflect.DeepEqual(a.Words[1:], b.Words[1:]) {
				return []Double{{c.Name, "", b.File, fmt.Sprintf("%s starts the server twice, as %q (%s) and as %q (%s): remove one of them",
					c.Title, a.Name, a.File, b.Name, b.File)}}
			}
		}
	}
	return nil
}

// Trust is what is known of the user's approval of a hook.
type Trust int

// The states of trust.
const (
	NotNeeded Trust = iota
	Pending         // the client has never asked
	Given           // perhaps for an older command
	Disabled
)

// TrustOf returns whether the user has approved a hook. It applies to clients that ask
// the user, and store the answer under the place of the handler.
func TrustOf(env *Env, st Status, r Registration) Trust {
	if r.Kind != Hook || st.Client.Hook.Approvals == nil || len(r.at) < 5 {
		return NotNeeded
	}
	tree, err := readTree(st.Client.Hook.Approvals(&env.Machine), tomlFormat{})
	if err != nil {
		return Pending
	}
	states, _ := lookup(tree, pathTo("hooks", "state")).(map[string]any)
	for key, state := range states {
		file, place, ok := strings.Cut(key, ":user_prompt_submit:")
		if !ok || place != fmt.Sprintf("%d:%d", r.at[2], r.at[4]) || realPath(file) != realPath(r.File) {
			continue
		}
		if on, ok := lookup(state, path{"enabled"}).(bool); ok && !on {
			return Disabled
		}
		if hash, _ := lookup(state, path{"trusted_hash"}).(string); hash != "" {
			return Given
		}
	}
	return Pending
}
