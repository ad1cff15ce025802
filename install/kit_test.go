package install

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/repertoire-skills/repertoire/internal/must"
	"github.com/repertoire-skills/repertoire/internal/testsize"
	"github.com/repertoire-skills/repertoire/skill"
)

func TestMain(m *testing.M) { testsize.Main(m) }

// says fails the test unless an error has a text in it.
func says(t testing.TB, err error, text string) {
	t.Helper()
	if err == nil || !strings.Contains(err.Error(), text) {
		t.Errorf("error %v; want %q in it", err, text)
	}
}

func doc(name, text string) string {
	return "---\nname: " + name + "\ndescription: " + text + " Use when the user asks for it.\n---\n# " + name + "\n\n" + text + "\n"
}

// skills writes skills into a folder, each with a script.
func skills(t testing.TB, dir string, names ...string) string {
	t.Helper()
	for _, name := range names {
		must.Write(t, filepath.Join(dir, name, "SKILL.md"), doc(name, "Cares for "+name+"."))
		must.Write(t, filepath.Join(dir, name, "scripts", "run.sh"), "#!/bin/sh\necho "+name+"\n")
		must.Do(t, os.Chmod(filepath.Join(dir, name, "scripts", "run.sh"), 0o755))
	}
	return dir
}

func installer(t testing.TB, o *Options) *Installer {
	t.Helper()
	if o == nil {
		o = new(Options)
	}
	if o.Now == nil {
		o.Now = func() time.Time { return time.Date(2026, 5, 4, 3, 2, 1, 0, time.UTC) }
	}
	in, err := Open(filepath.Join(t.TempDir(), "skills"), o)
	must.Do(t, err)
	return in
}

// A caller answers what a test says, and remembers what it was asked.
type caller struct {
	no      bool // do not approve
	action  Action
	name    string
	asked   []string
	changes []*Change
	before  func() // called when it is asked for approval
}

// beside as the name of a caller keeps both of two skills.
const beside = "beside"

var errTaken = errors.New("taken")

func (c *caller) Resolve(_ context.Context, change *Change, may bool) (Action, string, error) {
	c.asked = append(c.asked, change.Reason)
	if c.action == "" {
		return "", "", errors.Join(errTaken, errors.New(change.Reason))
	}
	if c.name == beside {
		return c.action, change.Beside, nil
	}
	return c.action, c.name, nil
}

func (c *caller) Approve(_ context.Context, changes []*Change) (bool, error) {
	c.changes = changes
	if c.before != nil {
		c.before()
	}
	return !c.no, nil
}

// add installs skills of a source.
func add(t testing.TB, in *Installer, source string, names ...string) *Result {
	t.Helper()
	r, err := in.Install(t.Context(), Request{Source: source, Skills: names, All: len(names) == 0}, &caller{})
	must.Do(t, err)
	for _, c := range r.Changes {
		if c.Action == Refuse {
			t.Fatalf("%s: %s", c.Name, c.Reason)
		}
	}
	return r
}

// summary returns what changes do, sorted by name.
func summary(r *Result) string {
	var list []string
	for _, c := range r.Changes {
		list = append(list, c.Name+" "+string(c.Action))
	}
	return strings.Join(list, ", ")
}

// clean checks that the folder of installed skills holds these skills and nothing of a
// stage, and that all of them are as the lock says.
func clean(t testing.TB, in *Installer, want ...string) {
	t.Helper()
	entries, err := os.ReadDir(in.dir)
	if err != nil && !os.IsNotExist(err) {
		t.Fatal(err)
	}
	var got []string
	for _, e := range entries {
		switch {
		case strings.HasPrefix(e.Name(), skill.StagingPrefix):
			t.Errorf("%s was left", e.Name())
		case e.IsDir():
			got = append(got, e.Name())
		}
	}
	slices.Sort(want)
	if !slices.Equal(got, want) {
		t.Errorf("installed %q, want %q", got, want)
	}
	verdicts, unknown, err := in.Verify(t.Context(), nil)
	if err != nil || len(unknown) > 0 || len(verdicts) != len(want) {
		t.Errorf("%d verdicts, unknown %q, error %v", len(verdicts), unknown, err)
	}
	for _, v := range verdicts {
		if !v.OK {
			t.Errorf("%s is not as it was installed: %+v", v.Name, v.Edits)
		}
	}
}

// gitEnvFor keeps the configuration of whoever runs the tests out of them.
func gitEnvFor(t testing.TB) {
	t.Helper()
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip("this test needs git")
	}
	home := t.TempDir()
	for name, value := range map[string]string{"HOME": home, "XDG_CONFIG_HOME": filepath.Join(home, "config"), "GIT_CONFIG_NOSYSTEM": "1",
		"GIT_AUTHOR_NAME": "A", "GIT_AUTHOR_EMAIL": "a@example.com", "GIT_COMMITTER_NAME": "A", "GIT_COMMITTER_EMAIL": "a@example.com"} {
		t.Setenv(name, value)
	}
}

// gitIn runs git in a folder and returns what it prints.
func gitIn(t testing.TB, dir string, args ...string) string {
	t.Helper()
	cmd := exec.Command("git", args...)
	cmd.Dir = dir
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("git %q: %v\n%s", args, err, out)
	}
	return strings.TrimSpace(string(out))
}

// repository makes a repository with skills below skills/, and returns its folder.
func repository(t testing.TB, names ...string) string {
	t.Helper()
	gitEnvFor(t)
	dir := t.TempDir()
	gitIn(t, dir, "init", "--quiet", "--initial-branch=main")
	skills(t, filepath.Join(dir, "skills"), names...)
	record(t, dir, "first")
	return dir
}

// record commits all files of a repository.
func record(t testing.TB, dir, message string) {
	t.Helper()
	gitIn(t, dir, "add", "--all")
	gitIn(t, dir, "commit", "--quiet", "--message", message)
}
