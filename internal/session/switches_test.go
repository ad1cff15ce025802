package session_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/repertoire-skills/repertoire/internal/api"
	"github.com/repertoire-skills/repertoire/internal/session"
	"github.com/repertoire-skills/repertoire/search"
)

// TestSwitches: a server is told what is off, in a fixed order and up to its bound. A switch that it does not
// understand counts as off.
func TestSwitches(t *testing.T) {
	on := func(name string) search.Switch { return search.Switch{Names: name} }
	off := func(name string) search.Switch { return search.Switch{Names: name, Use: search.Disabled} }
	for _, tt := range []struct {
		list []search.Switch
		want string
	}{
		{[]search.Switch{on("a"), on("b")}, ""},
		{[]search.Switch{on("b"), off("a"), on("b"), off("c")}, "a off, c off"},
		{[]search.Switch{off("*"), on("a")}, "* off, a on"},
		{[]search.Switch{off("a"), on("a")}, "a off, a on"},
		{[]search.Switch{off("A"), on("a")}, "A off, a on"},
		{[]search.Switch{off("a"), {Digest: "d"}}, "a off, d on"},
		{[]search.Switch{{Digest: "sha256:1", Use: search.Disabled}, {Names: "a", Use: search.Reserved, Full: true}}, "sha256:1 off, a user full"},
	} {
		told, err := session.Switches(tt.list)
		list, other := session.SwitchesOf(told)
		var got []string
		for _, s := range list {
			text := fmt.Sprint(s.Names, s.Digest, " ", map[search.State]string{search.Offered: "on", search.Reserved: "user", search.Disabled: "off"}[s.Use])
			if s.Full {
				text += " full"
			}
			got = append(got, text)
		}
		if strings.Join(got, ", ") != tt.want || err != nil || other != nil {
			t.Errorf("%v: told %q, %v, %v", tt.list, got, err, other)
		}
	}
	if list, err := session.SwitchesOf([]api.Switch{{Names: "a", Use: "new"}}); err != nil || list[0].Use != search.Disabled {
		t.Errorf("an unknown use: %v, %v", list, err)
	}
	var many []search.Switch
	for i := range 501 {
		many = append(many, off(fmt.Sprint("s", i)))
	}
	for _, list := range [][]search.Switch{many, {off(strings.Repeat("x", 301))}} {
		if _, err := session.Switches(list); err == nil {
			t.Errorf("%d switches are told", len(list))
		}
	}
}
