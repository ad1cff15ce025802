package proposal

import (
	"strings"
	"testing"

	"github.com/repertoire-skills/repertoire/internal/must"
	"github.com/repertoire-skills/repertoire/source"
)

// pdf is a skill for tests of diffs.
func pdf() Files {
	return Files{
		"SKILL.md": {[]byte("---\nname: pdf\ndescription: Fills forms. Use when a PDF has fields.\n---\n# Forms\n\n" +
			"List the fields.\nFill them.\nCheck it.\n\nList the fields.\nShow them.\n"), 0o644},
		"scripts/fill.sh": {[]byte("#!/bin/sh\necho fill"), 0o755},
		"notes.txt":       {[]byte("one\r\ntwo\r\nthree\r\n"), 0o600},
	}
}

// TestApply: a sloppy diff is applied where its context leaves no doubt.
func TestApply(t *testing.T) {
	for _, c := range []struct{ name, diff, file, want string }{
		{"wrong numbers", "--- a/SKILL.md\n+++ b/SKILL.md\n@@ -99,1 +3,77 @@\n List the fields.\n-Fill them.\n+Fill all of them.\n Check it.\n",
			"SKILL.md", "List the fields.\nFill all of them.\nCheck it."},
		{"no prefixes", "--- SKILL.md\n+++ SKILL.md\n@@\n-Fill them.\n+Fill.\n", "SKILL.md", "\nFill.\nCheck"},
		{"fences and prose", "Here is it:\n\n```diff\n--- a/SKILL.md\n+++ b/SKILL.md\n@@ -1 +1 @@\n-Fill them.\n+Fill.\n```\nI hope it helps.\n- bye\n", "SKILL.md", "\nFill.\nCheck"},
		{"bare hunk", "@@ -1 +1 @@\n-Fill them.\n+Fill.", "SKILL.md", "\nFill.\nCheck"},
		{"no hunk header", "--- SKILL.md\n+++ SKILL.md\n-Fill them.\n+Fill.", "SKILL.md", "\nFill.\nCheck"},
		{"empty context without its space", "@@ -1 +1 @@\n Check it.\n\n-List the fields.\n+List all.\n Show them.\n\n\n", "SKILL.md", "Check it.\n\nList all.\nShow"},
		{"folder in the path", "--- a/skills/pdf/SKILL.md\n+++ b/skills/pdf/SKILL.md\n@@ -1 +1 @@\n-Fill them.\n+Fill.", "SKILL.md", "\nFill.\nCheck"},
		{"no final line feed", "--- a/scripts/fill.sh\n+++ b/scripts/fill.sh\n@@ -1,2 +1,2 @@\n #!/bin/sh\n-echo fill\n+echo filled\n", "scripts/fill.sh", "#!/bin/sh\necho filled"},
		{"a line feed comes", "--- a/scripts/fill.sh\n+++ b/scripts/fill.sh\n@@ -2 +2 @@\n-echo fill\n\\ No newline at end of file\n+echo fill\n", "scripts/fill.sh", "echo fill\n"},
		{"line ends of Windows", "--- a/notes.txt\n+++ b/notes.txt\n@@ -2 +2 @@\n one\n-two\n+zwei\n three", "notes.txt", "one\r\nzwei\r\nthree\r\n"},
		{"diff with line ends of Windows", "@@ -1 +1 @@\r\n-Fill them.\r\n+Fill.\r\n", "SKILL.md", "\nFill.\nCheck"},
		{"several files", "--- a/SKILL.md\n+++ b/SKILL.md\n@@ -1 +1 @@\n-Fill them.\n+Fill.\n--- a/notes.txt\n+++ b/notes.txt\n@@ -1 +1 @@\n-three\n+drei\n", "notes.txt", "two\r\ndrei\r\n"},
		{"a new file", "diff --git a/x/y.md b/x/y.md\nnew file mode 100644\n--- /dev/null\n+++ b/x/y.md\n@@ -0,0 +1,2 @@\n+one\n+two\n", "x/y.md", "one\ntwo\n"},
		{"a line that looks like a header", "@@ -1 +1 @@\n List the fields.\n-Fill them.\n+-- a\n+++ b\n Check it.\n", "SKILL.md", "-- a\n++ b\nCheck"},
	} {
		changes, err := parseDiff(c.diff, false)
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		out, err := apply(pdf(), changes, "pdf", false)
		if got := string(out[c.file].Data); err != nil || !strings.Contains(got, c.want) {
			t.Errorf("%s: %v\n%q", c.name, err, got)
		}
		if was, ok := pdf()[c.file]; ok && out[c.file].Mode != was.Mode {
			t.Errorf("%s: the mode is %v", c.name, out[c.file].Mode)
		}
	}
}

