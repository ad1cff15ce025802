package cli

import (
	"net/http/cgi"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/repertoire-skills/repertoire/internal/must"
	"github.com/repertoire-skills/repertoire/internal/registrytest"
	"github.com/repertoire-skills/repertoire/internal/testsize"
)

// TestInstallFromRepository: what a registry names in a repository is installed from there, and
// updated without the registry.
func TestInstallFromRepository(t *testing.T) {
	path, err := exec.Command("git", "--exec-path").Output()
	backend := filepath.Join(strings.TrimSpace(string(path)), "git-http-backend")
	if _, missing := os.Stat(backend); err != nil || missing != nil {
		t.Skip("git has no http-backend")
	}
	fixture(t)
	t.Setenv("REPERTOIRE_DATA", t.TempDir())
	for name, value := range map[string]string{"GIT_CONFIG_NOSYSTEM": "1", "GIT_CONFIG_GLOBAL": os.DevNull,
		"GIT_AUTHOR_NAME": "A", "GIT_AUTHOR_EMAIL": "a@example.com", "GIT_COMMITTER_NAME": "A", "GIT_COMMITTER_EMAIL": "a@example.com"} {
		t.Setenv(name, value)
	}
	repo := filepath.Join(t.TempDir(), "repo")
	git := func(args ...string) {
		t.Helper()
		if out, err := exec.Command("git", append([]string{"-C", repo}, args...)...).CombinedOutput(); err != nil {
			t.Fatalf("git %v: %v: %s", args, err, out)
		}
	}
	commit := func(text string) {
		t.Helper()
		must.Write(t, filepath.Join(repo, "skills", "pdf-forms", "SKILL.md"), "---\nname: pdf-forms\ndescription: Fill in forms.\n---\n"+text+"\n")
		git("add", "--all")
		git("commit", "--quiet", "--message", text)
	}
	must.Write(t, filepath.Join(repo, "skills", "other", "SKILL.md"), "---\nname: other\ndescription: Does something else.\n---\nDo it.\n")
	git("init", "--quiet", "--template=")
	commit("Do it.")
	host := httptest.NewServer(&cgi.Handler{Path: backend, Env: []string{"GIT_PROJECT_ROOT=" + filepath.Dir(repo), "GIT_HTTP_EXPORT_ALL=1"}})
	defer host.Close()
	s := registrytest.New("skills.sh")
	defer s.Close()
	s.Skills = s.Skills[:1]
	s.Skills[0].Publisher = host.URL + "/repo"
	call(t, 0, "root", "add", "--registry", s.URL, "--label", "sh")
	out := call(t, 0, "search", "--registries", "fill in a pdf form", "--json")
	command := "install --from sh " + host.URL + "/repo/pdf-forms"
	if !strings.Contains(out, `"install": "`+command+`"`) {
		t.Errorf("search: %s", out)
	}
	if out := call(t, 0, strings.Fields(command+" --yes")...); !strings.Contains(out, "pdf-forms: installed from "+host.URL+"/repo (1 file, commit ") {
		t.Errorf("install: %s", out)
	}
	if out := call(t, 0, "search", "--registries", "fill in a pdf form", "--json"); !strings.Contains(out, `"here": "pdf-forms"`) {
		t.Errorf("search: %s", out)
	}
	s.Close()
	commit("Do it twice.")
	if out := call(t, 0, "update", "--yes"); !strings.Contains(out, "+Do it twice.") {
		t.Errorf("update: %s", out)
	}
}

// TestAskRepertoire: one Repertoire asks another that wants a token, installs from it, and gets what
// has changed there.
func TestAskRepertoire(t *testing.T) {
	testsize.Long(t)
	home := fixture(t)
	must.Write(t, "config.yaml", "bundled: false\nschedule: \"@every 1s\"\n")
	theirs := filepath.Join(t.TempDir(), "theirs")
	write := func(text string) {
		t.Helper()
		must.Write(t, filepath.Join(theirs, "tide-tables", "SKILL.md"), "---\nname: tide-tables\ndescription: Read tide tables. Use when the user plans to sail into a harbour.\n---\n"+text+"\n")
	}
	write("Read them.")
	must.Write(t, filepath.Join(theirs, "tide-tables", "references", "ports.md"), "Ports.\n")
	const token = "hunter22hunter22"
	must.Write(t, filepath.Join(home, "token"), token)
	server := serveHTTP(t, "--only-root", "--root", theirs, "--token-file", filepath.Join(home, "token"))
	server.token = token
	server.healthy(t)
	base := strings.TrimSuffix(server.url, "/mcp")
	call(t, 1, "root", "add", "--registry", base, "--label", "team")
	t.Setenv("TEAM_TOKEN", token)
	if out := call(t, 0, "root", "add", "--registry", base, "--label", "team", "--key-env", "TEAM_TOKEN"); !strings.Contains(out, "which speaks ard") {
		t.Errorf("root add: %s", out)
	}
	if out := call(t, 0, "search", "--registries", "plan to sail into a harbour"); !strings.HasPrefix(out, "tide-tables\t") || !strings.Contains(out, "\tteam\t") {
		t.Errorf("search: %s", out)
	}
	call(t, 0, "install", "--from", "team", "tide-tables", "--yes")
	if out := call(t, 0, "search", "--registries", "plan to sail into a harbour"); !strings.HasPrefix(out, "tide-tables\t") || !strings.Contains(out, "\there; team\t") || strings.Count(out, "\n") != 1 {
		t.Errorf("search: %s", out)
	}
	lock := must.Read(t, filepath.Join(home, "data", "skills", "skills.lock"))
	if strings.Contains(lock, token) || !strings.Contains(lock, `"kind": "registry"`) {
		t.Errorf("lock: %s", lock)
	}
	write("Read them twice.")
	for end := time.Now().Add(2 * time.Minute); ; time.Sleep(100 * time.Millisecond) { // until the server has looked
		var stdout, stderr strings.Builder
		run(t.Context(), []string{"update", "--check"}, strings.NewReader(""), &stdout, &stderr)
		if strings.Contains(stdout.String(), "Read them twice.") {
			break
		}
		if time.Now().After(end) {
			t.Fatalf("the change is never seen: %s%s", &stdout, &stderr)
		}
	}
	if out := call(t, 0, "update", "--yes"); !strings.Contains(out, "tide-tables: updated from registry+"+base) {
		t.Errorf("update: %s", out)
	}
}
