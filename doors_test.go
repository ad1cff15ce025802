package repertoire_test

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/zlib"
	"context"
	"crypto/sha1"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"io/fs"
	"iter"
	"math/rand/v2"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
	"unicode"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/repertoire-skills/repertoire"
	"github.com/repertoire-skills/repertoire/install"
	"github.com/repertoire-skills/repertoire/internal/must"
	"github.com/repertoire-skills/repertoire/internal/push"
	"github.com/repertoire-skills/repertoire/internal/testsize"
	"github.com/repertoire-skills/repertoire/mcpserver"
	"github.com/repertoire-skills/repertoire/proposal"
	"github.com/repertoire-skills/repertoire/skill"
	"github.com/repertoire-skills/repertoire/source"
	"github.com/repertoire-skills/repertoire/source/shared"
	engine "github.com/repertoire-skills/repertoire/store/memorytest"
)

// TestDoors: whatever names an archive, a repository, a diff, a push or a tool call has, nothing
// is written but files of a skill, and what is there of others stays as it is.
func TestDoors(t *testing.T) {
	for name, door := range map[string]func(*testing.T, *yard, []named){
		"archive": archiveDoor, "repository": repositoryDoor, "diff": diffDoor, "push": pushDoor, "tool": toolDoor,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			y := newYard(t)
			list := append(nasty(), random(testsize.Rounds(12, 2000))...)
			door(t, y, list)
			if !y.wrote {
				t.Error("not even a good file was written")
			}
		})
	}
}

// A named is what a stranger calls a file, or the link that has the name instead.
type named struct{ name, link string }

const goodName = "scripts/new.sh"

// nasty returns names that some system may take for something else than a file of a skill, and a
// good one.
func nasty() []named {
	list := []named{{name: goodName}}
	for _, name := range []string{
		"../x", "../../x", "../outside/canary", "../../outside/canary", "scripts/../../x", "./../x", "a/../../../x", "..", "../", ".. /x", "..\u200b/x", ".../x",
		"/x", "//host/x", "/etc/x", "//./pipe/x", `\x`, `..\x`, `..\..\outside\canary`, `C:\x`, `\\host\x`, `\\?\C:\x`, `a\..\..\x`, "C:/x", "c:x", "%2e%2e/x", "~/x", "$HOME/x",
		"con", "NUL.txt", "aux/x", "COM1", "lpt9.x", "conin$", "com¹", "nul .txt", "a.", "a ", "a./b", "x:y", "SKILL.md:x", "SKILL.md::$DATA", "a\x00b", "a\nb", "a\x1b[2Jb", "\xff", "a\xc0\xaf..\xc0\xafb", "",
		".git", ".git/config", ".git/hooks/pre-commit", "scripts/.git/config", ".GIT/config", ".Git/hooks/x", ".git./config", ".git /config", ".git. . /config", ".git::$INDEX_ALLOCATION/config", ".git:x/config",
		"git~1/config", "GIT~1/hooks/x", "git~2/config", ".g\u200cit/config", "\ufeff.git/config", ".git\u2060/config", ".gi\u034ft/config", ".ｇｉｔ/config", ".git\\config", "cat/.git/config", "./.git/config", "scripts/../.git/config",
		".hg/hgrc", ".HG/hgrc", "hg~1/hgrc", ".svn/x", ".jj/x", ".bzr/x", "node_modules/x", "Node_Modules/m/index.js", "node_m~1/x", "node_module\u017f/x", "scripts/node_modules/x",
		".staging-1/new/x/SKILL.md", ".STAGING-1/x", ".cat.repertoire.tmp/x", "SKILL.md.repertoire.tmp", ".env", "scripts/.ENV", ".aws/credentials", "ID_RSA", ".ssh/config",
		"skill.md", "Skill.md", "SCRIPTS/run.sh", "scripts/RUN.sh", "SKILL.md/x", "scripts", "scripts/run.sh/x", "scr\u0131pts/x", "out/x", "out/canary", "x\n+++ b/../../evil", `"../x"`, "\t../x", "a/b\t../x",
		strings.Repeat("a", 300), strings.Repeat("abcdefg/", 200) + "x", strings.Repeat("../", 40) + "tmp/x",
	} {
		list = append(list, named{name: name})
	}
	for _, target := range []string{"../../outside", "../../outside/canary", "/etc/passwd", ".git", ".git/config", "..", ".", "nowhere"} {
		list = append(list, named{"link", target}, named{"scripts/.git", target})
	}
	return list
}

