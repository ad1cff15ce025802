package source_test

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"

	"github.com/repertoire-skills/repertoire/internal/must"
	"github.com/repertoire-skills/repertoire/source"
)

const secret = "the secret outside"

// vault makes a source at skills/ with a skill a, a secret all around it and
// links that lead there.
func vault(tb testing.TB) *source.FS {
	tb.Helper()
	dir := folder(tb, map[string]string{
		"secret.txt":               secret,
		"skills/secret.txt":        secret,
		"skills/b/SKILL.md":        doc("b") + secret,
		"skills/b/secret.txt":      secret,
		"skills/a/SKILL.md":        doc("a"),
		"skills/a/x/file.txt":      "text",
		"skills/a/x/y/deep.txt":    "deep",
		"skills/a/.git/config":     secret,
		"skills/a/nested/SKILL.md": doc("nested"),
		"skills/a/in":              "-> x/file.txt",
		"skills/a/indir":           "-> x",
		"skills/a/x/up":            "-> ../SKILL.md",
		"skills/a/out":             "-> ../secret.txt",
		"skills/a/outdir":          "-> ..",
		"skills/a/sibling":         "-> ../b",
		"skills/a/x/far":           "-> ../../../secret.txt",
		"skills/a/hop":             "-> outdir/secret.txt",
		"skills/a/loop":            "-> loop",
		"skills/a/git":             "-> .git/config",
		"skills/a/gitdir":          "-> ./.git",
		"skills/a/x/git":           "-> ../gitdir/config",
		"skills/a/x/back":          "-> ../x/../x/y/../../.GIT/config",
		"skills/a/dots":            "-> .git./config",
		"skills/a/stream":          "-> .git::$INDEX_ALLOCATION/config",
	})
	link(tb, filepath.Join(dir, "secret.txt"), filepath.Join(dir, "skills", "a", "abs"))
	return open(tb, filepath.Join(dir, "skills"), nil)
}

