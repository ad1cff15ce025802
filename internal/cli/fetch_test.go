package cli

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"os/exec"
	"strings"
	"testing"

	"github.com/repertoire-skills/repertoire/internal/must"
)

// TestIndexBeforeFetch: while index waits for a site, what is on this machine can be asked already, also what is new
// since, and indexed by another process. At the end it names the site, and counts what came.
func TestIndexBeforeFetch(t *testing.T) {
	fixture(t)
	asked, meanwhile := 0, ""
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked++
		must.Write(t, ".agents/skills/heron/SKILL.md", "---\nname: heron\ndescription: Feeds the herons.\n---\nFeed them.\n")
		for _, args := range [][]string{{"index", "--quiet", "--lock", "other.lock"}, {"list", "--quiet"}} {
			out, err := exec.Command("skills", args...).Output()
			if meanwhile += string(out); err != nil {
				t.Errorf("skills %s: %v%s", args[0], err, stderrOf(err))
			}
		}
		w.WriteHeader(http.StatusTeapot)
	}))
	defer server.Close()
	must.Write(t, "config.yaml", fmt.Sprintf("bundled: false\nroots: [{url: %q, label: away}]\n", server.URL+"/down.tar"))
	var stderr strings.Builder
	cmd := exec.Command("skills", "index")
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil || asked != 1 {
		t.Errorf("asked %d times: %v, %s", asked, err, &stderr)
	}
	for _, want := range []string{"3 skills offered, of 3 found", "cat\t", "heron\t"} {
		if !strings.Contains(meanwhile, want) {
			t.Errorf("while it fetched there was no %q in\n%s", want, meanwhile)
		}
	}
	if want := "3 skills offered, of 3 found in 2 sources: 2 added"; !strings.Contains(string(out), want) {
		t.Errorf("index printed %s, want %q", out, want)
	}
	if text := stderr.String(); !strings.Contains(text, "fetching away: ") || !strings.Contains(text, "418") || !strings.Contains(text, "skills root update") {
		t.Errorf("index says %s", text)
	}
}
