package source_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/repertoire-skills/repertoire/internal/must"
	"github.com/repertoire-skills/repertoire/skill"
	"github.com/repertoire-skills/repertoire/source"
)

// In the user's own folders a SKILL.md may be a link out of its folder: to the instructions of
// a skill, where no password and no history lies, and not out of a clone.
func TestLinkedInstructions(t *testing.T) {
	long := doc("long") + strings.Repeat("x", skill.MaxFile)
	dir := folder(t, map[string]string{
		"s/pack/SKILL.md": doc("pack"), "s/pack/roof/SKILL.md": doc("roof"), "store/tyres.md": doc("tyres"), "store/lock": "-> tyres.md",
		"store/plain.md": secret, "store/long.md": long, "store/.ssh/SKILL.md": doc("ssh"), "store/.git/SKILL.md": doc("git"), "store/d/f": "",
		"s/clone/.git/HEAD": "", "s/clone/src/a.md": doc("inner"),
		"s/near/SKILL.md": "-> ../pack/roof/SKILL.md", "s/far/SKILL.md": "-> ../../store/tyres.md", "s/far/f.txt": "text", "s/chain/SKILL.md": "-> ../../store/lock",
		"s/lower/skill.md": "-> ../../store/tyres.md", "s/clone/in/SKILL.md": "-> ../src/a.md",
		"s/clone/out/SKILL.md": "-> ../../../store/tyres.md", "s/clone/again/SKILL.md": "-> ../../far/SKILL.md",
		"s/plain/SKILL.md": "-> ../../store/plain.md", "s/long/SKILL.md": "-> ../../store/long.md", "s/ssh/SKILL.md": "-> ../../store/.ssh/SKILL.md",
		"s/git/SKILL.md": "-> ../../store/.git/SKILL.md", "s/dir/SKILL.md": "-> ../../store/d", "s/loop/SKILL.md": "-> ../../store/loop", "store/loop": "-> loop",
		"s/gone/SKILL.md": "-> ../../store/gone.md", "s/file/SKILL.md": "-> ../far/SKILL.md", "s/file/f.txt": "-> ../../store/tyres.md",
	})
	link(t, filepath.Join(dir, "store", "tyres.md"), filepath.Join(dir, "s", "absolute", "SKILL.md"))
	linked := open(t, filepath.Join(dir, "s"), &source.Options{Own: true})
	for name, want := range map[string]string{
		"near": "roof", "far": "tyres", "chain": "tyres", "absolute": "tyres", "lower": "tyres", "clone/in": "inner", "file": "tyres",
		"clone/out": "not-a-file", "clone/again": "not-a-file", "plain": "no-frontmatter", "long": "not-a-file", "ssh": "not-a-file", "git": "not-a-file",
		"dir": "not-a-file", "loop": "not-a-file", "gone": "missing",
	} {
		sk, err := source.Load(t.Context(), linked, name)
		text, readErr := source.ReadInstructions(t.Context(), linked, name)
		if bad, ok := errors.AsType[*skill.ParseError](err); sk != nil && sk.Name != want || sk == nil && (!ok || bad.Problem.Rule != want) && !(want == "missing" && errors.Is(err, fs.ErrNotExist)) {
			t.Errorf("%s: %v, %v; want %s", name, sk, err, want)
		}
		if (readErr == nil) != (err == nil) || text != nil && text.SHA256 != sk.TextDigest {
			t.Errorf("%s: read %v, %v", name, text, readErr)
		}
	}
	if _, err := source.ReadFile(t.Context(), linked, "file", "f.txt"); !errors.Is(err, source.ErrRefused) {
		t.Errorf("another file that is a link: %v", err)
	}
	for _, name := range []string{"near", "far", "absolute", "clone/in"} {
		_, err := source.Load(t.Context(), open(t, filepath.Join(dir, "s"), nil), name)
		if bad, ok := errors.AsType[*skill.ParseError](err); !ok || bad.Problem.Rule != "not-a-file" {
			t.Errorf("%s in a folder of somebody else: %v", name, err)
		}
	}
}

// The digest of a skill whose SKILL.md is a link is the digest of what was read, and a change of
// what the link leads to is a change of the skill.
func TestLinkedChange(t *testing.T) {
	dir := folder(t, map[string]string{"s/a/SKILL.md": "-> ../../store/a.md", "s/a/f.txt": "text", "store/a.md": doc("a"), "t/a/SKILL.md": doc("a"), "t/a/f.txt": "text"})
	old := time.Now().Add(-time.Hour)
	must.Do(t, os.Chtimes(filepath.Join(dir, "s", "a"), old, old))
	s := open(t, filepath.Join(dir, "s"), &source.Options{Own: true})
	if linked, plain := load(t, s, "a/SKILL.md"), load(t, open(t, filepath.Join(dir, "t"), nil), "a/SKILL.md"); linked.Digest != plain.Digest || len(linked.Files) != 2 {
		t.Errorf("digest %s of %v, want %s", linked.Digest, linked.Files, plain.Digest)
	}
	before, trace, ok := s.Skill("a")
	if !ok || before.Stamp == "" || !s.Unchanged(trace) {
		t.Fatalf("stamp %+v, trace %+v", before, trace)
	}
	target := filepath.Join(dir, "store", "a.md")
	must.Do(t, os.WriteFile(target, []byte(doc("a")+"more"), 0o600))
	must.Do(t, os.Chtimes(target, time.Now().Add(-time.Minute), time.Now().Add(-time.Minute)))
	if after, _, _ := s.Skill("a"); after.Stamp == before.Stamp || s.Unchanged(trace) {
		t.Error("a change of what the link leads to was not noticed")
	}
}