// random returns names made of nasty pieces, always the same.
func random(n int) []named {
	r := rand.New(rand.NewPCG(28, 1))
	pieces := []string{"..", ".", "", ".git", ".GIT", "git~1", "g", "it", "\u200c", "node_modules", "node_m~1", ".staging-1", ".hg", ".env", "con", "nul.txt", "C:", ":x", "::$DATA", " ", "~", "\u202e", "\xff",
		"a", "SKILL.md", "scripts", "run.sh", "config", "hooks", "ü", "\u017f", "outside", "canary", "\x00", "\n", "$", "%2f", ".repertoire.tmp"}
	joints := []string{"/", "/", "/", "", "\\", "//", "/./", "/../"}
	var list []named
	for range n {
		var b strings.Builder
		for range 1 + r.IntN(5) {
			b.WriteString(pieces[r.IntN(len(pieces))] + joints[r.IntN(len(joints))])
		}
		list = append(list, named{name: b.String() + pieces[r.IntN(len(pieces))]})
	}
	return list
}

// A yard is a folder with skills and with what is nobody's business.
type yard struct {
	t      *testing.T
	top    string
	before map[string]string
	wrote  bool // the good file was once written
}

func newYard(t *testing.T) *yard {
	top, err := filepath.EvalSymlinks(t.TempDir())
	must.Do(t, err)
	y := &yard{t: t, top: top}
	for name, text := range map[string]string{
		"canary": "c", "outside/canary": "c", "skills/canary": "c", "skills/cat/SKILL.md": doc("cat", "Feeds the cat. Use when it is hungry."), "skills/cat/scripts/run.sh": "#!/bin/sh\n",
		"skills/cat/.git/config": "[core]\n", "skills/cat/.git/hooks/canary": "c", "skills/cat/.hg/hgrc": "c", "skills/cat/node_modules/m/index.js": "c",
		"skills/dog/SKILL.md": doc("dog", "Walks the dog. Use when it barks."), "user/canary": "c", "installed/canary": "c", "state/canary": "c",
	} {
		must.Write(t, y.at(name), text)
	}
	if err := os.Symlink(filepath.Join("..", "..", "outside"), y.at("skills/dog/out")); err != nil {
		t.Log(err)
	}
	y.before = y.look()
	return y
}

func (y *yard) at(name string) string { return filepath.Join(y.top, filepath.FromSlash(name)) }

// look returns what is in the yard, by path.
func (y *yard) look() map[string]string {
	y.t.Helper()
	all := make(map[string]string)
	must.Do(y.t, filepath.WalkDir(y.top, func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(y.top, name)
		what := d.Type().String()
		switch {
		case d.Type()&fs.ModeSymlink != 0:
			target, _ := os.Readlink(name)
			what += target
		case d.Type().IsRegular():
			data, err := os.ReadFile(name)
			if err != nil {
				return err
			}
			what += string(data)
		}
		all[filepath.ToSlash(rel)] = what
		return err
	}))
	return all
}

// check fails the test if something has changed that is no file of a skill, and takes back what
// has.
func (y *yard) check(what string, secrets bool) {
	y.t.Helper()
	now := y.look()
	for name, text := range now {
		if y.before[name] != text && !mayChange(name, secrets) {
			y.t.Errorf("%s: wrote %q", what, name)
		}
		y.wrote = y.wrote || strings.HasSuffix(name, "/"+goodName)
	}
	for name := range y.before {
		if now[name] == "" && !mayChange(name, secrets) {
			y.t.Errorf("%s: removed %q", what, name)
		}
	}
	for name := range now {
		if _, ok := y.before[name]; !ok {
			must.Do(y.t, os.RemoveAll(y.at(name)))
		}
	}
	for name, text := range y.before {
		if data, ok := strings.CutPrefix(text, fs.FileMode(0).String()); ok && now[name] != text {
			must.Write(y.t, y.at(name), data)
		}
	}
}

