package mcpserver_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/repertoire-skills/repertoire/mcpserver"
)

// TestListen: others can reach a server only if it has a token to ask for.
func TestListen(t *testing.T) {
	for _, c := range []struct {
		addr  string
		token bool
		want  string // the start of the address, or of the error
	}{
		{"0", false, "127.0.0.1:"},
		{":0", false, "127.0.0.1:"},
		{"127.0.0.1:0", false, "127.0.0.1:"},
		{"127.0.0.3:0", false, "127.0.0.3:"},
		{"localhost:0", false, "127.0.0.1:"},
		{"0.0.0.0:0", false, "0.0.0.0:0 can be reached from other machines"},
		{"[::]:0", false, "[::]:0 can be reached from other machines"},
		{"192.0.2.1:0", false, "192.0.2.1:0 can be reached from other machines"},
		{"skills.example:0", false, "skills.example:0 can be reached from other machines"},
		{"0.0.0.0:0", true, ""},
		{"0", true, "127.0.0.1:"},
		{"1:2:3", false, `address "1:2:3": `},
		{"127.0.0.1:port", false, "listen tcp"},
	} {
		l, err := mcpserver.Listen(t.Context(), c.addr, c.token)
		got := fmt.Sprint(err)
		if err == nil {
			got = l.Addr().String()
			l.Close()
		}
		if !strings.HasPrefix(got, c.want) || c.want == "" && err != nil {
			t.Errorf("%q, token %t: %s, want %s…", c.addr, c.token, got, c.want)
		}
	}
}
