package remote

import (
	"net/http"
	"strings"
	"testing"

	"github.com/repertoire-skills/repertoire/internal/must"
)

// TestRedirectHere: no server elsewhere sends a download to what listens on this machine.
func TestRedirectHere(t *testing.T) {
	request := func(address string) *http.Request {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, address, nil)
		must.Do(t, err)
		return r
	}
	for _, tt := range []struct {
		from, to string
		refused  bool
	}{
		{"https://skills.example/a", "https://files.example/a", false},
		{"https://skills.example/a", "https://127.0.0.1:8443/a", true},
		{"https://skills.example/a", "https://[::1]/a", true},
		{"https://skills.example/a", "https://dev.localhost/a", true},
		{"http://127.0.0.1:1/a", "http://localhost:2/a", false},
	} {
		err := newClient("", 5).CheckRedirect(request(tt.to), []*http.Request{request(tt.from)})
		if refused := err != nil && strings.Contains(err.Error(), "to this machine"); refused != tt.refused {
			t.Errorf("from %s to %s: %v", tt.from, tt.to, err)
		}
	}
}