// TestApplyRemoves: a diff may remove a file, and say whether a new one is a script.
func TestApplyRemoves(t *testing.T) {
	changes, err := parseDiff("--- a/notes.txt\n+++ /dev/null\n@@ -1 +0,0 @@\n-one\ndiff --git a/run b/run\nnew file mode 100755\n--- /dev/null\n+++ b/run\n@@ -0,0 +1 @@\n+#!/bin/sh\n", false)
	must.Do(t, err)
	out, err := apply(pdf(), changes, "pdf", false)
	must.Do(t, err)
	if _, ok := out["notes.txt"]; ok || out["run"].Mode != scriptMode || len(out) != 3 {
		t.Errorf("%v", out)
	}
}

// TestRefused: what does not fit, or leads elsewhere, is refused with its place.
func TestRefused(t *testing.T) {
	for _, c := range []struct{ diff, want string }{
		{"@@ -1 +1 @@\n List the fields.\n+More.\n", "hunk 1 of SKILL.md, which fits in several places, at lines 7, 11;"},
		{"--- SKILL.md\n+++ SKILL.md\n@@\n-Fill them.\n+Fill.\n@@\n Check it.\n-Save it.\n+Store it.\n", `line 6 of the diff begins hunk 2 of SKILL.md, which does not fit: line 10 of the file is "", and the hunk has "Save it."`},
		{"@@\n-Nothing like it.\n", `the file has no line "Nothing like it."`},
		{"@@\n Show them.\n-More.\n", `the file ends after line 12, where the hunk has "More."`},
		{"@@\n+More.\n", "has no line of the file"},
		{"--- a/../other/SKILL.md\n+++ b/../other/SKILL.md\n@@\n-a\n+b\n", `".."`},
		{"--- /etc/passwd\n+++ /etc/passwd\n@@\n-a\n+b\n", "absolute"},
		{"--- /dev/null\n+++ b/C:\\x\n@@\n+b\n", "backslash"},
		{"--- a/gone.md\n+++ b/gone.md\n@@\n-a\n+b\n", "no such file"},
		{"--- a/x\n+++ b/y\n@@\n-a\n+b\n", "renames"},
		{"diff --git a/x b/y\nrename from x\nrename to y\n", "renames"},
		{"diff --git a/x b/x\nnew file mode 120000\n--- /dev/null\n+++ b/x\n@@\n+/etc/passwd\n", "makes a link"},
		{"diff --git a/x b/x\nGIT binary patch\nliteral 3\n", "binary"},
		{"--- /dev/null\n+++ b/SKILL.md\n@@\n+x\n", "adds SKILL.md, but the skill has that file"},
		{"--- a/notes.txt\n+++ b/notes.txt\n@@\n-one\n--- a/pdf/notes.txt\n+++ b/pdf/notes.txt\n@@\n-two\n", "twice"},
		{"Please make it better.", "has no hunk"},
		{"", "has no hunk"},
		{strings.Repeat("@@\n-a\n", 600), "more than 500 hunks"},
		{"@@ -1 +1 @@\n", "without lines"},
	} {
		changes, err := parseDiff(c.diff, false)
		if err == nil {
			_, err = apply(pdf(), changes, "pdf", false)
		}
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%q: %v, want %q", c.diff, err, c.want)
		}
	}
}

// TestRepetitive: a long hunk in a long file of equal lines is not looked for line by line.
func TestRepetitive(t *testing.T) {
	changes, err := parseDiff("@@\n-"+strings.Repeat("1\n-", 10_000)+"x\n", false)
	must.Do(t, err)
	file := Files{"SKILL.md": {[]byte(strings.Repeat("1\n", 100_000)), 0o644}}
	if _, err := apply(file, changes, "", false); err == nil || !strings.Contains(err.Error(), "does not fit") {
		t.Error(err)
	}
	changes[0].hunks[0].lines = changes[0].hunks[0].lines[:10_000]
	if _, err := apply(file, changes, "", false); err == nil || !strings.Contains(err.Error(), "at lines 1, 2, 3, 4, 5, …") {
		t.Error(err)
	}
}

// TestMerge: changes that do not touch each other go together, others are a conflict that
// names the lines as they are now.
func TestMerge(t *testing.T) {
	const base = "a\nb\nc\nd\ne\n"
	for _, c := range []struct{ name, now, proposed, want string }{
		{"apart", "A\nb\nc\nd\ne\n", "a\nb\nc\nd\nE\n", "A\nb\nc\nd\nE\n"},
		{"insertions apart", "0\na\nb\nc\nd\ne\n", "a\nb\nc\nd\ne\nf\n", "0\na\nb\nc\nd\ne\nf\n"},
		{"the same", "a\nX\nc\nd\ne\n", "a\nX\nc\nd\nE\n", "a\nX\nc\nd\nE\n"},
		{"no change since", base, "z\n", "z\n"},
		{"no final line feed", "a\nb\nc\nd\ne", "A\nb\nc\nd\ne\n", "A\nb\nc\nd\ne"},
	} {
		if got, err := mergeText(base, c.now, c.proposed); err != nil || got != c.want {
			t.Errorf("%s: %q, %v", c.name, got, err)
		}
	}
	_, err := mergeText(base, "0\na\nb\nC\nd\ne\n", "a\nb\nc!\nd\ne\n")
	if err == nil || err.Line != 4 || err.Last != 4 || err.Now != "C\n" || err.Proposed != "c!\n" {
		t.Errorf("%+v", err)
	}
	if _, err = mergeText(base, "a\nb\nc\nd\ne\nf\n", "a\nb\nc\nd\ne\ng\n"); err == nil || err.Line != 6 || err.Last != 6 {
		t.Errorf("two insertions at one place: %+v", err)
	}
}

