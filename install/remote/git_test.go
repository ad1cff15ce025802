package remote_test

import (
	"fmt"
	"io"
	"net/http"
	"net/http/cgi"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/repertoire-skills/repertoire/install/remote"
	"github.com/repertoire-skills/repertoire/install/unpack"
	"github.com/repertoire-skills/repertoire/internal/must"
)

// A repository is a real one in a folder.
type repository struct {
	dir string
	url string
}

func newRepository(t *testing.T) repository {
	t.Helper()
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip("git is not installed")
	}
	// The user's own settings must not decide.
	home := t.TempDir()
	t.Setenv("HOME", home)
	t.Setenv("XDG_CONFIG_HOME", home)
	t.Setenv("GIT_CONFIG_NOSYSTEM", "1")
	r := repository{dir: t.TempDir()}
	r.url = "file://" + filepath.ToSlash(r.dir)
	r.git(t, "init", "--quiet", "--initial-branch=main", "--template=")
	return r
}

func (r repository) git(t *testing.T, args ...string) string {
	t.Helper()
	cmd := exec.Command("git", append([]string{"-C", r.dir, "-c", "user.name=n", "-c", "user.email=e@example.com", "-c", "commit.gpgSign=false"}, args...)...)
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("git %v: %v\n%s", args, err, out)
	}
	return strings.TrimSpace(string(out))
}

func (r repository) write(t *testing.T, files map[string]string) {
	t.Helper()
	for name, text := range files {
		name = filepath.Join(r.dir, name)
		must.Write(t, name, text)
	}
}

// commit writes files and returns the commit.
func (r repository) commit(t *testing.T, files map[string]string) string {
	t.Helper()
	r.write(t, files)
	r.git(t, "add", "--all")
	r.git(t, "commit", "--quiet", "--message=x")
	return r.git(t, "rev-parse", "HEAD")
}

// TestRepository: a root follows its branch when it is fetched, holds only the skills, and
// keeps them when the repository is away.
func TestRepository(t *testing.T) {
	repo := newRepository(t)
	must.Do(t, os.Symlink("/etc", filepath.Join(repo.dir, "link")))
	first := repo.commit(t, map[string]string{"README.md": "x", "skills/pdf/SKILL.md": doc("pdf", "One."), "other/ocr/SKILL.md": doc("ocr", "See.")})
	r := rootOf(t)
	r.Git = repo.url
	if s := fetch(t, r, true); s.Commit != first {
		t.Errorf("commit %s, want %s", s.Commit, first)
	}
	want := map[string]string{"skills/pdf/SKILL.md": doc("pdf", "One."), "other/ocr/SKILL.md": doc("ocr", "See.")}
	if diff := cmp.Diff(want, tree(t, r.Path)); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
	fetch(t, r, false)
	second := repo.commit(t, map[string]string{"skills/pdf/SKILL.md": doc("pdf", "Two."), "skills/pdf/scripts/a.sh": "#!/bin/sh\n"})
	repo.git(t, "tag", "v2")
	if s := fetch(t, r, true); s.Commit != second {
		t.Errorf("commit %s, want %s", s.Commit, second)
	}
	for name, c := range map[string]struct{ ref, sub, want string }{
		"commit":    {first, "", first},
		"tag":       {"v2", "", second},
		"subfolder": {"main", "skills", second},
	} {
		other := rootOf(t)
		other.Git, other.Ref, other.Sub = repo.url, c.ref, c.sub
		if s := fetch(t, other, true); s.Commit != c.want {
			t.Errorf("%s: commit %s, want %s", name, s.Commit, c.want)
		}
		if got := tree(t, other.Path); c.sub != "" && (got["pdf/SKILL.md"] != doc("pdf", "Two.") || len(got) != 2) {
			t.Errorf("%s: %v", name, got)
		}
	}
	page := rootOf(t)
	page.Git, page.Page = repo.url, "refs/heads/main/skills"
	if s := fetch(t, page, true); s.Commit != second || s.Ref != "main" || s.Sub != "skills" || page.Folder() != "skills" {
		t.Errorf("page: %+v, %s", s, page.Folder())
	}
	fetch(t, page, false)
	page.Git += "-is-gone"
	if s := fails(t, page, "fetching "); s.Ref != "main" || s.Sub != "skills" || s.Commit != second {
		t.Errorf("after a page that is gone: %+v", s)
	}
	r.Sub = "link"
	fails(t, r, `link: it is a symbolic link that leads to "/etc", outside of its source`)
	r.Sub = "skills/none"
	fails(t, r, "it has no folder skills/none")
	r.Sub, r.Ref = "", "mian"
	fails(t, r, `no branch or tag "mian"; did you mean main?`)
	r.Ref = "--upload-pack=touch /tmp/x"
	fails(t, r, "is no name of a branch")
	r.Ref = ""
	must.Do(t, os.Rename(repo.dir, repo.dir+".away"))
	fails(t, r, "fetching team: git ls-remote")
}

