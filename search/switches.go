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
	Names  string // pattern, see Rules; "" means At or Digest
	// At reports whether it is about the skill whose SKILL.md is there; nil means Digest.
	At     func(location string) bool
	Digest string // of the files of the skills that it is about
	Full   bool   // the client calls a skill of a plugin "plugin:name"
	Use    State  // Offered, Reserved or Disabled
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
	if s.Names == "" {
		return filter(v, s.candidates(v), func(d *snapshot.Document) bool { return s.Is(&d.Meta) })
	}
	g, err := parseGlob(s.Names)
	if err != nil {
		return nil
	}
	found := g.skills(v)
	if !s.Full {
		return found
	}
	for _, src := range v.Set.Sources {
		if !strings.HasPrefix(src.Label, skill.PluginLabel("")) {
			continue
		}
		own := v.Source(src.Label)
		found = found.AndNot(own)
		if strings.ContainsAny(s.Names, ":*?[") {
			found = found.Or(filter(v, own, func(d *snapshot.Document) bool { return g.matchName(s.nameOf(&d.Meta)) }))
		}
	}
	return found
}

// candidates returns the skills that a switch without a pattern may be about. A hook may send hundreds that
// have digests, for each of which it would be too slow to read all skills.
func (s *Switch) candidates(v *snapshot.View) (found snapshot.Skills) {
	if s.At != nil {
		return v.Scope.In
	}
	hash := words.Hash(s.Digest)
	for i := range v.Scope.In.All() {
		if v.Facts(i).Digest == hash {
			found.Add(i)
		}
	}
	return found
}

// Is reports whether the switch is about a skill.
func (s *Switch) Is(m *skill.Meta) bool {
	switch {
	case s.Names == "" && s.At != nil:
		return s.At(m.Location)
	case s.Names == "":
		return s.Digest != "" && s.Digest == m.Digest
	}
	return Rules{Names: []string{s.Names}}.MatchName(s.nameOf(m))
}

// nameOf returns the name of a skill in the client.
func (s *Switch) nameOf(m *skill.Meta) string {
	if plugin, ok := strings.CutPrefix(m.Source, skill.PluginLabel("")); ok && s.Full {
		plugin, _, _ = strings.Cut(plugin, "@")
		return plugin + ":" + m.Name
	}
	return m.Name
}

// of returns the skills that nobody may use in a client, and those that only the user starts there.
func (h *held) of(client string) (off, reserved snapshot.Skills) {
	if h == nil || client == "" {
		return nil, nil
	}
	return h.switches.decide(func(s *Switch) bool { return s.Client == client })
}

// decide returns the skills that nobody may use, and those that only the user starts, by the switches
// that count.
func (s *switches) decide(counts func(*Switch) bool) (off, reserved snapshot.Skills) {
	for i := range s.list {
		last, about := &s.list[i], s.about[i]
		if !counts(last) {
			continue
		}
		off, reserved = off.AndNot(about), reserved.AndNot(about)
		switch last.Use {
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
// in the client, here or on the client's machine, see Agent.
func (a *Agent) For(client string, elsewhere ...Switch) *Agent {
	if client == "" && len(elsewhere) == 0 {
		return a
	}
	var asked Agent
	if a != nil {
		asked = *a
	}
	asked.Client, asked.Switches = client, elsewhere
	return &asked
}
