package config_test

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/repertoire-skills/repertoire/internal/config"
	"github.com/repertoire-skills/repertoire/internal/must"
)

// TestBrokenProject: whatever is wrong with the file of a project, it is left out with a
// warning that names it, and the settings are those of the user.
func TestBrokenProject(t *testing.T) {
	file := filepath.FromSlash(".agents/repertoire.yaml")
	for name, tt := range map[string]struct {
		text string
		make func(t *testing.T, name string) error
		want string
	}{
		"syntax":        {text: "roots: [\n", want: ":1: did not find expected node content"},
		"tab":           {text: "roots:\n\t- x\n", want: ":2: found character that cannot start any token"},
		"unknown key":   {text: "\nrots: [x]\n", want: ":2: configuration: no key \"rots\"; did you mean roots?"},
		"text":          {text: "hello\n", want: ":1: configuration must be a mapping of keys to values"},
		"binary":        {text: "\x00\xff", want: ": control characters are not allowed"},
		"not UTF-8":     {text: "roots: [\xff]\n", want: "invalid leading UTF-8 octet"},
		"two documents": {text: "agents: {}\n---\nagents: {}\n", want: ":2: a second document; a configuration is one"},
		"wrong type":    {text: "roots: {a: b}\n", want: ":1: roots must be a list of folders, or of mappings with path, label and names"},
		"number":        {text: "7\n", want: ":1: configuration must be a mapping of keys to values"},
		"alias":         {text: "agents: &a {x: {}}\nroots: *a\n", want: ":2: roots must be a list of folders, or of mappings with path, label and names"},
		"merge":         {text: "<<: {agents: {}}\n", want: ":1: configuration: no key \"<<\""},
		"bomb":          {text: bomb(), want: ":3: expected a text"},
		"deep":          {text: "roots: " + strings.Repeat("[", 20_000) + "\n", want: "exceeded max depth"},
		"deep mapping":  {text: "roots: [{path: x, names: {a: " + strings.Repeat("{a: ", 900) + "}]\n", want: "did not find expected"},
		"many roots":    {text: "roots:\n" + numbered(2000, "- x%d\n"), want: ":2: roots: 2000 folders; a project may name 64"},
		"long line":     {text: "roots: [" + strings.Repeat("x", 1<<16), want: ": it is longer than 65536 bytes"},
		"empty name":    {text: "roots: [{path: x, names: {\"\": y}}]\n", want: ":1: names: a key must be a text"},
		"own agent":     {text: "agents: {mine: {}}\n", want: ":1: agent mine: your own configuration has an agent of this name, which a project's cannot replace"},
		"pin":           {text: "agents: {a: {include: {names: [b*]}, pinned: [c]}}\n", want: ":1: agent a: pinned: skill \"c\" is not included; add it to include.names, or do not pin it"},
		"pattern":       {text: "agents: {a: {exclude: {names: [\"[\"]}}}\n", want: ":1: agent a: exclude.names: \"[\" is not a pattern (* ? [a-z] and \\ are special)"},
		"folder":        {make: func(_ *testing.T, name string) error { return os.Mkdir(name, 0o700) }, want: ": it is not a regular file"},
		"link to itself": {make: func(_ *testing.T, name string) error { return os.Symlink(filepath.Base(name), name) },
			want: ": too many levels of symbolic links"},
		"link to nowhere": {make: func(_ *testing.T, name string) error { return os.Symlink("nowhere", name) },
			want: ": it is a link to a file that does not exist"},
		"link to a device": {make: func(_ *testing.T, name string) error { return os.Symlink(os.DevNull, name) },
			want: ": it leads to " + os.DevNull + ", out of the project"},
		"link out of the project": {make: func(t *testing.T, name string) error {
			secret := filepath.Join(filepath.Dir(filepath.Dir(filepath.Dir(name))), "secret")
			must.Write(t, secret, "password: x\n")
			return os.Symlink(secret, name)
		}, want: "secret, out of the project"},
		"pipe": {make: makePipe, want: ": it is not a regular file"},
	} {
		t.Run(name, func(t *testing.T) {
			project := machine(t)
			name := filepath.Join(project, file)
			must.Do(t, os.Remove(name))
			must.Write(t, filepath.Join(filepath.Dir(project), "own.yaml"), "roots: [more]\nagents: {mine: {exclude: {names: [x]}}}\n")
			if tt.make == nil {
				must.Write(t, name, tt.text)
			} else if err := tt.make(t, name); err != nil {
				t.Skip(err)
			}
			var warned []error
			s, err := config.Read(filepath.Join(project, "sub"), &config.Options{Warn: func(err error) { warned = append(warned, err) }})
			must.Do(t, err)
			if len(warned) != 1 || !strings.HasPrefix(warned[0].Error(), name) || !strings.Contains(warned[0].Error(), tt.want) ||
				!strings.HasSuffix(warned[0].Error(), " (the project's configuration is left out)") {
				t.Errorf("warned of %v, want %s", warned, tt.want)
			}
			if mistake, ok := errors.AsType[*config.Error](errors.Join(warned...)); !ok || mistake.File != name || strings.Contains(mistake.Error(), "password") {
				t.Errorf("no mistake in the file: %v", warned)
			}
			if diff := cmp.Diff([]string{"more"}, roots(t, s, filepath.Dir(project))); diff != "" || len(s.Agents) != 1 || len(s.Agents[0].Exclude.Names) != 1 {
				t.Errorf("agents %v, roots (-want +got)\n%s", s.Agents, diff)
			}
		})
	}
}