// TestLinkedRoot: links that stay in a repository are resolved, whether all or one folder of it is the root, and a skill with
// one that leaves it is left out. The same for an archive of it.
func TestLinkedRoot(t *testing.T) {
	repo := newRepository(t)
	repo.write(t, map[string]string{"skills/pdf/SKILL.md": doc("pdf", "One."), "skills/bad/SKILL.md": doc("bad", "Two."), "skills/ocr/README.md": "x",
		"src/ocr.md": doc("ocr", "See."), "shared/lib.py": "x=1", "shared/a/b.md": "b"})
	for link, to := range map[string]string{"skills/pdf/lib": "../../more", "more": "shared", "skills/ocr/SKILL.md": "../../src/ocr.md", "skills/bad/passwd": "/etc/passwd", "claude": "skills"} {
		must.Do(t, os.Symlink(to, filepath.Join(repo.dir, link)))
	}
	repo.commit(t, nil)
	archive := filepath.Join(t.TempDir(), "x.tar")
	repo.git(t, "archive", "--output="+archive, "HEAD")
	want := map[string]string{"pdf/SKILL.md": doc("pdf", "One."), "pdf/lib/lib.py": "x=1", "pdf/lib/a/b.md": "b", "ocr/SKILL.md": doc("ocr", "See."), "ocr/README.md": "x"}
	for _, c := range []struct{ git, sub, file, below string }{{repo.url, "", "", "skills/"}, {repo.url, "skills", "", ""}, {repo.url, "claude", "", ""}, {"", "", archive, "skills/"}} {
		r := rootOf(t)
		r.Git, r.Sub, r.File = c.git, c.sub, c.file
		s := fetch(t, r, true)
		got := make(map[string]string)
		for name, text := range tree(t, r.Path) {
			got[strings.TrimPrefix(name, c.below)] = text
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%+v (-want +got)\n%s", c, diff)
		}
		if len(s.Refused) != 1 || !strings.Contains(s.Refused[0], `bad/passwd: it is a symbolic link that leads to "/etc/passwd", outside of its source`) {
			t.Errorf("refused %v", s.Refused)
		}
	}
}

// TestHostileRepository: nothing of a repository runs, and skills that are refused are left
// out.
func TestHostileRepository(t *testing.T) {
	repo := newRepository(t)
	ran := filepath.Join(t.TempDir(), "ran")
	touch := "touch " + ran
	// A filter that the user has, as Git LFS is one, and a repository that asks for it.
	must.Do(t, os.WriteFile(filepath.Join(os.Getenv("HOME"), ".gitconfig"), []byte("[filter \"evil\"]\n\tsmudge = "+touch+"; cat\n\tclean = cat\n\trequired = true\n[protocol \"file\"]\n\tallow = always\n"), 0o600))
	must.Do(t, os.Symlink("/etc/passwd", filepath.Join(repo.dir, "bad")))
	repo.write(t, map[string]string{
		".gitattributes":        "* filter=evil eol=crlf\n",
		".gitmodules":           "[submodule \"s\"]\n\tpath = s\n\turl = " + repo.url + "\n",
		"pdf/SKILL.md":          doc("pdf", "One."),
		"ocr/SKILL.md":          doc("ocr", "See."),
		".githooks/post-commit": "#!/bin/sh\n" + touch + "\n",
		"ocr/.git~1/hooks/x":    "x",
	})
	must.Do(t, os.Symlink("/etc/passwd", filepath.Join(repo.dir, "ocr", "passwd")))
	repo.git(t, "add", "--all")
	repo.git(t, "-c", "core.hooksPath=/dev/null", "commit", "--quiet", "--message=x")
	os.Remove(ran)

	r := rootOf(t)
	r.Git = repo.url
	s := fetch(t, r, true)
	if diff := cmp.Diff(map[string]string{"pdf/SKILL.md": doc("pdf", "One.")}, tree(t, r.Path)); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
	if len(s.Refused) != 1 || !strings.Contains(s.Refused[0], "ocr/passwd: it is a symbolic link") {
		t.Errorf("refused %v", s.Refused)
	}
	if _, err := os.Stat(ran); err == nil {
		t.Error("a program of the repository ran")
	}
	for _, url := range []string{"ext::sh -c '" + touch + "'", "--upload-pack=" + touch, "git://127.0.0.1:1/x"} {
		r.Git = url
		fails(t, r, "fetching team: ")
	}
	if _, err := os.Stat(ran); err == nil {
		t.Error("a URL ran a program")
	}
}

