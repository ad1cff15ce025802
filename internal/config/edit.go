package config

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/repertoire-skills/repertoire/internal/atomicfile"
	"github.com/repertoire-skills/repertoire/internal/edit"
	"github.com/repertoire-skills/repertoire/internal/regular"
	"github.com/repertoire-skills/repertoire/internal/words"
	"github.com/repertoire-skills/repertoire/search"
)

// An Editor changes the configuration file of a user as text: comments, order, quotes and
// empty lines of everything else stay. Nothing is written before Save.
type Editor struct {
	File string // as it was asked for

	real   string // links resolved
	before []byte // nil means that there is no file
	data   []byte
}

// Edit returns an editor of a configuration file; "" means the one that File returns. The
// file may be missing, but must have no mistake.
func Edit(name string) (*Editor, error) {
	if name == "" {
		var err error
		if name, err = File(); err != nil {
			return nil, err
		}
	}
	name, err := filepath.Abs(name)
	if err != nil {
		return nil, err
	}
	e := &Editor{File: name, real: name}
	e.before, err = readFile(name, maxFile)
	switch {
	case err == nil:
		e.real = regular.Real(name)
	case !errors.Is(err, fs.ErrNotExist):
		return nil, err
	}
	e.data = e.before
	_, err = e.settings()
	return e, err
}

// settings returns what the file says as it is now.
func (e *Editor) settings() (Settings, error) {
	s := Default()
	err := s.parse(e.File, e.data, nil)
	return s, err
}

// ErrChanged says that the file was written since it was read.
var ErrChanged = errors.New("somebody else has just changed it; try again")

// Save writes what was changed. If somebody else has written the file meanwhile, the error is ErrChanged.
func (e *Editor) Save() error {
	if bytes.Equal(e.before, e.data) {
		return nil
	}
	if err := os.MkdirAll(filepath.Dir(e.real), 0o700); err != nil {
		return fileError(e.File, err)
	}
	unchanged := func() error {
		now, err := readFile(e.real, maxFile)
		if errors.Is(err, fs.ErrNotExist) {
			err = nil
		}
		if err == nil && !bytes.Equal(now, e.before) {
			err = ErrChanged
		}
		return err
	}
	if err := atomicfile.Replace(e.real, e.data, 0o600, unchanged); err != nil {
		return fileError(e.File, err)
	}
	e.before = e.data
	return nil
}

// A Rule is one entry of rules for skills.
type Rule struct {
	Kind string // KindName, KindTag or KindSource
	Text string
}

// The kinds of rules.
const (
	KindName   = "names"
	KindTag    = "tags"
	KindSource = "sources"
)

// covers reports whether a rule of the file matches all that r does.
func (r Rule) covers(text string) bool {
	return r.equal(text) || r.Kind == KindName && search.Rules{Names: []string{text}}.MatchName(r.Text)
}

func (r Rule) equal(text string) bool { return words.SameName(text, r.Text) }

// A Scope says for whom a skill is disabled. The zero Scope is everybody.
type Scope struct {
	Agent   string // only this agent
	Project string // only in the project with this root
}

// Disable disables what a rule matches. It returns the place of the rule that does so
// already; else the place is zero.
func (e *Editor) Disable(r Rule, in Scope) (search.Place, error) {
	path, place, err := e.find(r, in, r.covers)
	if err != nil || place.Line > 0 {
		return place, err
	}
	return place, e.add(path, r.Text)
}

// Enable removes a rule that disables. done is false if the file has none.
func (e *Editor) Enable(r Rule, in Scope) (done bool, err error) {
	for {
		path, place, err := e.find(r, in, r.equal)
		if err != nil {
			return done, err
		}
		if place.Line == 0 {
			break
		}
		if err := e.remove(path, r.equal); err != nil {
			return done, err
		}
		done = true
	}
	_, place, err := e.find(r, in, r.covers)
	if err == nil && place.Line > 0 {
		err = &Error{place.File, place.Line, fmt.Errorf("%s is disabled by a pattern that matches other names too; change that line by hand", r.Text)}
	}
	if err != nil || done {
		return done, err
	}
	_, rules, err := e.rules(r.Kind, in)
	var texts []string
	for _, rule := range rules {
		texts = append(texts, rule.text)
	}
	if similar := words.Similar(r.Text, texts); len(similar) > 0 && err == nil {
		err = fmt.Errorf("%s is not disabled in %s; %s", r.Text, e.File, words.DidYouMean(similar))
	}
	return false, err
}