// mayChange reports whether a path of the yard is in our own state, or may be a file of a skill. It
// knows nothing of the program's lists.
func mayChange(name string, secrets bool) bool {
	first, rest, _ := strings.Cut(name, "/")
	folder, file, _ := strings.Cut(rest, "/")
	switch {
	case first == "state":
		return rest != "canary"
	case first == "installed" && (folder == install.LockFile || folder == ".skills.lock.held"):
		return file == ""
	case first == "installed" || first == "user" || first == "skills":
		return regexp.MustCompile(`^[a-z][a-z0-9-]*$`).MatchString(folder) && folder != "canary" && isOwn(file, secrets)
	}
	return false
}

var (
	ofTools   = regexp.MustCompile(`^(\.(git|hg|svn|bzr|jj)|node_modules|(git|hg|svn|bzr|jj|node_m)~\d+|\.staging-.*|.*\.repertoire\.tmp)$`)
	ofWindows = regexp.MustCompile(`^(con|prn|aux|nul|conin\$|(com|lpt)\d) *(\.|$)|[:\\\x00-\x1f\x7f]|[. ]$`)
	ofSecrets = regexp.MustCompile(`^(\.env|\.aws|\.ssh|id_rsa)$`)
)

// isOwn reports whether a path in a skill's folder can be a file of the skill.
func isOwn(name string, secrets bool) bool {
	for part := range strings.SplitSeq(name, "/") {
		plain := strings.ToLower(strings.Map(func(r rune) rune {
			switch {
			case r == '\u017f':
				return 's'
			case r >= 0xff01 && r <= 0xff5e: // wide letters
				return r - 0xff01 + '!'
			case unicode.In(r, unicode.Cf, unicode.Mn): // nobody sees them
				return -1
			}
			return r
		}, part))
		if part == ".." || len(part) > 255 || ofTools.MatchString(strings.TrimRight(plain, ". ")) || ofWindows.MatchString(strings.ToLower(part)) || !secrets && ofSecrets.MatchString(plain) {
			return false
		}
	}
	return true
}

// taker takes all that can be installed.
type taker struct{}

func (taker) Resolve(context.Context, *install.Change, bool) (install.Action, string, error) {
	return install.Skip, "", nil
}
func (taker) Approve(context.Context, []*install.Change) (bool, error) { return true, nil }

// installs installs all skills of a source into the yard.
func (y *yard) installs(what, from, ref string) {
	y.t.Helper()
	in, err := install.Open(y.at("installed"), nil)
	must.Do(y.t, err)
	in.Install(y.t.Context(), install.Request{Source: from, Ref: ref, All: true}, taker{}) // many are refused
	y.check(what, true)
}

func archiveDoor(t *testing.T, y *yard, list []named) {
	folder := t.TempDir()
	good := doc("owl", "Hoots. Use when it is night.")
	forms := []struct{ at, kind string }{{"owl/", ".tar"}, {"owl/", ".zip"}, {"", ".zip"}}
	for i, n := range list {
		for j, form := range forms {
			if (i+j)%testsize.Rounds(len(forms), 1) > 0 {
				continue // each name in one form
			}
			var tarred, zipped bytes.Buffer
			w, z := tar.NewWriter(&tarred), zip.NewWriter(&zipped)
			put := func(h tar.Header, text string) {
				h.Size, h.Mode = int64(len(text)), 0o755
				if w.WriteHeader(&h) == nil {
					w.Write([]byte(text))
				}
				zh := &zip.FileHeader{Name: h.Name}
				zh.SetMode(0o755)
				if h.Linkname != "" {
					zh.SetMode(0o755 | fs.ModeSymlink)
					text = h.Linkname
				}
				if f, err := z.CreateHeader(zh); err == nil {
					f.Write([]byte(text))
				}
			}
			put(tar.Header{Name: "owl/SKILL.md", Typeflag: tar.TypeReg}, good)
			if n.link != "" {
				put(tar.Header{Name: form.at + n.name, Linkname: n.link, Typeflag: tar.TypeSymlink}, "")
				put(tar.Header{Name: form.at + n.name + "/x", Typeflag: tar.TypeReg}, "evil")
				put(tar.Header{Name: form.at + "hard", Linkname: n.link, Typeflag: tar.TypeLink}, "")
			} else {
				put(tar.Header{Name: form.at + n.name, Typeflag: tar.TypeReg}, "evil")
			}
			w.Close()
			z.Close()
			data := tarred.Bytes()
			if form.kind == ".zip" {
				data = zipped.Bytes()
			}
			file := filepath.Join(folder, fmt.Sprint(i, ".skill")) // the content tells the kind
			must.Do(t, os.WriteFile(file, data, 0o600))
			y.installs(fmt.Sprintf("%s with %q", form.kind, n), file, "")
		}
	}
}

