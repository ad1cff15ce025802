package setup

import (
	"bytes"
	"reflect"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/repertoire-skills/repertoire/internal/client"
	"github.com/repertoire-skills/repertoire/internal/edit"
)

// fuzzFormat sets and removes an entry in a document. Whatever the document is:
// nothing else may change in meaning, comments stay, an entry that was taken
// back leaves a document of the same meaning, and a document with the entry in
// the same bytes when it is set again.
func fuzzFormat(t *testing.T, f edit.Format, data []byte, at edit.Path, v edit.Object) {
	before, err := f.Decode(data)
	if err != nil {
		return // not a document; nothing is written to it
	}
	if _, ok := before.(map[string]any); !ok && before != nil {
		return
	}
	e := &Env{Program: program}
	ed := &Edit{File: "f", Shown: "f", Before: data, After: data, format: f, tree: before, mode: 0o600}
	if edit.Has(before, at) || e.mcpWords(edit.Lookup(before, at)) != nil {
		return
	}
	if err := ed.set(at, v); err != nil {
		if !bytes.Equal(ed.After, data) {
			t.Fatalf("refused with %v, yet changed to %q", err, ed.After)
		}
		return
	}
	if !isSubsequence(data, ed.After) {
		t.Fatalf("%q has lost something: %q", data, ed.After)
	}
	set := ed.After
	rec := &record{Files: map[string]*fileRecord{"f": {Made: namesOf(ed.made)}}}
	if err := ed.remove(at, rec); err != nil {
		t.Fatalf("removing from %q: %v", set, err)
	}
	if !reflect.DeepEqual(meaning(ed.tree), meaning(before)) {
		t.Fatalf("%q\nbecomes %q\nand then %q", data, set, ed.After)
	}
	if !isSubsequence(data, ed.After) {
		t.Fatalf("%q has lost something in the end: %q", data, ed.After)
	}
	if _, err := f.Decode(ed.After); err != nil {
		t.Fatalf("%q cannot be read: %v", ed.After, err)
	}
}

// entryOf returns the entry of our MCP server in the form of a client.
func entryOf(name string) edit.Object {
	c, _ := client.Find(name)
	return c.MCP.Entry("skills", []string{program, "mcp"})
}

func namesOf(paths []edit.Path) (names [][]string) {
	for _, p := range paths {
		names = append(names, p.Names())
	}
	return names
}

// isSubsequence reports whether all of a text is still there in its order, but
// for blanks, and for a value that stood for nothing.
func isSubsequence(text, in []byte) bool {
	blanks := strings.NewReplacer(" ", "", "\t", "", "\n", "", "\r", "")
	nothing := strings.NewReplacer("null", "", "{}", "", "~", "", "[]", "")
	a, b := nothing.Replace(blanks.Replace(string(text))), blanks.Replace(string(in))
	i := 0
	for j := 0; i < len(a) && j < len(b); j++ {
		if a[i] == b[j] {
			i++
		}
	}
	return i == len(a)
}

func FuzzJSON(f *testing.F) {
	for _, seed := range []string{"", "{}", "{\n}", `{"a":1}`, "{\"a\": 1, // c\n}", "{\n\t\"m\": {\n\t\t\"x\": {} // y\n\t}\n}\n", "{\"m\":{/**/}}", "\ufeff{\"m\":null}",
		"// c", "{ // c\r\n \"m\": { \"x\": [1,2,], /* d */ }, }\r\n", "{\"m\":{\n\"x\":1}}", "{/* a */\n /* b */}", "{\"m\": {\"x\":1}/* z */,\n\"b\":{}//\n}"} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		fuzzFormat(t, edit.JSON, data, edit.Path{"m", "skills"}, entryOf("claude"))
		tree, err := edit.JSON.Decode(data)
		if err != nil {
			return
		}
		list, _ := edit.Lookup(tree, edit.Path{"m", "x"}).([]any)
		fuzzFormat(t, edit.JSON, data, edit.Path{"m", "x", len(list)}, edit.Object{{Key: "hooks", Value: []any{edit.Object{{Key: "command", Value: "a"}}}}})
	})
}

func FuzzTOML(f *testing.F) {
	for _, seed := range []string{"", "a = 1", "# c\n[m.x]\na = 1 # d\n", "m.x.y = 1\n[t]\n", "[m]\n", "[[a]]\nb='''\n[m.skills]\n'''\r\n", "\ufeffa=1", "[m.\"x y\"]\n[m]\n", "m = {}\n"} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		fuzzFormat(t, edit.TOML, data, edit.Path{"m", "skills"}, entryOf("codex"))
	})
}

func FuzzYAML(f *testing.F) {
	for _, seed := range []string{"", "m:\n", "m: {}\n", "m: {a: 1}\n", "# c\nm: # d\n    # e\n    a: 1\nb: 2", "m:\n  a: |\n    x\n\n   y: 1\nc: d\n", "---\nm:\n  a: 1\n...\n",
		"m: ~", "m:\n ~", "m:\n  null # a\nb: 1\n", "a: &x {b: 1}\nm: *x\n", "? m\n: a: 1\n", "\"m\":\n  a: 1\r\n", "\ufeffm:\n  a: 1\n", "m: &a\n  x: 1\n", "m: !!map\n  x: 1\n"} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		fuzzFormat(t, edit.YAML, data, edit.Path{"m", "skills"}, entryOf("goose"))
	})
}

// FuzzWords: what is written for a shell is read back as it was.
func FuzzWords(f *testing.F) {
	f.Add("a b", `it's`)
	f.Fuzz(func(t *testing.T, a, b string) {
		if !utf8.ValidString(a) || !utf8.ValidString(b) {
			return // no text of a settings file
		}
		line := commandLine(client.Posix, []string{"skills", a, b})
		if got := wordsOf(line, false); !reflect.DeepEqual(got, []string{"skills", a, b}) {
			t.Errorf("%s: %q", line, got)
		}
	})
}
