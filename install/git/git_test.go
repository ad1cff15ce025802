package git_test

import (
	"compress/zlib"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/repertoire-skills/repertoire/install/git"
	"github.com/repertoire-skills/repertoire/internal/must"
	"github.com/repertoire-skills/repertoire/internal/testsize"
)

func TestMain(m *testing.M) { testsize.Main(m) }

// TestEnvironment: what the environment says of another repository, as in a hook of git, does
// not count.
func TestEnvironment(t *testing.T) {
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip("git is not installed")
	}
	dir := t.TempDir()
	if out, err := exec.Command("git", "init", "--quiet", "--bare", "--template=", dir).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	t.Setenv("GIT_DIR", filepath.Join(dir, "none"))
	t.Setenv("GIT_WORK_TREE", filepath.Join(dir, "none"))
	t.Setenv("GIT_CONFIG_COUNT", "x")
	_, err := git.New("file://"+filepath.ToSlash(dir), 1<<20).Resolve(t.Context(), "", "")
	if err == nil || err.Error() != "the repository is empty" {
		t.Errorf("got %v", err)
	}
}

// A repository is a real one, made of objects alone: none of its files is on this disk.
type repository struct {
	t   *testing.T
	dir string
}

func newRepository(t *testing.T) repository {
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip("git is not installed")
	}
	for name, value := range map[string]string{"GIT_CONFIG_NOSYSTEM": "1", "GIT_CONFIG_GLOBAL": os.DevNull,
		"GIT_AUTHOR_NAME": "A", "GIT_AUTHOR_EMAIL": "a@example.com", "GIT_COMMITTER_NAME": "A", "GIT_COMMITTER_EMAIL": "a@example.com"} {
		t.Setenv(name, value)
	}
	r := repository{t, t.TempDir()}
	r.git("", "init", "--quiet", "--bare", "--initial-branch=main", "--template=")
	return r
}

func (r repository) git(stdin string, args ...string) string {
	r.t.Helper()
	cmd := exec.Command("git", args...)
	cmd.Dir, cmd.Stdin = r.dir, strings.NewReader(stdin)
	out, err := cmd.CombinedOutput()
	if err != nil {
		r.t.Fatalf("git %q: %v: %s", args, err, out)
	}
	return strings.TrimSpace(string(out))
}

// tree makes a folder of files with one content, and of folders.
func (r repository) tree(text string, files int, folders map[string]string) string {
	r.t.Helper()
	var list strings.Builder
	if files > 0 {
		object := r.git(text, "hash-object", "-w", "--stdin")
		for i := range files {
			fmt.Fprintf(&list, "100644 blob %s\tf%d\n", object, i)
		}
	}
	for name, object := range folders {
		fmt.Fprintf(&list, "040000 tree %s\t%s\n", object, name)
	}
	return r.git(list.String(), "mktree")
}

func (r repository) commit(tree string) {
	r.t.Helper()
	r.git("", "update-ref", "refs/heads/main", r.git("", "commit-tree", "-m", "x", tree))
}

// fetch fetches the repository and checks some folders out, or what fits into a number of
// bytes. It returns the files and folders that are there then, and why not all are.
func (r repository) fetch(most int64, subs ...string) (got []string, err error) {
	r.t.Helper()
	dir := filepath.Join(r.t.TempDir(), "got")
	repo := git.New("file://"+filepath.ToSlash(r.dir), most)
	v, err := repo.Resolve(r.t.Context(), "", "")
	must.Do(r.t, err)
	repo = repo.In(dir)
	commit, err := repo.Fetch(r.t.Context(), v)
	if err == nil {
		err = repo.Checkout(r.t.Context(), commit, subs)
	}
	entries, readErr := os.ReadDir(dir)
	must.Do(r.t, readErr)
	for _, e := range entries {
		if e.Name() != ".git" {
			got = append(got, e.Name())
		}
	}
	return got, err
}