// find returns the place of the first rule that a function accepts, and the path of the
// list in which such rules are.
func (e *Editor) find(r Rule, in Scope, accept func(string) bool) (path []string, place search.Place, err error) {
	base, rules, err := e.rules(r.Kind, in)
	if err != nil {
		return nil, place, err
	}
	if i := slices.IndexFunc(rules, func(rule placed) bool { return accept(rule.text) }); i >= 0 {
		place = rules[i].place
	}
	if in.Agent != "" {
		return append(base, r.Kind), place, nil
	}
	path, err = e.disabledPath(base, r.Kind, place.Line > 0)
	return path, place, err
}

// A placed is the text of a rule with its place.
type placed struct {
	text  string
	place search.Place
}

// rules returns the rules of a kind that disable, and the path of what holds them.
func (e *Editor) rules(kind string, in Scope) (base []string, list []placed, err error) {
	s, err := e.settings()
	if err != nil {
		return nil, nil, err
	}
	if in.Agent != "" {
		a, err := e.agent(&s, in.Agent)
		if err != nil {
			return nil, nil, err
		}
		for _, text := range textsOf(a.Exclude, kind) {
			list = append(list, placed{text, a.Places[search.Rule{Key: "exclude." + kind, Text: text}]})
		}
		return []string{"agents", a.Name, "exclude"}, list, nil
	}
	base, bans := []string{"disabled"}, s.Disabled
	if in.Project != "" {
		base, bans = []string{"projects", e.projectKey(&s, in.Project), "disabled"}, nil
		for _, p := range s.Projects {
			if regular.Real(p.Folder) == regular.Real(in.Project) {
				bans = p.Disabled
			}
		}
	}
	for _, ban := range bans {
		for _, text := range textsOf(ban.Rules, kind) {
			list = append(list, placed{text, ban.Place})
		}
	}
	return base, list, nil
}

// textsOf returns the rules of a kind.
func textsOf(r search.Rules, kind string) []string {
	return map[string][]string{KindName: r.Names, KindTag: r.Tags, KindSource: r.Sources}[kind]
}

// disabledPath returns the path of the list of disabled names, tags or sources. A list of
// names becomes a mapping when another kind is added.
func (e *Editor) disabledPath(base []string, kind string, found bool) ([]string, error) {
	n := e.node(base)
	isList := n != nil && n.Kind != yaml.MappingNode
	switch {
	case n == nil && kind == KindName, isList && kind == KindName:
		return base, nil
	case isList && !found:
		data, err := edit.Wrap(e.data, edit.To(base...), KindName)
		if err != nil {
			return nil, e.refused(err, "write its names as "+hand(append(slices.Clone(base), KindName), edit.Number("…"))) // as it is
		}
		e.data = data
	}
	return append(slices.Clone(base), kind), nil
}

// node returns the value at a path of keys; nil means that there is none.
func (e *Editor) node(path []string) *yaml.Node {
	n, _ := edit.YAMLNode(e.data, path...) // nil after an error
	return n
}

// agent returns an agent of the file.
func (e *Editor) agent(s *Settings, name string) (*search.Agent, error) {
	var names []string
	for _, a := range s.Agents {
		if a.Name == name {
			return a, nil
		}
		names = append(names, a.Name)
	}
	return nil, fmt.Errorf("%s has no agent %q%s", e.File, name, words.Suggest(name, names))
}