// A bare is a git repository that is written object by object, because git itself would refuse
// the names.
type bare struct {
	t   *testing.T
	dir string
}

func newBare(t *testing.T) bare {
	t.Helper()
	git, err := exec.LookPath("git")
	if err != nil {
		t.Skip("git is not installed")
	}
	b := bare{t, t.TempDir()}
	if out, err := exec.Command(git, "init", "--quiet", "--bare", b.dir).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	return b
}

// object writes an object, and returns its name as 20 bytes.
func (b bare) object(kind, data string) string {
	b.t.Helper()
	data = fmt.Sprintf("%s %d\x00%s", kind, len(data), data)
	sum := sha1.Sum([]byte(data))
	name := hex.EncodeToString(sum[:])
	var packed bytes.Buffer
	w := zlib.NewWriter(&packed)
	io.WriteString(w, data)
	must.Do(b.t, w.Close())
	must.Write(b.t, filepath.Join(b.dir, "objects", name[:2], name[2:]), packed.String())
	return string(sum[:])
}

func (b bare) blob(text string) string { return b.object("blob", text) }

// entry is a line of a tree.
func entry(mode, name, object string) string { return mode + " " + name + "\x00" + object }

// tree writes a tree; git wants its entries sorted.
func (b bare) tree(entries ...string) string {
	slices.SortFunc(entries, func(x, y string) int {
		return strings.Compare(x[strings.IndexByte(x, ' '):], y[strings.IndexByte(y, ' '):])
	})
	return b.object("tree", strings.Join(entries, ""))
}

// owl writes the folder of a skill with further entries, and returns its line in a tree.
func (b bare) owl(name string, entries ...string) string {
	text := doc(name, "Hoots. Use when it is night.")
	return entry("40000", name, b.tree(append(entries, entry("100644", "SKILL.md", b.blob(text)))...))
}

// branch makes a branch with these folders.
func (b bare) branch(name string, folders ...string) {
	b.t.Helper()
	commit := b.object("commit", fmt.Sprintf("tree %x\nauthor a <a@b> 1 +0000\ncommitter a <a@b> 1 +0000\n\nx\n", b.tree(folders...)))
	must.Write(b.t, filepath.Join(b.dir, "refs", "heads", name), hex.EncodeToString([]byte(commit))+"\n")
}

// repositoryDoor has a branch for each name that git itself may refuse, with all of the branch,
// and one for all others.
func repositoryDoor(t *testing.T, y *yard, list []named) {
	testsize.Long(t) // each branch is fetched by half a dozen processes
	b := newBare(t)
	evil := b.blob("evil")
	branches := make(map[string]string)
	var others []string
	alone := func(n named, entries ...string) {
		name := fmt.Sprintf("n%d", len(branches))
		branches[name] = fmt.Sprintf("a branch with %q", n)
		b.branch(name, b.owl("owl", entries...))
	}
	together := func(entries ...string) {
		others = append(others, b.owl(fmt.Sprintf("owl-%d", len(others)), entries...))
	}
	for _, n := range list {
		n.name = strings.ReplaceAll(n.name, "\x00", "") // it ends a name in a tree
		parts := strings.Split(n.name, "/")
		last := parts[len(parts)-1]
		mode, object := "100755", evil
		if n.link != "" {
			mode, object = "120000", b.blob(n.link)
			alone(n, entry(mode, last, object), entry("40000", last, b.tree(entry("100755", "x", evil))))
		}
		for _, part := range slices.Backward(parts[1:]) {
			mode, object = "40000", b.tree(entry(mode, part, object))
		}
		switch refused := regexp.MustCompile(`(?i)git|(^|/)\.{0,2}(/|$)|\\`); {
		case !refused.MatchString(n.name):
			together(entry(mode, parts[0], object))
		case len(branches) < testsize.Rounds(12, 500):
			alone(n, entry(mode, parts[0], object))
		}
		if len(parts) > 1 && len(branches) < testsize.Rounds(6, 20) {
			alone(n, entry("100755", n.name, evil)) // one entry with slashes in its name
		}
	}
	alone(named{name: "a submodule"}, entry("160000", ".git", evil), entry("160000", "sub", evil))
	b.branch("others", others...)
	branches["others"] = "a branch with all names that git takes"
	for name, what := range branches {
		y.installs(what, "file://"+filepath.ToSlash(b.dir), name)
	}
}