// TestBomb: a small repository that would become a large folder is refused before any of its
// files is written, by a server that sends contents when they are asked for too. A folder of
// the repository that is small enough is not refused.
func TestBomb(t *testing.T) {
	r := newRepository(t)
	large := r.tree(strings.Repeat("x", 16<<10), 256, nil) // 4 MiB, of one object
	r.commit(r.tree("y", 1, map[string]string{"large": large, "larger": r.tree("", 0, map[string]string{"a": large, "b": large}), "small": r.tree("z", 3, nil)}))
	for _, filter := range []string{"false", "true"} {
		r.git("", "config", "uploadpack.allowFilter", filter)
		for _, c := range []struct {
			most int64
			subs []string
			want string
			bad  string
		}{
			{1 << 20, nil, "[]", "its files have more than 1048576 bytes; name one of its folders"},
			{8 << 20, []string{"larger", "small"}, "[]", "its files have more than 8388608 bytes"},
			{1 << 20, []string{"small", "none"}, "[small]", ""},
			{1 << 20, []string{"none"}, "[]", ""},
			{1 << 20, []string{"f0"}, "[f0]", ""}, // a file
			{16 << 20, nil, "[f0 large larger small]", ""},
		} {
			got, err := r.fetch(c.most, c.subs...)
			if fmt.Sprint(got) != c.want || (err == nil) != (c.bad == "") || err != nil && !strings.Contains(err.Error(), c.bad) {
				t.Errorf("filter %s, %d bytes, %q: wrote %v, want %s; error %v, want %q", filter, c.most, c.subs, got, c.want, err, c.bad)
			}
		}
	}
}

// TestLargePack: a repository that sends more than it may is refused while it is fetched,
// whether the server sends the contents of files at once or when they are asked for.
func TestLargePack(t *testing.T) {
	r := newRepository(t)
	noise := make([]byte, 4<<20)
	rand.NewChaCha8([32]byte{}).Read(noise)
	r.commit(r.tree(string(noise), 1, nil))
	for _, filter := range []string{"false", "true"} {
		r.git("", "config", "uploadpack.allowFilter", filter)
		got, err := r.fetch(1 << 20)
		if len(got) > 0 || err == nil || !strings.Contains(err.Error(), "the server sends more than 1048576 bytes") {
			t.Errorf("filter %s: wrote %v, error %v", filter, got, err)
		}
		if got, err := r.fetch(5 << 20); len(got) != 1 || err != nil {
			t.Errorf("filter %s: wrote %v, error %v", filter, got, err)
		}
	}
}

// TestEndlessPack: a server that never stops to send is cut off, and nothing of git goes on.
func TestEndlessPack(t *testing.T) {
	newRepository(t) // for its environment
	commit := strings.Repeat("ab", 20)
	packet := func(text string) string { return fmt.Sprintf("%04x%s", len(text)+4, text) }
	gone := make(chan struct{})
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.HasSuffix(r.URL.Path, "/info/refs") {
			w.Header().Set("Content-Type", "application/x-git-upload-pack-advertisement")
			fmt.Fprint(w, packet("# service=git-upload-pack\n"), "0000", packet(commit+" refs/heads/main\x00shallow allow-tip-sha1-in-want\n"), "0000")
			return
		}
		asked, _ := io.ReadAll(r.Body)
		w.Header().Set("Content-Type", "application/x-git-upload-pack-result")
		fmt.Fprint(w, packet("shallow "+commit), "0000")
		if !strings.Contains(string(asked), "done") {
			return // it asks again
		}
		fmt.Fprint(w, packet("NAK\n"), "PACK\x00\x00\x00\x02\x00\x00\x00\x01") // one object follows:
		w.Write([]byte{0xbf, 0xff, 0xff, 0xff, 0xff, 0x7f})                    // a file of very many bytes
		z, noise, block := zlib.NewWriter(w), rand.NewChaCha8([32]byte{}), make([]byte, 64<<10)
		for err := error(nil); err == nil; {
			noise.Read(block)
			_, err = z.Write(block)
		}
		close(gone)
	}))
	defer s.Close()
	repo := git.New(s.URL+"/x.git", 1<<20).In(filepath.Join(t.TempDir(), "got"))
	_, err := repo.Fetch(t.Context(), git.Version{Name: "refs/heads/main", Commit: commit})
	if err == nil || !strings.Contains(err.Error(), "the server sends more than 1048576 bytes") {
		t.Errorf("error %v", err)
	}
	<-gone
}

