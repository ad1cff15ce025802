package setup

import (
	"maps"
	"slices"

	"github.com/repertoire-skills/repertoire/embed/openai"
	"github.com/repertoire-skills/repertoire/internal/client"
	"github.com/repertoire-skills/repertoire/internal/edit"
)

// Embedder is the kind of a change of the embedder.
const Embedder = "embedder"

// serverMembers returns the settings of an embedding server in the order in which they are
// written. What is empty is left out.
func serverMembers(s openai.Config) edit.Object {
	all := edit.Object{{Key: "base_url", Value: s.BaseURL}, {Key: "model", Value: s.Model}, {Key: "key_env", Value: s.KeyEnv}}
	if s.QueryPrefix != nil {
		all = append(all, edit.Member{Key: "query_prefix", Value: *s.QueryPrefix})
	}
	if s.DocumentPrefix != nil {
		all = append(all, edit.Member{Key: "document_prefix", Value: *s.DocumentPrefix})
	}
	return slices.DeleteFunc(all, func(m edit.Member) bool { return m.Value == "" })
}

// NewEmbedderPlan plans that the configuration file of this program names an embedding
// server. With given, somebody named the file, and links in a project are not followed.
// The snippet of the change is what the file will say.
func NewEmbedderPlan(env *Env, file string, given bool, s openai.Config) (*Plan, error) {
	p, err := newPlanner(env, Request{})
	if err != nil {
		return nil, err
	}
	at := edit.To("embedder")
	members := serverMembers(s)
	whole := edit.Object{{Key: "openai", Value: members}}
	ch := Change{Kind: Embedder, Scope: client.User, File: file, Action: Added}
	if given {
		ch.Client = client.Generic
	}
	ed, err := p.open(file, ch.Scope, ch.Client, edit.YAML)
	if err == nil {
		if edit.Lookup(ed.tree, at) != nil {
			ch.Action = Updated
		}
		ed.save()
		if err = ed.setMembers(at.With("openai"), members, p.record); err != nil {
			ed.rollback()
			err = ed.set(at, whole)
		}
	}
	ch = settled(ch, ch.Action, err)
	ch.Snippet = snippet(edit.YAML, at, whole)
	p.add(ch)
	if ed != nil && string(ed.Before) != string(ed.After) {
		p.plan.Edits = []*Edit{ed}
	}
	return p.plan, nil
}

// setMembers makes a mapping hold these members and no others, one by one, so that comments
// in it stay.
func (ed *Edit) setMembers(at edit.Path, o edit.Object, rec *record) error {
	before, ok := edit.Lookup(ed.tree, at).(map[string]any)
	if !ok {
		return edit.WrongKind(at, 0, 0, edit.Lookup(ed.tree, at), "a mapping")
	}
	for _, m := range slices.Backward(o) { // a new member becomes the first
		if before[m.Key] == m.Value {
			continue
		}
		if err := ed.set(at.With(m.Key), m.Value); err != nil {
			return err
		}
	}
	for _, name := range slices.Sorted(maps.Keys(before)) {
		if !slices.ContainsFunc(o, func(m edit.Member) bool { return m.Key == name }) {
			if err := ed.remove(at.With(name), rec); err != nil {
				return err
			}
		}
	}
	return nil
}