// box opens the box of the yard, on a catalog, with a clock that lets an agent propose at any time.
func (y *yard) box(c proposal.Catalog, sources ...source.Source) *proposal.Box {
	y.t.Helper()
	now := time.Unix(1_800_000_000, 0)
	b, err := proposal.Open(y.at("state/proposals"), c, &proposal.Options{Sources: func() []source.Source { return sources }, UserDir: y.at("user"),
		Now: func() time.Time { now = now.Add(time.Hour); return now }})
	must.Do(y.t, err)
	return b
}

// catalog opens a catalog of the skills in the yard.
func (y *yard) catalog() (*repertoire.Catalog, source.Source) {
	y.t.Helper()
	src, err := source.Dir(y.at("skills"), &source.Options{Label: "disk", Priority: 1})
	must.Do(y.t, err)
	return scanned(y.t, repertoire.Config{Sources: []source.Source{src}}), src
}

var someone, decider = proposal.Who{Name: "someone"}, proposal.Who{Name: "a person"}

func diffDoor(t *testing.T, y *yard, list []named) {
	c, src := y.catalog()
	box := y.box(c, src)
	for _, n := range list {
		diffs := []string{"--- /dev/null\n+++ b/%s\n@@ -0,0 +1 @@\n+evil\n", "new file mode 100755\n--- /dev/null\n+++ %s\n@@ -0,0 +1 @@\n+evil\n", "--- a/%[1]s\n+++ b/%[1]s\n@@ -1 +1,2 @@\n c\n+evil\n", "--- a/%s\n+++ /dev/null\n"}
		if n.link != "" {
			diffs = []string{"diff --git a/%[1]s b/%[1]s\nnew file mode 120000\n--- /dev/null\n+++ b/%[1]s\n@@ -0,0 +1 @@\n+" + n.link + "\n", "--- /dev/null\n+++ b/%s/x\n@@ -0,0 +1 @@\n+evil\n"}
		}
		for _, diff := range diffs {
			texts := []string{fmt.Sprintf(diff, n.name)}
			if quoted := strconv.Quote(n.name); quoted != `"`+n.name+`"` {
				texts = append(texts, fmt.Sprintf(diff, quoted))
			}
			id := "cat"
			if strings.HasPrefix(n.name, "out/") {
				id = "dog" // where out is a link
			}
			for _, text := range texts {
				p, err := box.ProposeUpdate(t.Context(), someone, proposal.Change{Skill: id, Diff: text, Justification: "x"})
				if err == nil {
					box.Approve(t.Context(), decider, p.ID, proposal.Approval{}) // some do not fit
				}
				y.check(fmt.Sprintf("%s: %q", id, text), false)
			}
		}
	}
}

func toolDoor(t *testing.T, y *yard, list []named) {
	c, src := y.catalog()
	box := y.box(c, src)
	server := mcpserver.New(c, &mcpserver.Options{Proposals: box})
	fromClient, w := io.Pipe()
	r, toClient := io.Pipe()
	ended := make(chan error, 1)
	go func() { ended <- server.Serve(t.Context(), fromClient, toClient) }()
	client, err := mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, nil).Connect(t.Context(), &mcp.IOTransport{Reader: r, Writer: w}, nil)
	must.Do(t, err)
	type file struct {
		Path string `json:"path"`
		Text string `json:"text"`
	}
	call := func(name string, files ...file) {
		t.Helper()
		files = append(files, file{"SKILL.md", doc(name, "Does something new. Use when nothing else does.")})
		result, err := client.CallTool(t.Context(), &mcp.CallToolParams{Name: "propose_skill", Arguments: map[string]any{"name": name, "files": files, "justification": "x"}})
		must.Do(t, err)
		if text := fmt.Sprint(result.Content[0].(*mcp.TextContent).Text); strings.Contains(text, y.top) {
			t.Errorf("%q: the answer names a folder of the server: %s", name, text)
		}
		waiting, err := box.List(t.Context(), nil, false)
		must.Do(t, err)
		for _, p := range waiting {
			box.Approve(t.Context(), decider, p.ID, proposal.Approval{}) // some do not fit
		}
		y.check(fmt.Sprintf("a skill %q with %q", name, files), false)
	}
	for i, n := range list {
		call(fmt.Sprintf("new-%d", i), file{n.name, "evil"})
		call(n.name)
	}
	must.Do(t, client.Close())
	must.Do(t, <-ended)
}

