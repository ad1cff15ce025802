package install

import (
	"archive/zip"
	"bytes"
	"fmt"
	"io"
	"net/http"
	"net/http/cgi"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/repertoire-skills/repertoire/internal/atomicfile"
	"github.com/repertoire-skills/repertoire/internal/must"
)

// served serves the repositories below a folder over HTTP. If cut is positive, it breaks off
// each answer with objects after that many bytes.
func served(t *testing.T, dir string, cut int) string {
	t.Helper()
	program, err := exec.LookPath("git")
	must.Do(t, err)
	backend := &cgi.Handler{Path: program, Args: []string{"http-backend"}, Env: []string{"GIT_PROJECT_ROOT=" + dir, "GIT_HTTP_EXPORT_ALL=1"},
		InheritEnv: []string{"PATH", "HOME"}, Stderr: new(bytes.Buffer)}
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h := *backend
		h.Env = append(h.Env[:len(h.Env):len(h.Env)], "GIT_PROTOCOL="+r.Header.Get("Git-Protocol"))
		question, _ := io.ReadAll(r.Body)
		r.Body = io.NopCloser(bytes.NewReader(question))
		if cut == 0 || !bytes.Contains(question, []byte("command=fetch")) {
			h.ServeHTTP(w, r)
			return
		}
		whole := httptest.NewRecorder()
		h.ServeHTTP(whole, r)
		broken(w, whole.Body.Bytes(), cut, whole.Header().Get("Content-Type"))
	}))
	t.Cleanup(s.Close)
	return s.URL
}

// broken answers with a part of a file, and closes the connection.
func broken(w http.ResponseWriter, data []byte, n int, typ string) {
	c, _, err := w.(http.Hijacker).Hijack()
	if err != nil {
		return
	}
	defer c.Close()
	fmt.Fprintf(c, "HTTP/1.1 200 OK\r\nContent-Type: %s\r\nContent-Length: %d\r\n\r\n", typ, len(data))
	c.Write(data[:n])
}

// zipped returns an archive of skills.
func zipped(t testing.TB, files map[string]string) []byte {
	t.Helper()
	var b bytes.Buffer
	z := zip.NewWriter(&b)
	for name, text := range files {
		f, err := z.Create(name)
		must.Do(t, err)
		_, err = f.Write([]byte(text))
		must.Do(t, err)
	}
	must.Do(t, z.Close())
	return b.Bytes()
}

// TestFailures: every failure says what happened and what to do, and leaves what was there.
func TestFailures(t *testing.T) {
	repo := repository(t, "cat", "dog")
	gitIn(t, repo, "tag", "v1")
	gitIn(t, repo, "config", "uploadpack.allowFilter", "true")
	whole, cut := served(t, filepath.Dir(repo), 0), served(t, filepath.Dir(repo), 100)
	base := "/" + filepath.Base(repo) + "/.git"
	gone := httptest.NewServer(nil)
	gone.Close()
	archive := zipped(t, map[string]string{"owl/SKILL.md": doc("owl", "Hoots.")})
	cutOff := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { broken(w, archive, 60, "application/zip") }))
	t.Cleanup(cutOff.Close)
	empty, invalid, device := t.TempDir(), t.TempDir(), t.TempDir()
	must.Write(t, filepath.Join(empty, "README.md"), "Nothing.")
	must.Write(t, filepath.Join(invalid, "bad", "SKILL.md"), "No frontmatter.")
	must.Write(t, filepath.Join(device, "a", "SKILL.md"), doc("a_b", "Has a name that is none."))
	must.Write(t, filepath.Join(empty, "not.zip"), "this is no archive")
	in := installer(t, nil)
	add(t, in, skills(t, t.TempDir(), "cat"))
	for name, c := range map[string]struct {
		r    Request
		want string
	}{
		"git over http works":      {Request{Source: whole + base, Skills: []string{"dog"}}, ""},
		"no such repository":       {Request{Source: whole + "/nothing.git"}, "not found; check the name of the repository"},
		"no such local repository": {Request{Source: "file://" + empty}, "does not appear to be a git repository; check the path; skills in a folder that is no repository are installed by its path"},
		"no such host":             {Request{Source: "https://no-such-host.invalid/o/r"}, "Could not resolve host: no-such-host.invalid; check the name and the network"},
		"nobody listens":           {Request{Source: gone.URL + "/o/r"}, "check the name and the network"},
		"cut, repository":          {Request{Source: cut + base, All: true}, "the connection was cut; try again"},
		"cut, archive":             {Request{Source: cutOff.URL + "/x.zip"}, "the connection ended after 60 of"},
		"nobody listens, archive":  {Request{Source: gone.URL + "/x.zip"}, "refused"},
		"no such archive":          {Request{Source: empty + "/none.zip"}, "no such file"},
		"no archive":               {Request{Source: empty + "/not.zip"}, "not.zip"},
		"no such site":             {Request{Source: whole}, "it has no index of skills"},
		"no SKILL.md":              {Request{Source: empty}, "no SKILL.md was found in it; name the folder or the repository that has the skills"},
		"no such skill":            {Request{Source: "file://" + repo, Skills: []string{"cats"}}, `it has no skill "cats"; did you mean cat?`},
		"no such folder":           {Request{Source: whole + base + "/tree/main/x/y"}, `the source has no folder x/y`},
		"invalid skill":            {Request{Source: invalid}, "REFUSED it cannot be installed: bad/SKILL.md"},
		"no portable name":         {Request{Source: device}, "REFUSED \"a_b\" cannot be the name of an installed skill"},
		"taken name":               {Request{Source: "file://" + repo, Skills: []string{"cat"}}, "a skill of this name is installed from "},
		"no such ref":              {Request{Source: "file://" + repo, Ref: "v2"}, `the repository has no branch or tag "v2"; did you mean v1?`},
		"no such ref at all":       {Request{Source: "file://" + repo, Ref: "stable"}, `has no branch or tag "stable"; there are: main, v1`},
		"no such commit":           {Request{Source: "file://" + repo, Ref: strings.Repeat("ab", 20)}, "the repository has no such commit, or does not hand it out"},
		"short commit":             {Request{Source: "file://" + repo, Ref: gitIn(t, repo, "rev-parse", "--short=8", "HEAD")}, "a commit is named with all of its 40 digits"},
	} {
		t.Run(name, func(t *testing.T) {
			r, err := in.Install(t.Context(), c.r, &caller{})
			if refused, ok := strings.CutPrefix(c.want, "REFUSED "); ok && err == nil {
				if got := r.Changes[0].Reason; !strings.Contains(got, refused) {
					t.Errorf("refused because %q; want %q in it", got, refused)
				}
			} else if c.want != "" {
				says(t, err, c.want)
			} else {
				must.Do(t, err)
				_, err = in.Remove(t.Context(), []string{"dog"}, &caller{})
				must.Do(t, err)
			}
			t.Log(err)
			clean(t, in, "cat")
		})
	}
}