func TestReadFile(t *testing.T) {
	s := vault(t)
	for name, want := range map[string]string{
		"SKILL.md": doc("a"), "x/file.txt": "text", "x/y/deep.txt": "deep", "nested/SKILL.md": doc("nested"),
		"in": "text", "indir/file.txt": "text", "x/up": doc("a"), "./x/file.txt": "text", "x//y/./deep.txt": "deep",
	} {
		f, err := source.ReadFile(t.Context(), s, "a", name)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if diff := cmp.Diff(&source.File{Path: path.Clean(name), Size: int64(len(want)), SHA256: sum(want), Data: []byte(want)}, f); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

func TestReadFileRefused(t *testing.T) {
	s := vault(t)
	names := map[string]string{
		"": "empty", ".": "folder", "x": "folder", "x/": "folder", "x/../SKILL.md": `".."`,
		"..": `".."`, "../secret.txt": `".."`, "../b/secret.txt": `".."`, "x/../../secret.txt": `".."`,
		"/etc/passwd": "absolute", "//host/share": "absolute",
		`x\file.txt`: "backslash", `..\secret.txt`: "backslash", `\\host\share\x`: "backslash", `C:\x`: "backslash",
		"C:x": "colon", "c:/x": "colon", "SKILL.md::$DATA": "colon", "SKILL.md\x00": "NUL", "\x00": "NUL", "a\nb": "control", "\xff": "UTF-8",
		"SKILL.md.": "dot or a space", "SKILL.md ": "dot or a space", "x /file.txt": "dot or a space", "x./file.txt": "dot or a space",
		"NUL": "device", "con.txt": "device", "x/aux": "device", "COM1.tar.gz": "device", "lpt9": "device", "CONIN$": "device", "nul .txt": "device", "com²": "device",
		".git/config": "not part", "git~1/config": "not part", "NODE_M~1/x": "not part", ".g\u200cit/config": "not part",
		"git": "link into .git", "gitdir/config": "link into .git", "x/git": "link into .git", "indir/git": "link into .git", "x/back": "link into .GIT", "dots": "link into .git.", "stream": "link into .git::",
		".GIT/config": "not part", "x/node_modules/y": "not part",
		"out": "outside", "outdir": "outside", "outdir/secret.txt": "outside", "sibling/secret.txt": "outside", "x/far": "outside", "hop": "outside", "abs": "outside",
		strings.Repeat("x", 2000): "longer",
	}
	for name, reason := range names {
		f, err := source.ReadFile(t.Context(), s, "a", name)
		var fe *source.FileError
		if !errors.Is(err, source.ErrRefused) || !errors.As(err, &fe) || !strings.Contains(err.Error(), reason) {
			t.Errorf("%.40q: %v, %v; want a refusal that says %q", name, f, err, reason)
		}
	}
	if _, err := source.ReadFile(t.Context(), s, "a", "loop"); err == nil {
		t.Error("a link to itself was read")
	}
}

// The folder is as much a part of a request as the name is.
func TestReadFileFolder(t *testing.T) {
	s := vault(t)
	for dir, want := range map[string]error{
		".": fs.ErrNotExist, "none": fs.ErrNotExist, "a/x": source.ErrRefused, "a/nested": source.ErrRefused, "a/.git": source.ErrRefused,
		"a/sibling": source.ErrRefused, "": source.ErrRefused, "..": source.ErrRefused, "/": source.ErrRefused, "../skills/a": source.ErrRefused, "a/": source.ErrRefused, "a/../b": source.ErrRefused, `b\`: fs.ErrNotExist, "b\x00": source.ErrRefused,
	} {
		if f, err := source.ReadFile(t.Context(), s, dir, "secret.txt"); !errors.Is(err, want) {
			t.Errorf("folder %q: %v, %v; want %v", dir, f, err, want)
		}
	}
}

func TestReadFileNear(t *testing.T) {
	s := open(t, folder(t, map[string]string{
		"a/SKILL.md": doc("a"), "a/scripts/fill_form.py": "", "a/scripts/fill_forms.py": "", "a/old/fill_form.py": "", "a/old/fill_from.py": "", "a/zebra.txt": "",
	}), nil)
	tests := map[string][]string{
		"scripts/fil_form.py": {"scripts/fill_form.py", "scripts/fill_forms.py"},
		"fill_form.py":        {"old/fill_form.py", "scripts/fill_form.py"},
		"skills.md":           {"SKILL.md"},
		"nothing-like-it.png": nil,
		"zebra.txt/below":     nil,
	}
	for name, want := range tests {
		_, err := source.ReadFile(t.Context(), s, "a", name)
		var fe *source.FileError
		if !errors.Is(err, fs.ErrNotExist) || !errors.As(err, &fe) {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if diff := cmp.Diff(want, fe.Near); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
		for _, near := range want {
			if !strings.Contains(err.Error(), near) {
				t.Errorf("%v does not name %s", err, near)
			}
		}
	}
}

func TestReadFileSize(t *testing.T) {
	dir := folder(t, map[string]string{"a/SKILL.md": doc("a"), "a/ten": "0123456789", "a/eleven": "0123456789x"})
	s := open(t, dir, &source.Options{MaxFile: 10})
	if _, err := source.ReadFile(t.Context(), s, "a", "ten"); err != nil {
		t.Error(err)
	}
	_, err := source.ReadFile(t.Context(), s, "a", "eleven")
	if !errors.Is(err, source.ErrTooLarge) || !strings.Contains(err.Error(), "11 bytes") || !strings.Contains(err.Error(), "limit is 10") {
		t.Errorf("eleven bytes: %v", err)
	}
	if f, err := source.ReadInstructions(t.Context(), s, "a"); err != nil || string(f.Data) != doc("a") {
		t.Errorf("MaxFile bounds the instructions: %v, %v", f, err)
	}
	must.Do(t, os.Truncate(filepath.Join(dir, "a", "ten"), 1<<20+1))
	if _, err := source.ReadFile(t.Context(), open(t, dir, nil), "a", "ten"); !errors.Is(err, source.ErrTooLarge) {
		t.Errorf("default limit: %v", err)
	}
	if _, err := source.ReadFile(t.Context(), open(t, dir, &source.Options{MaxFile: 1<<63 - 1}), "a", "ten"); err != nil {
		t.Errorf("no limit: %v", err)
	}
}

func TestReadFileBinary(t *testing.T) {
	late := strings.Repeat("x", 8<<10) + "\x00"
	for text, want := range map[string]bool{"": false, "text": false, "tëxt": false, "a\x00b": true, "\xff\xfe": true, late: false} {
		s, err := source.New(fstest.MapFS{"a/SKILL.md": {}, "a/f": {Data: []byte(text)}}, nil)
		must.Do(t, err)
		f, err := source.ReadFile(t.Context(), s, "a", "f")
		must.Do(t, err)
		if f.Binary != want || string(f.Data) != text {
			t.Errorf("%.10q: binary %t, data %.10q", text, f.Binary, f.Data)
		}
	}
}

func TestReadFileFS(t *testing.T) {
	s, err := source.New(fstest.MapFS{
		"secret.txt": {Data: []byte(secret)},
		"a/SKILL.md": {Data: []byte(doc("a"))},
		"a/x/f.txt":  {Data: []byte("text")},
		"a/link":     {Data: []byte("../secret.txt"), Mode: fs.ModeSymlink},
		"a/dir":      {Data: []byte(".."), Mode: fs.ModeSymlink},
		"a/pipe":     {Mode: fs.ModeNamedPipe},
		"linked":     {Data: []byte("a"), Mode: fs.ModeSymlink},
	}, nil)
	must.Do(t, err)
	if f, err := source.ReadFile(t.Context(), s, "a", "x/f.txt"); err != nil || string(f.Data) != "text" {
		t.Errorf("x/f.txt: %v, %v", f, err)
	}
	for _, name := range []string{"link", "dir/secret.txt", "pipe", "x", "../secret.txt"} {
		if f, err := source.ReadFile(t.Context(), s, "a", name); !errors.Is(err, source.ErrRefused) {
			t.Errorf("%s: %v, %v", name, f, err)
		}
	}
	if f, err := source.ReadFile(t.Context(), s, "linked", "SKILL.md"); err == nil {
		t.Errorf("through a linked folder: %v", f)
	}
}

// A skill that is linked from elsewhere is confined to where it lies.
func TestReadFileLinkedSkill(t *testing.T) {
	out := folder(t, map[string]string{"secret.txt": secret, "real/SKILL.md": doc("real"), "real/f": "text", "real/up": "-> ../secret.txt", "real/s": "-> SKILL.md"})
	s := open(t, folder(t, map[string]string{"a": "-> " + out + "/real"}), nil)
	for _, name := range []string{"f", "s", "SKILL.md"} {
		if _, err := source.ReadFile(t.Context(), s, "a", name); err != nil {
			t.Error(err)
		}
	}
	if f, err := source.ReadFile(t.Context(), s, "a", "up"); !errors.Is(err, source.ErrRefused) {
		t.Errorf("up: %v, %v", f, err)
	}
}

// A skill's folder that becomes a link to a folder around the source would give all
// files there away, if that folder is a skill itself. A walk finds no skill there.
func TestReadFileLinkedAround(t *testing.T) {
	dir := folder(t, map[string]string{
		"SKILL.md": doc("project"), "secret.txt": secret, ".claude/skills/a": "-> ../..", ".claude/skills/x/self": "-> .",
		".claude/skills/out": "-> ../../team", "team/b/SKILL.md": doc("b"), "team/b/c": "text", "team/top": "-> ..",
	})
	s := open(t, filepath.Join(dir, ".claude", "skills"), nil)
	if f, err := source.ReadFile(t.Context(), s, "out/b", "c"); err != nil || string(f.Data) != "text" {
		t.Errorf("a skill behind a link: %v, %v", f, err)
	}
	for _, folder := range []string{"a", "x/self", "out/top"} {
		if f, err := source.ReadFile(t.Context(), s, folder, "secret.txt"); !errors.Is(err, source.ErrRefused) {
			t.Errorf("%s: %v, %v", folder, f, err)
		}
		if l, err := s.List(t.Context(), folder); !errors.Is(err, source.ErrRefused) {
			t.Errorf("%s: %v, %v", folder, l, err)
		}
	}
}

func TestInstructions(t *testing.T) {
	s := open(t, folder(t, map[string]string{"a/SKILL.md": doc("a"), "b/skill.md": doc("b"), "c/x": ""}), nil)
	for dir, file := range map[string]string{"a": "SKILL.md", "b": "skill.md"} {
		f, err := source.ReadInstructions(t.Context(), s, dir)
		if err != nil || f.Path != file || f.SHA256 != sum(doc(dir)) {
			t.Errorf("%s: %+v, %v", dir, f, err)
		}
	}
	if _, err := source.ReadInstructions(t.Context(), s, "c"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("no skill: %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := source.ReadInstructions(ctx, s, "a"); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
}

// Whatever is asked for, nothing outside of the skill's folder is returned.
func FuzzReadFile(f *testing.F) {
	s := vault(f)
	for _, name := range []string{"SKILL.md", "in", "out", "abs", "hop", "outdir/secret.txt", "sibling/SKILL.md", "../secret.txt", "x/../../b/secret.txt", ".git/config", "indir/../../secret.txt", "x/far", "C:x", "a\x00", `..\b`} {
		f.Add("a", name)
	}
	for _, dir := range []string{".", "a/sibling", "a/outdir", "a/nested", "..", "a/../b", "b", ""} {
		f.Add(dir, "secret.txt")
	}
	f.Fuzz(func(t *testing.T, dir, name string) {
		if dir == "b" {
			return // its own files hold the secret
		}
		got, err := source.ReadFile(t.Context(), s, dir, name)
		if err == nil && (strings.Contains(string(got.Data), secret) || !slices.Contains([]string{doc("a"), "text", "deep", doc("nested")}, string(got.Data))) {
			t.Errorf("folder %q, name %q: read %q", dir, name, got.Data)
		}
		var fe *source.FileError
		if err != nil && !errors.As(err, &fe) {
			t.Errorf("folder %q, name %q: %T", dir, name, err)
		}
	})
}