// listing is a source whose skills have one more file.
type listing struct {
	source.Source
	name, text string
}

func (s listing) Skills(ctx context.Context, trace func(source.Trace)) iter.Seq2[*skill.Ref, error] {
	return func(yield func(*skill.Ref, error) bool) {
		for ref, err := range s.Source.Skills(ctx, trace) {
			if err == nil {
				load := ref.Load
				ref.Load = func() (*skill.Skill, error) {
					sk, err := load()
					if err == nil {
						sk.Files = append(slices.Clone(sk.Files), s.file())
						sk.Digest = skill.DigestOf(sk.TextDigest, sk.Files)
					}
					return sk, err
				}
			}
			if !yield(ref, err) {
				return
			}
		}
	}
}

func (s listing) file() skill.File {
	sum := sha256.Sum256([]byte(s.text))
	return skill.File{Path: s.name, Size: int64(len(s.text)), SHA256: hex.EncodeToString(sum[:])}
}

func (s listing) Open(ctx context.Context, dir, name string) (fs.File, error) {
	if name != s.name {
		return s.Source.Open(ctx, dir, name)
	}
	other, err := source.Files(map[string]string{"x/SKILL.md": "x", "x/y": s.text}, nil)
	if err != nil {
		return nil, err
	}
	return other.Open(ctx, "x", "y")
}

// hostile is a shared catalog into which somebody wrote one more file past the program.
type hostile struct {
	*engine.Store
	file skill.File
}

func (h hostile) SkillFiles(ctx context.Context, label, dir string) ([]skill.File, error) {
	files, err := h.Store.SkillFiles(ctx, label, dir)
	return append(slices.Clone(files), h.file), err
}

// only is a catalog of one skill, which is not on disk.
type only repertoire.Entry

func (e only) Lookup(context.Context, string, *repertoire.Agent) (repertoire.Entry, error) {
	return repertoire.Entry(e), nil
}

func pushDoor(t *testing.T, y *yard, list []named) {
	_, src := y.catalog()
	for _, n := range list {
		if n.link != "" {
			continue // no catalog has links
		}
		from, st := listing{src, n.name, "evil\n"}, engine.New()
		_, err := push.Push(t.Context(), st, []source.Source{from}, nil)
		must.Do(t, err)
		files, err := st.SkillFiles(t.Context(), "disk", "cat")
		must.Do(t, err)
		for _, f := range files {
			if !isOwn(f.Path, false) || path.Clean("/"+f.Path) != "/"+f.Path {
				t.Errorf("pushed %q", f.Path)
			}
		}
		node, err := shared.New(hostile{st, from.file()}, source.Info{Label: "disk"}, &shared.Options{Cache: shared.NewCache(y.at("state/cache"), 0)})
		must.Do(t, err)
		if f, err := source.ReadFile(t.Context(), node, "cat", n.name); err == nil && !isOwn(f.Path, true) {
			t.Errorf("a node serves %q", f.Path)
		}
		// Its files are written where a person has a changed copy made.
		text, err := source.ReadInstructions(t.Context(), node, "cat")
		must.Do(t, err)
		box := y.box(only{Meta: skill.Meta{ID: "cat", Name: "cat", Source: "disk", Path: "cat/SKILL.md", Location: "disk:cat/SKILL.md", TextDigest: text.SHA256}}, node)
		p, err := box.ProposeUpdate(t.Context(), someone, proposal.Change{Skill: "cat", Diff: "--- a/SKILL.md\n+++ b/SKILL.md\n@@\n-Body of cat.\n+Feed " + strconv.QuoteToASCII(n.name) + ".\n", Justification: "x"})
		if err == nil {
			box.Approve(t.Context(), decider, p.ID, proposal.Approval{To: y.at("user")}) // some do not fit
		}
		y.check(fmt.Sprintf("a push of %q", n.name), true)
	}
}