// projectKey returns the key of a project in the file; a new one starts with ~ in the home.
func (e *Editor) projectKey(s *Settings, root string) string {
	if n := e.node([]string{"projects"}); n != nil {
		for i, p := range s.Projects {
			if regular.Real(p.Folder) == regular.Real(root) && 2*i < len(n.Content) {
				return n.Content[2*i].Value
			}
		}
	}
	return short(root)
}

// short returns a path that starts with ~ if it is in the home.
func short(path string) string {
	home, err := os.UserHomeDir()
	if err != nil || home == "" {
		return path
	}
	for _, home := range []string{home, regular.Real(home)} {
		if rel, ok := regular.Rel(home, path); ok && rel != "." {
			return "~/" + filepath.ToSlash(rel)
		}
	}
	return path
}

// Pin pins a skill for an agent; done is false if it is pinned already.
func (e *Editor) Pin(agent, name string) (done bool, err error) {
	pinned, path, err := e.pinned(agent)
	if err != nil || slices.ContainsFunc(pinned, Rule{KindName, name}.equal) {
		return false, err
	}
	return true, e.add(path, name)
}

// Unpin removes the pin of a skill for an agent; done is false if there is none.
func (e *Editor) Unpin(agent, name string) (done bool, err error) {
	pinned, path, err := e.pinned(agent)
	is := Rule{KindName, name}.equal
	if err != nil || !slices.ContainsFunc(pinned, is) {
		return false, err
	}
	return true, e.remove(path, is)
}

func (e *Editor) pinned(agent string) (names, path []string, err error) {
	s, err := e.settings()
	if err != nil {
		return nil, nil, err
	}
	a, err := e.agent(&s, agent)
	if err != nil {
		return nil, nil, err
	}
	return a.Pinned, []string{"agents", agent, "pinned"}, nil
}

// add adds an item to the list at a path of keys.
func (e *Editor) add(path []string, item any) error {
	at := edit.To(path...)
	data, _, err := edit.Set(edit.YAML, e.data, at.With(len(e.items(path))), item)
	return e.change(data, err, "write by hand: "+hand(path, item))
}

// items returns the items of the list at a path of keys. A single value is a list of one.
func (e *Editor) items(path []string) []*yaml.Node {
	n := e.node(path)
	switch {
	case n == nil:
		return nil
	case n.Kind == yaml.SequenceNode:
		return n.Content
	}
	return []*yaml.Node{n}
}

// remove removes the first item that a function accepts from the list at a path of keys.
func (e *Editor) remove(path []string, accept func(string) bool) error {
	items := e.items(path)
	i := slices.IndexFunc(items, func(item *yaml.Node) bool { return accept(item.Value) })
	if i < 0 {
		return &Error{File: e.File, Err: fmt.Errorf("%s has no such entry", strings.Join(path, "."))}
	}
	return e.removeAt(path, i, items[i].Line)
}

func (e *Editor) removeAt(path []string, index, line int) error {
	data, _, err := edit.Remove(edit.YAML, e.data, edit.To(path...).With(index))
	return e.change(data, err, fmt.Sprintf("remove it from line %d by hand", line))
}

// change takes over new content that is a configuration without a mistake.
func (e *Editor) change(data []byte, err error, hint string) error {
	if err != nil {
		return e.refused(err, hint)
	}
	old := e.data
	e.data = data
	if _, err := e.settings(); err != nil {
		e.data = old
		bad, ok := errors.AsType[*Error](err)
		if !ok {
			return err
		}
		return &Error{File: e.File, Err: fmt.Errorf("left as it is: %w", bad.Err)}
	}
	return nil
}

// refused returns the error for an edit that is not safe.
func (e *Editor) refused(err error, hint string) error {
	line := 0
	if bad, ok := errors.AsType[*edit.Error](err); ok {
		line = bad.Line
	}
	return &Error{e.File, line, fmt.Errorf("%w; %s", err, hint)}
}

// hand returns what a person writes to add an item at a path.
func hand(path []string, item any) string { return edit.YAMLLine(edit.To(path...).With(0), item) }