// TestLargeRepository: what would be too large is refused before it is on the disk.
func TestLargeRepository(t *testing.T) {
	repo := newRepository(t)
	files := map[string]string{"pdf/SKILL.md": doc("pdf", "One.")}
	for i := range 20 {
		files[fmt.Sprintf("data/f%d", i)] = strings.Repeat("x", 64<<10)
	}
	repo.commit(t, files)
	r := rootOf(t)
	r.Git, r.Limits = repo.url, &remote.Limits{Unpack: &unpack.Limits{Expanded: 1 << 20}}
	fails(t, r, "its files have more than 1048576 bytes; name one of its folders")
	r.Sub = "pdf"
	fetch(t, r, true)
}

// TestOverHTTP: a repository on a server; a connection that is cut changes nothing.
func TestOverHTTP(t *testing.T) {
	repo := newRepository(t)
	program, err := exec.LookPath("git")
	must.Do(t, err)
	repo.commit(t, map[string]string{"pdf/SKILL.md": doc("pdf", "One.")})
	served := &cgi.Handler{Path: program, Args: []string{"http-backend"}, Env: []string{"GIT_PROJECT_ROOT=" + repo.dir, "GIT_HTTP_EXPORT_ALL=1"}, Stderr: io.Discard}
	var cut atomic.Bool
	url := serve(t, func(w http.ResponseWriter, req *http.Request) {
		if cut.Load() && req.Method == http.MethodPost {
			hijacked("HTTP/1.1 200 OK\r\nContent-Type: application/x-git-upload-pack-result\r\nContent-Length: 1000\r\n\r\n0008NAK\n")(w, req)
			return
		}
		served.ServeHTTP(w, req)
	})
	r := rootOf(t)
	r.Git = url + "/.git"
	fetch(t, r, true)
	repo.commit(t, map[string]string{"pdf/SKILL.md": doc("pdf", "Two.")})
	cut.Store(true)
	fails(t, r, "fetching team: git ")
	cut.Store(false)
	fetch(t, r, true)
	if got := tree(t, r.Path)["pdf/SKILL.md"]; got != doc("pdf", "Two.") {
		t.Errorf("got %q", got)
	}
	r.Git = url + "/none.git"
	fails(t, r, "check the name of the repository")
}

// TestSubmodule: a root has the skills of submodules on its host, and tells which are elsewhere.
func TestSubmodule(t *testing.T) {
	repo := newRepository(t)
	program, err := exec.LookPath("git")
	must.Do(t, err)
	commit := repo.commit(t, map[string]string{"SKILL.md": doc("pdf", "One.")})
	repo.git(t, "checkout", "--quiet", "--orphan", "kit")
	repo.git(t, "rm", "-rfq", ".")
	repo.git(t, "update-index", "--add", "--cacheinfo", "160000,"+commit+",skills/pdf", "--add", "--cacheinfo", "160000,"+commit+",skills/far")
	repo.commit(t, map[string]string{".gitmodules": "[submodule \"a\"]\n\tpath = skills/pdf\n\turl = ./\n[submodule \"b\"]\n\tpath = skills/far\n\turl = file:///etc\n", "x/SKILL.md": doc("x", "Two.")})
	repo.git(t, "read-tree", "HEAD")
	repo.git(t, "update-index", "--add", "--cacheinfo", "160000,"+commit+",skills/pdf", "--add", "--cacheinfo", "160000,"+commit+",skills/far")
	repo.git(t, "commit", "--quiet", "--message=y")
	url := serve(t, (&cgi.Handler{Path: program, Args: []string{"http-backend"}, Env: []string{"GIT_PROJECT_ROOT=" + repo.dir, "GIT_HTTP_EXPORT_ALL=1"}, Stderr: io.Discard}).ServeHTTP)
	r := rootOf(t)
	r.Git, r.Ref, r.Sub = url+"/.git", "kit", "skills"
	s := fetch(t, r, true)
	if diff := cmp.Diff(map[string]string{"pdf/SKILL.md": doc("pdf", "One.")}, tree(t, r.Path)); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
	if len(s.Refused) != 1 || !strings.Contains(s.Refused[0], "skills/far is a submodule that is not fetched: its URL begins with file") {
		t.Errorf("refused %q", s.Refused)
	}
}

// TestNoGit: without git everything else works.
func TestNoGit(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	r := rootOf(t)
	r.Git = "https://example.com/x.git"
	fails(t, r, "git is not installed")
	r.Git = ""
	r.URL = serveArchive(t, map[string]string{"SKILL.md": doc("pdf", "x")}).url
	fetch(t, r, true)
}
