package cli

import (
	"net/http/cgi"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/repertoire-skills/repertoire/internal/must"
	"github.com/repertoire-skills/repertoire/internal/registrytest"
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