// TestMergeFiles: a file that one side removes and the other changes is a conflict.
func TestMergeFiles(t *testing.T) {
	f := func(s string) File { return File{[]byte(s), 0o755} }
	base := Files{"a": f("a\n"), "b": f("b\n")}
	now := Files{"a": f("a\n"), "b": f("B\n"), "c": f("c\n")}
	out, err := merge3(base, now, Files{"b": f("b\n"), "d": {[]byte("d\n"), 0o644}})
	if _, ok := out["a"]; err != nil || ok || len(out) != 3 || string(out["b"].Data) != "B\n" {
		t.Errorf("%v, %v", out, err)
	}
	if _, err := merge3(base, now, Files{"a": f("a\n")}); err == nil || !strings.Contains(err.Error(), "b, the whole file") {
		t.Errorf("%v", err)
	}
	if _, err := merge3(base, now, Files{"a": f("a\n"), "b": f("b\n"), "c": f("x\n")}); err == nil {
		t.Error("two new files of one name are no conflict")
	}
}

// FuzzDiff: no diff makes the reader panic, and what it applies can be written as a diff
// that says the same.
func FuzzDiff(f *testing.F) {
	f.Add("@@ -1 +1 @@\n-Fill them.\n+Fill.\n")
	f.Add("```\n--- /dev/null\n+++ b/x\n@@\n+-- \n+++ \n\\ No newline\n```")
	f.Add("--- a/notes.txt\n+++ b/notes.txt\n@@ -2,3 +9 @@\n two\n\n")
	f.Add("diff --git a/x b/x\nnew file mode 100755\n--- /dev/null\n+++ b/x\n")
	f.Fuzz(func(t *testing.T, diff string) {
		changes, err := parseDiff(diff, false)
		if err != nil {
			return
		}
		out, err := apply(pdf(), changes, "pdf", false)
		if err != nil {
			return
		}
		again := roundTrip(t, pdf(), out)
		if len(changed(out, again)) > 0 {
			t.Errorf("%q: the diff of the result gives %v", diff, again)
		}
	})
}

// FuzzMerge: merging with what did not change gives the other side, and the diff between
// any two texts gives the second one.
func FuzzMerge(f *testing.F) {
	f.Add("a\nb\nc\n", "a\nb\nc", "x\nb\nc\n")
	f.Add("", "-- a\n++ b\n", "\r\n\n")
	f.Add("a\n\n\na\n\n\na\n", "a\n\n\na\n\n", "a\n\n\n\na")
	f.Fuzz(func(t *testing.T, base, a, b string) {
		for _, s := range []string{base, a, b} {
			if source.IsBinary([]byte(s)) || len(s) > 2000 {
				return
			}
		}
		if got, err := mergeText(base, base, a); err != nil || got != a {
			t.Errorf("%q with the change to %q: %q, %v", base, a, got, err)
		}
		if got, err := mergeText(base, a, base); err != nil || got != a {
			t.Errorf("%q changed to %q: %q, %v", base, a, got, err)
		}
		if got, err := mergeText(base, a, a); err != nil || got != a {
			t.Errorf("%q changed twice to %q: %q, %v", base, a, got, err)
		}
		one, err1 := mergeText(base, a, b)
		two, err2 := mergeText(base, b, a)
		if (err1 == nil) != (err2 == nil) || one != two {
			t.Errorf("%q, %q, %q: %q or %q", base, a, b, one, two)
		}
		from, to := Files{"x": {[]byte(base), 0o644}}, Files{"x": {[]byte(a), 0o644}, "y": {[]byte(b), 0o644}}
		if again := roundTrip(t, from, to); len(changed(to, again)) > 0 {
			t.Errorf("%q, %q, %q: %v", base, a, b, again)
		}
	})
}

// roundTrip writes a change as a diff, reads it and applies it.
func roundTrip(t *testing.T, from, to Files) Files {
	t.Helper()
	diff := unified("", from, to)
	if diff == "" {
		return from
	}
	changes, err := parseDiff(diff, true)
	if err != nil {
		t.Fatalf("%v in\n%s", err, diff)
	}
	out, err := apply(from, changes, "", true)
	if err != nil {
		t.Fatalf("%v in\n%s", err, diff)
	}
	return out
}