// TestNoGit: without git, repositories cannot be fetched, folders and archives can.
func TestNoGit(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	in := installer(t, nil)
	_, err := in.Install(t.Context(), Request{Source: "owner/repo"}, &caller{})
	says(t, err, "git is not installed, or not in PATH; install it, or name a folder or an archive (.zip, .tar.gz) instead")
	add(t, in, skills(t, t.TempDir(), "cat"))
	file := filepath.Join(t.TempDir(), "owl.skill")
	must.Do(t, os.WriteFile(file, zipped(t, map[string]string{"SKILL.md": doc("owl", "Hoots.")}), 0o600))
	add(t, in, file)
	clean(t, in, "cat", "owl")
}

// TestBadLock: a lock that is damaged, or that a newer program wrote, is an error, and nothing
// is changed.
func TestBadLock(t *testing.T) {
	from := skills(t, t.TempDir(), "cat", "dog")
	in := installer(t, nil)
	add(t, in, from, "cat")
	name := filepath.Join(in.dir, LockFile)
	good := must.Read(t, name)
	for text, want := range map[string]string{
		good[:len(good)/2]: "the lock is damaged",
		"":                 "the lock is damaged",
		strings.Replace(good, `"version": 1`, `"version": 2`, 1):      "the lock has version 2, and this program knows version 1 only; use a newer program",
		strings.Replace(good, `"cat"`, `"../cat"`, 1):                 "cannot be the name of an installed skill",
		strings.Replace(good, `"cat"`, `"../cat/cat"`, 1):             "is no name of a source",
		strings.Replace(good, `"cat"`, `"a/b/cat"`, 1):                "cannot be the name of an installed skill",
		strings.Replace(good, `"SKILL.md"`, `"../x"`, 1):              `has a file "../x"`,
		strings.Replace(good, `"path": "cat"`, `"path": "../cat"`, 1): "has a path \"../cat\"",
		strings.Replace(good, `"path"`, `"paths"`, 1):                 "unknown field",
	} {
		must.Do(t, atomicfile.Write(atomicfile.OS{}, name, []byte(text)))
		for call, again := range killed {
			says(t, again(t, in, from), want)
			if got := must.Read(t, name); got != text {
				t.Errorf("%s changed the lock to %q", call, got)
			}
		}
		_, _, err := in.Verify(t.Context(), nil)
		says(t, err, want)
		if _, err = Locked(in.dir); strings.HasPrefix(want, "the lock") { // it reads only a part
			says(t, err, want)
		}
	}
	// An older version listed files that are never part of a skill.
	old := strings.Replace(good, `"SKILL.md"`, `".hg/hgrc": "`+strings.Repeat("a", 64)+`", "SKILL.md"`, 1)
	must.Do(t, atomicfile.Write(atomicfile.OS{}, name, []byte(old)))
	must.Do(t, os.MkdirAll(filepath.Join(in.folder("cat"), ".hg"), 0o700))
	must.Do(t, os.WriteFile(filepath.Join(in.folder("cat"), ".hg", "hgrc"), nil, 0o600))
	clean(t, in, "cat")
}