// TestResolve: a page names the longest ref that is there, a tag before a branch of its name, and
// of a default branch that is missing it is said what there is.
func TestResolve(t *testing.T) {
	r := newRepository(t)
	r.commit(r.tree("x", 1, nil))
	commit := r.git("", "rev-parse", "refs/heads/main")
	for _, ref := range []string{"refs/heads/feature/AB-1", "refs/tags/kit/v1", "refs/tags/both", "refs/heads/both/x", "refs/heads/twice", "refs/tags/twice"} {
		r.git("", "update-ref", ref, commit)
	}
	for page, want := range map[string]string{
		"main/skills":                         "main skills refs/heads/main",
		"feature/AB-1":                        "feature/AB-1  refs/heads/feature/AB-1",
		"feature/AB-1/c++/a b":                "feature/AB-1 c++/a b refs/heads/feature/AB-1",
		"refs/heads/feature/AB-1/x":           "feature/AB-1 x refs/heads/feature/AB-1",
		"kit/v1/x":                            "kit/v1 x refs/tags/kit/v1",
		"refs/tags/kit/v1/x":                  "kit/v1 x refs/tags/kit/v1",
		"both/x/y":                            "both/x y refs/heads/both/x",
		"both/y":                              "both y refs/tags/both",
		"twice/x":                             "twice x refs/tags/twice",
		"refs/heads/twice/x":                  "refs/heads/twice x refs/heads/twice",
		"HEAD/x":                              " x HEAD",
		commit + "/x":                         commit + " x " + commit,
		"main" + strings.Repeat("/x", 20_000): "main " + strings.Repeat("x/", 19_999) + "x refs/heads/main",
		"feature/AB-2/x":                      `the repository has no branch or tag "feature/AB-2/x", nor one with which this begins; did you mean feature/AB-1?`,
		"refs/tags/main/x":                    `the repository has no branch or tag "refs/tags/main/x", nor one with which this begins; there are: both, both/x, feature/AB-1, kit/v1, main, twice, twice`,
	} {
		v, err := git.New("file://"+filepath.ToSlash(r.dir), 1<<20).Resolve(t.Context(), "", page)
		got := fmt.Sprint(v.Ref, " ", v.Sub, " ", v.Name)
		if err != nil {
			got = err.Error()
		} else if v.Commit != commit {
			t.Errorf("%s: commit %s", page, v.Commit)
		}
		if got != want {
			t.Errorf("%.100s:\n got %.200s\nwant %.200s", page, got, want)
		}
	}
	r.git("", "symbolic-ref", "HEAD", "refs/heads/gone")
	for _, page := range []string{"", "HEAD/x"} {
		_, err := git.New("file://"+filepath.ToSlash(r.dir), 1<<20).Resolve(t.Context(), "", page)
		if err == nil || err.Error() != "its default branch is missing: HEAD leads to none; there are: both, both/x, feature/AB-1, kit/v1, main, twice, twice; choose one with --ref, such as --ref both" {
			t.Errorf("page %q: %v", page, err)
		}
	}
}

// FuzzCheckRef: no ref that is allowed is an option, or names something else to git.
func FuzzCheckRef(f *testing.F) {
	for _, ref := range []string{"main", "v1.2", "refs/tags/v1", "--upload-pack=x", "a..b", "a b", "a@{1}", "a:b", "x.lock"} {
		f.Add(ref)
	}
	f.Fuzz(func(t *testing.T, ref string) {
		if git.CheckRef(ref) == nil && (strings.HasPrefix(ref, "-") || strings.ContainsAny(ref, " ~^:?*[\\\n\x00") || strings.Contains(ref, "..")) {
			t.Errorf("%q is allowed", ref)
		}
	})
}