// numbered returns lines with the numbers from 1 to n.
func numbered(n int, format string) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, format, i+1)
	}
	return b.String()
}

// bomb returns YAML whose aliases stand for a billion texts.
func bomb() string {
	text := "agents:\n  a0: {pinned: &a0 [x]}\n"
	for i := range 9 {
		text += fmt.Sprintf("  a%d: {pinned: &a%d [%s*a%d]}\n", i+1, i+1, strings.Repeat(fmt.Sprintf("*a%d, ", i), 9), i)
	}
	return text
}

// TestLastGood: what was read well last takes the place of a file of the user with a
// mistake, for who wants that, unless the copy is damaged.
func TestLastGood(t *testing.T) {
	project := machine(t)
	home := filepath.Dir(project)
	own, state := filepath.Join(home, "own.yaml"), filepath.Join(home, "state")
	read := func(lastGood bool) (schedule string, warned []error, err error) {
		s, err := config.Read(home, &config.Options{State: state, LastGood: lastGood, Warn: func(err error) { warned = append(warned, err) }})
		return s.Schedule, warned, err
	}
	good := func(schedule string) {
		t.Helper()
		must.Write(t, own, "schedule: \""+schedule+"\"\n")
		if got, warned, err := read(false); got != schedule || warned != nil || err != nil {
			t.Fatalf("schedule %q, warned of %v, error %v", got, warned, err)
		}
	}
	const bad = "schedule: never\nuser: maybe\n"
	want := own + `:2: expected true or false, not "maybe"`

	must.Write(t, own, bad)
	if _, _, err := read(true); err == nil || err.Error() != want {
		t.Errorf("without a copy: error %v", err)
	}
	good("@every 1h")
	good("@every 2h")
	must.Write(t, own, bad)
	if _, _, err := read(false); err == nil || err.Error() != want {
		t.Errorf("error %v, want %s", err, want)
	}
	got, warned, err := read(true)
	if got != "@every 2h" || err != nil || len(warned) != 1 || warned[0].Error() != want+" (the last settings without a mistake hold until you correct it)" {
		t.Errorf("schedule %q, error %v, warned of %v", got, err, warned)
	}

	copies, err := filepath.Glob(filepath.Join(state, "settings", "*"))
	if err != nil || len(copies) != 1 {
		t.Fatalf("copies %v, %v", copies, err)
	}
	data, err := os.ReadFile(copies[0])
	must.Do(t, err)
	for name, damaged := range map[string][]byte{"empty": nil, "cut": data[:len(data)-3], "longer": append(bytes.Clone(data), "user: false\n"...), "changed": bytes.Replace(data, []byte("@every 2h"), []byte("@every 1h"), 1)} {
		must.Do(t, os.WriteFile(copies[0], damaged, 0o600))
		if _, _, err := read(true); err == nil {
			t.Errorf("a copy that is %s is used", name)
		}
	}
	good("@every 3h") // which writes it anew
	other := filepath.Join(home, "other.yaml")
	must.Write(t, other, bad)
	must.Do(t, os.Rename(copies[0], copies[0]+".old"))
	if _, err := config.Read(home, &config.Options{File: other, State: state, LastGood: true}); err == nil {
		t.Error("a copy of another file is used")
	}
	must.Do(t, os.Rename(copies[0]+".old", copies[0]))
	must.Do(t, os.Remove(own))
	if got, _, err := read(true); got != "" || err != nil {
		t.Errorf("without a file: schedule %q, %v", got, err)
	}
	must.Write(t, own, bad)
	if _, _, err := read(true); err == nil {
		t.Error("the copy of a file that was removed is used")
	}
}

// TestLastGoodUnwritable: a state folder that cannot be used is no reason to stop.
func TestLastGoodUnwritable(t *testing.T) {
	project := machine(t)
	state := filepath.Join(project, "state")
	must.Write(t, state, "a file where a folder is usual")
	for range 2 {
		s, err := config.Read(project, &config.Options{State: state, LastGood: true})
		must.Do(t, err)
		if s.Schedule != "@every 1h" {
			t.Errorf("schedule %q", s.Schedule)
		}
	}
}

// TestNoWorkingFolder: a working folder that was removed is no project, and no reason to stop.
func TestNoWorkingFolder(t *testing.T) {
	machine(t)
	dir := filepath.Join(t.TempDir(), "gone")
	must.Do(t, os.Mkdir(dir, 0o700))
	t.Chdir(dir)
	if os.Remove(dir) != nil {
		t.Skip("the working folder cannot be removed here")
	}
	if _, err := os.Getwd(); err == nil {
		t.Skip("the working folder is known although it was removed")
	}
	var warned []error
	s, err := config.Read("", &config.Options{Warn: func(err error) { warned = append(warned, err) }})
	must.Do(t, err)
	sources, err := s.Sources("", nil)
	must.Do(t, err)
	if len(warned) != 1 || !strings.HasPrefix(warned[0].Error(), "no project: ") || len(sources) != 3 {
		t.Errorf("%d sources, warned of %v", len(sources), warned)
	}
	if p := config.NewProject(""); p.Scope("/", sources, nil) != nil {
		t.Errorf("project %v", p)
	}
}
