package clientstest_test

import (
	"context"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/repertoire-skills/repertoire/internal/clientstest"
	"github.com/repertoire-skills/repertoire/internal/must"
)

// serveSkills starts our server in a home, and returns its address once it answers.
func serveSkills(t *testing.T, h *clientstest.Home) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	must.Do(t, err)
	at := l.Addr().String()
	must.Do(t, l.Close())
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		if out, err := h.Run(ctx, nil, h.Program, "mcp", "--http", at, "--public", "guest"); err != nil && ctx.Err() == nil {
			t.Errorf("the server ends: %v\n%s", err, out)
		}
	}()
	t.Cleanup(func() { stop(); <-ended })
	for end := time.Now().Add(time.Minute); ; time.Sleep(50 * time.Millisecond) {
		if resp, err := http.Get("http://" + at + "/healthz"); err == nil {
			resp.Body.Close()
			if resp.StatusCode == http.StatusOK {
				return "http://" + at
			}
		}
		if time.Now().After(end) {
			t.Fatal("the server does not answer")
		}
	}
}

// TestFind: the program "npx skills" finds skills of our server, with a token in the path and
// without one, and what it prints installs them as they are. It reaches no other host.
func TestFind(t *testing.T) {
	dir := modules(t)
	skills := filepath.Join(dir, ".bin", "skills")
	if _, err := os.Stat(skills); err != nil {
		t.Skipf("skills of npm is not installed: %v", err)
	}
	proxy := clientstest.NewServer("none", nil)
	t.Cleanup(proxy.Close)
	home := t.TempDir()
	const table = "Hour,Height\n6,2.1\n"
	h, err := clientstest.NewHome(home, build(t), dir, proxy.URL, map[string]string{
		"library/tide-tables/SKILL.md":        text,
		"library/tide-tables/data/tables.csv": table,
		"library/soup/SKILL.md":               "---\nname: soup\ndescription: Cooks fish soup. Use when dinner is to be cooked.\n---\nCook it.\n",
		".config/repertoire/config.yaml": "bundled: false\nuser: false\nproject: false\nroots: [" + filepath.Join(home, "library") + "]\n" +
			"agents: {guest: {include: {names: [soup]}}, harbour: {include: {names: [tide-tables]}}}\n",
	})
	must.Do(t, err)
	out, err := h.Run(t.Context(), nil, h.Program, "token", "add", "ann", "--agent", "harbour")
	must.Do(t, err)
	secret := regexp.MustCompile(`repertoire_\w+`).FindString(out)
	at := serveSkills(t, h)
	found := regexp.MustCompile(`http://\S+@[a-z0-9-]+`)
	find := func(base, about string) string {
		out, err := h.Run(t.Context(), []string{"SKILLS_API_URL=" + base, "DISABLE_TELEMETRY=1"}, skills, "find", about)
		must.Do(t, err)
		return strings.Join(found.FindAllString(out, -1), " ")
	}
	if got := find(at, "high water in the harbour"); strings.Contains(got, "tide-tables") {
		t.Errorf("without a token it finds %s", got)
	}
	for about, tt := range map[string]struct{ base, name, file, want string }{
		"when can the harbour be entered, at high water": {at + "/t/" + secret, "tide-tables", "data/tables.csv", table},
		"cook fish soup for dinner":                      {at, "soup", "SKILL.md", "---\nname: soup\n"},
	} {
		source := find(tt.base, about)
		if source != tt.base+"/skill/"+tt.name+"@"+tt.name {
			t.Errorf("%s: it finds %q", about, source)
			continue
		}
		if _, err := h.Run(t.Context(), []string{"DISABLE_TELEMETRY=1"}, skills, "add", source, "--yes", "--agent", "claude-code"); err != nil {
			t.Error(err)
		}
		if got := must.Read(t, filepath.Join(h.Project, ".claude", "skills", tt.name, filepath.FromSlash(tt.file))); !strings.HasPrefix(got, tt.want) {
			t.Errorf("%s of %s is %q", tt.file, tt.name, got)
		}
	}
	if strays := proxy.Strays(); len(strays) > 0 {
		t.Errorf("it asks for %q", strays)
	}
}
