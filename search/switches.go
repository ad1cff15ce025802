package search

import (
	"slices"
	"strings"

	"github.com/repertoire-skills/repertoire/internal/words"
	"github.com/repertoire-skills/repertoire/skill"
	"github.com/repertoire-skills/repertoire/snapshot"
)

// A Switch is what a person has set for some skills in the settings of a client. It holds for what
// is asked for that client, see Agent.Client.
type Switch struct {
	Client string // its name
	Title  string // what people call it
	File   string // that says so
	Names  string // pattern, see Rules; "" means At
	// At reports whether it is about the skill whose SKILL.md is there.
	At   func(location string) bool
	Full bool  // the client calls a skill of a plugin "plugin:name"
	Use  State // Offered, Reserved or Disabled
}

// switches are all switches, with the skills of a set that each is about. Of a client's switches, the
// last that is about a skill decides.
type switches struct {
	list  []Switch
	about []snapshot.Skills
}

// apply finds the skills that switches are about.
func (s *switches) apply(v *snapshot.View, list []Switch) {
	s.list = list
	for i := range list {
		s.about = append(s.about, list[i].about(v))
	}
}

// about returns the skills that the switch is about.
func (s *Switch) about(v *snapshot.View) snapshot.Skills {
	if s.At != nil {
		return filter(v, v.Scope.In, func(d *snapshot.Document) bool { return s.At(d.Location) })
	}
	g, err := parseGlob(s.Names)
	if err != nil {
		return nil
	}
	found := v.Names().Matching(g.prefix(), g.match)
	if !s.Full {
		return found
	}
	for _, src := range v.Set.Sources {
		plugin, ok := strings.CutPrefix(src.Label, skill.PluginLabel(""))
		if !ok {
			continue
		}
		plugin, _, _ = strings.Cut(plugin, "@")
		own := v.Source(src.Label)
		found = found.AndNot(own)
		if strings.ContainsAny(s.Names, ":*?[") {
			found = found.Or(filter(v, own, func(d *snapshot.Document) bool { return g.match(words.NameKey(plugin + ":" + d.Name)) }))
		}
	}
	return found
}

// of returns the skills that nobody may use in a client, and those that only the user starts there.
func (h *held) of(client string) (off, reserved snapshot.Skills) {
	if h == nil || client == "" {
		return nil, nil
	}
	for i, s := range h.switches.list {
		if s.Client != client {
			continue
		}
		about := h.switches.about[i]
		off, reserved = off.AndNot(about), reserved.AndNot(about)
		switch s.Use {
		case Disabled:
			off = off.Or(about)
		case Reserved:
			reserved = reserved.Or(about)
		}
	}
	return off, reserved
}

// switched returns the switches that keep a skill from models, the deciding one of each client.
func (h *held) switched(i int) (list []*Switch) {
	if h == nil {
		return nil
	}
	for n := range slices.Backward(h.switches.list) {
		s := &h.switches.list[n]
		decided := slices.ContainsFunc(list, func(o *Switch) bool { return o.Client == s.Client })
		if h.switches.about[n].Has(i) && !decided {
			list = append(list, s)
		}
	}
	list = slices.DeleteFunc(list, func(s *Switch) bool { return s.Use == Offered })
	slices.Reverse(list)
	return list
}

// String says what the switch does, for people.
func (s *Switch) String() string {
	if s.Use == Reserved {
		return "only the user starts it in " + s.Title + " (" + s.File + ")"
	}
	return "switched off in " + s.Title + " (" + s.File + ")"
}

// setSwitches notes for people in which clients a skill is switched off.
func (h *held) setSwitches(e *Entry, i int) {
	for _, s := range h.switched(i) {
		e.Switched = append(e.Switched, s.String())
	}
}

// For returns the agent as a client asks for it: without the skills that a person has switched off
// in the client.
func (a *Agent) For(client string) *Agent {
	if client == "" {
		return a
	}
	var asked Agent
	if a != nil {
		asked = *a
	}
	asked.Client = client
	return &asked
}
