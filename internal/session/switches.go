package session

import (
	"fmt"
	"strings"

	"github.com/repertoire-skills/repertoire/internal/api"
	"github.com/repertoire-skills/repertoire/internal/words"
	"github.com/repertoire-skills/repertoire/search"
	"github.com/repertoire-skills/repertoire/skill"
)

// The bounds of what a hook tells a server of switches.
const (
	maxSwitches = 500
	maxPattern  = 300 // bytes
)

// Switches returns what a hook tells a server of the switches in a client's settings. It leaves out
// each switch that turns on what no earlier one has turned off.
func Switches(list []search.Switch) (told []api.Switch, err error) {
	for _, s := range list {
		if s.Use == search.Offered && !anyAbout(told, s.Names) {
			continue
		}
		told = append(told, api.Switch{Names: s.Names, Digest: s.Digest, Full: s.Full, Use: string(s.Use)})
	}
	_, err = SwitchesOf(told)
	return told, err
}

// anyAbout reports whether one of the switches may be about skills that a pattern matches; "" may match any.
func anyAbout(list []api.Switch, pattern string) bool {
	for _, s := range list {
		if s.Names == "" || pattern == "" || words.SameName(s.Names, pattern) || strings.ContainsAny(s.Names+pattern, `*?[`) {
			return true
		}
	}
	return false
}

// SwitchesOf returns the switches that a hook has told.
func SwitchesOf(told []api.Switch) (list []search.Switch, err error) {
	if len(told) > maxSwitches {
		return nil, fmt.Errorf("%d skills are switched off in the client; a server takes %d", len(told), maxSwitches)
	}
	for _, s := range told {
		use := search.State(s.Use)
		if use != search.Offered && use != search.Reserved {
			use = search.Disabled
		}
		if len(s.Names)+len(s.Digest) > maxPattern {
			return nil, fmt.Errorf("a switch of the client names a skill with %d bytes; a server takes %d", len(s.Names)+len(s.Digest), maxPattern)
		}
		list = append(list, search.Switch{Names: s.Names, Digest: s.Digest, Full: s.Full, Use: use})
	}
	return list, nil
}

// Heeded returns an error if a server that knows no switches has offered a skill in spite of one.
func Heeded(answer *api.Suggestion, list []search.Switch) error {
	if answer.Heeds {
		return nil
	}
	for _, o := range answer.Skills {
		m := &skill.Meta{Name: o.Name, Source: o.Source, Location: o.Location}
		use := search.Offered
		for _, s := range list {
			if s.Is(m) {
				use = s.Use
			}
		}
		if use != search.Offered {
			return fmt.Errorf("the server offers %s, which is switched off in the client; a newer version of the server knows that", o.Name)
		}
	}
	return nil
}
