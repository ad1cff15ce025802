package edit_test

import (
	"fmt"
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"

	"github.com/repertoire-skills/repertoire/internal/edit"
	"github.com/repertoire-skills/repertoire/internal/must"
)

// add adds a value at the end of the list at a path.
func add(text string, at edit.Path, v any) (string, error) {
	tree, err := edit.YAML.Decode([]byte(text))
	if err != nil {
		return "", err
	}
	n := 0
	switch v := edit.Lookup(tree, at).(type) {
	case nil:
	case []any:
		n = len(v)
	default:
		n = 1
	}
	out, _, err := edit.Set(edit.YAML, []byte(text), at.With(n), v)
	return string(out), err
}

func remove(text string, at edit.Path, index int) (string, error) {
	out, _, err := edit.Remove(edit.YAML, []byte(text), at.With(index))
	return string(out), err
}

func to(path string) edit.Path { return edit.To(strings.Split(path, ".")...) }

// TestAdd adds x to the list a, or to the list a.b if the name of a case says so.
func TestAdd(t *testing.T) {
	for _, tt := range []struct{ name, path, before, after string }{
		{"no file", "a", "", "a:\n  - x\n"},
		{"only comments", "a", "# hello\n", "# hello\na:\n  - x\n"},
		{"no list", "a", "z: 1 # one\n\n# end\n", "z: 1 # one\n\n# end\na:\n  - x\n"},
		{"no line feed at the end", "a", "z: 1", "z: 1\na:\n  - x\n"},
		{"CRLF", "a", "z: 1\r\na:\r\n- y\r\n", "z: 1\r\na:\r\n- y\r\n- x\r\n"},
		{"in brackets", "a", "a: [y, \"z\"] # c\n", "a: [y, \"z\", x] # c\n"},
		{"empty", "a", "a: []\n", "a: [x]\n"},
		{"in brackets, on lines", "a", "a: [\n  y, # why\n  z, # zed\n]\n", "a: [\n  y, # why\n  z, x, # zed\n]\n"},
		{"one text", "a", "a: y # c\n", "a: [y, x] # c\n"},
		{"one text in quotes", "a", "a: 'y # z'\nb: 1\n", "a: ['y # z', x]\nb: 1\n"},
		{"on lines", "a", "a:\n  # first\n  - y  # why\n\n  # about b\nb: 1\n", "a:\n  # first\n  - y  # why\n  - x\n\n  # about b\nb: 1\n"},
		{"on lines without an indent", "a", "a:\n- y\n- {z: 1,\n   w: 2}\nb: 1\n", "a:\n- y\n- {z: 1,\n   w: 2}\n- x\nb: 1\n"},
		{"last line", "a", "a:\n- y", "a:\n- y\n- x\n"},
		{"mapping", "a.b", "z: 1\n", "z: 1\na:\n  b:\n    - x\n"},
		{"mapping that is there", "a.b", "a: # c\n    # d\n    c: 1\n", "a: # c\n    b:\n      - x\n    # d\n    c: 1\n"},
		{"mapping in braces", "a.b", "a: {c: {d: [1, 2]}} # c\n", "a: {c: {d: [1, 2]}, b: [x]} # c\n"},
		{"mapping that is empty", "a.b", "a: {}\n", "a: {b: [x]}\n"},
		{"all in braces", "a.b", "{z: 1}\n", "{z: 1, a: {b: [x]}}\n"},
		{"umlauts and a mark", "a", "\ufeffä: ü\nÄ: [ö]\na: [ä, ß]\n", "\ufeffä: ü\nÄ: [ö]\na: [ä, ß, x]\n"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got, err := add(tt.before, to(tt.path), "x")
			if err != nil || got != tt.after {
				t.Errorf("error %v, text\n%s\nwant\n%s", err, got, tt.after)
			}
		})
	}
}

// TestRemove removes an item of the list a.
func TestRemove(t *testing.T) {
	for _, tt := range []struct {
		name          string
		index         int
		before, after string
	}{
		{"first in brackets", 0, "a: [x, y] # c\n", "a: [y] # c\n"},
		{"last in brackets", 1, "a: [x, y] # c\n", "a: [x] # c\n"},
		{"only one in brackets", 0, "a: [ x ]\n", "a: [  ]\n"},
		{"middle, on lines in brackets", 1, "a: [\n  x, # ex\n  y,\n  z\n]\n", "a: [\n  x, # ex\n  z\n]\n"},
		{"last, on lines in brackets", 2, "a: [\n  x, # ex\n  y,\n  'z'\n]\n", "a: [\n  x, # ex\n  y,\n]\n"},
		{"one text", 0, "a: x # c\n", "a: [] # c\n"},
		{"on lines", 1, "a:\n  - x # ex\n  # about y\n  - y # why\n  # about z\n  - z\nb: 1\n", "a:\n  - x # ex\n  # about y\n  # about z\n  - z\nb: 1\n"},
		{"only one on lines", 0, "a: # all\n- x\n# end\nb: 1\n", "a: [] # all\n# end\nb: 1\n"},
		{"of several lines", 0, "a:\n- x: 1\n  y: 2\n\n- z\n", "a:\n\n- z\n"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got, err := remove(tt.before, to("a"), tt.index)
			if err != nil || got != tt.after {
				t.Errorf("error %v, text\n%s\nwant\n%s", err, got, tt.after)
			}
		})
	}
}

// TestListOfKey: a list is replaced and removed as a whole also where its items stand below its key.
func TestListOfKey(t *testing.T) {
	for _, tt := range []struct{ before, set, removed string }{
		{"z: 1\na:\n- x # ex\n- y: 1\n  z: 2\n# about b\nb: 1\n", "z: 1\na: v\n# about b\nb: 1\n", "z: 1\n# about b\nb: 1\n"},
		{"a:\r\n# ex\r\n- x\r\n-\r\n  - y\r\nb: 1\r\n", "a: v\r\nb: 1\r\n", "b: 1\r\n"},
		{"z:\n- x\na: [x,\n  y]\nb: 1\n", "z:\n- x\na: v\nb: 1\n", "z:\n- x\nb: 1\n"},
	} {
		got, _, err := edit.Set(edit.YAML, []byte(tt.before), to("a"), "v")
		if err != nil || string(got) != tt.set {
			t.Errorf("error %v, text\n%s\nwant\n%s", err, got, tt.set)
		}
		got, _, err = edit.Remove(edit.YAML, []byte(tt.before), to("a"))
		if err != nil || string(got) != tt.removed {
			t.Errorf("error %v, text\n%s\nwant\n%s", err, got, tt.removed)
		}
	}
}

func TestWrap(t *testing.T) {
	for before, after := range map[string]string{
		"a: [x, y] # c\n":       "a: {names: [x, y]} # c\n",
		"a: x # c\n":            "a: {names: x} # c\n",
		"a: # c\n  - x # d\n":   "a: # c\n  names:\n  - x # d\n",
		"a: # c\n  # d\n  - x":  "a: # c\n  names:\n  # d\n  - x",
		"a: []\nb: {c: [d]}\n":  "a: {names: []}\nb: {c: [d]}\n",
		"b: 1\na: ['x', \"y\"]": "b: 1\na: {names: ['x', \"y\"]}",
	} {
		got, err := edit.Wrap([]byte(before), to("a"), "names")
		if err != nil || string(got) != after {
			t.Errorf("error %v, text\n%s\nwant\n%s", err, got, after)
		}
	}
}

// TestRefused: what cannot be edited safely is left alone, with a reason.
func TestRefused(t *testing.T) {
	for _, text := range []string{
		"a: &x [y]\nb: *x\na2: 1\n---\nc: 1\n", "a: *x\n", "a: |\n  y\n  z\n", "a: >-\n  y\n", "a: y\n  z\n", "- a\n", "a: {b: 1}\n", "a: [y\n",
		"a: [y]\ra: 1\n", "a: 1\na: 2\n", "? [a]\n: 1\n", "a: !!str y\n", "a:\n  - y\n...\n---\n",
	} {
		if got, err := add(text, to("a"), "x"); err == nil {
			t.Errorf("%q: became %q", text, got)
		}
	}
	if got, err := edit.Wrap([]byte("a:\n- x\n"), to("a"), "names"); err == nil {
		t.Errorf("became %q", got)
	}
	for _, path := range []string{"b", "a.c", "a"} {
		if got, err := remove("a: [x]\n", to(path), 1); err == nil {
			t.Errorf("%s: became %q", path, got)
		}
	}
}

// TestText: a text is read back as itself.
func TestText(t *testing.T) {
	for _, s := range []string{"", "a", "legacy-*", "*x", "~", "~/more", "user:.claude", "true", "No", "null", "1.5", "a b", "#", "a: b", "é\u2028\"'", "C:\\x", "[a]", ".5", "=", "0x1", "-", "a<b>&c"} {
		var got string
		if err := yaml.Unmarshal([]byte("{"+edit.YAMLLine(edit.Path{"k", 0}, s)+"}"), &struct{ K []*string }{[]*string{&got}}); err != nil {
			t.Errorf("%q: %v", s, err)
		}
		var m map[string][]any
		if err := yaml.Unmarshal([]byte("{"+edit.YAMLLine(edit.Path{"k", 0}, s)+"}"), &m); err != nil || len(m["k"]) != 1 || m["k"][0] != s {
			t.Errorf("%q became %v, error %v", s, m, err)
		}
	}
}

// TestRandom: an item can be added to, and removed from, nearly all lists that people write.
func TestRandom(t *testing.T) {
	refused, all := 0, 0
	for seed := range uint64(100) {
		text := randomYAML(rand.New(rand.NewPCG(seed, 2)))
		for _, path := range []edit.Path{{"a"}, {"new"}} {
			var had map[string]any
			must.Do(t, yaml.Unmarshal([]byte(text), &had))
			n := 1
			switch v := had[path.String()].(type) {
			case map[string]any:
				continue
			case nil:
				n = 0
			case []any:
				n = len(v)
			}
			all++
			more, err := add(text, path, "x")
			if err == nil {
				more, err = remove(more, path, n)
			}
			if err != nil || !isWithin(strings.TrimRight(text, "\r\n"), more) {
				t.Logf("%v: error %v\n%s\nbecame\n%s", path, err, text, more)
				refused++
			}
		}
	}
	if refused > all/20 || all < 100 {
		t.Errorf("%d of %d edits refused", refused, all)
	}
}

// FuzzEdit: an edit of any file keeps all comments and all other values, or is refused.
func FuzzEdit(f *testing.F) {
	for seed := range uint64(300) {
		f.Add(randomYAML(rand.New(rand.NewPCG(seed, 1))), byte(seed))
	}
	f.Add("a: [x, 'it''s', \"#\\\"\"] #c\nb: {c: d#e}\n", byte(3))
	f.Fuzz(func(t *testing.T, text string, choice byte) {
		path := []edit.Path{{"a"}, {"b"}, {"a", "n"}, {"new"}, {"b", "c", "new"}}[choice%5]
		var got string
		var err error
		switch choice / 5 % 3 {
		case 0:
			got, err = add(text, path, "it's #new")
		case 1:
			got, err = remove(text, path, int(choice/15)%3)
		case 2:
			var out []byte
			out, err = edit.Wrap([]byte(text), path, "names")
			got = string(out)
		}
		if err != nil {
			return
		}
		var before, after map[string]any
		if err := yaml.Unmarshal([]byte(text), &before); err != nil {
			t.Skip() // such as a duplicate that the nodes do not show
		}
		if err := yaml.Unmarshal([]byte(got), &after); err != nil {
			t.Fatalf("%v in\n%s\nwhich was\n%s", err, got, text)
		}
		delete(before, path[:1].String())
		delete(after, path[:1].String())
		if !(len(before) == 0 && len(after) == 0) && !reflect.DeepEqual(before, after) {
			t.Errorf("other keys differ: %v, %v", before, after)
		}
		if choice/5%3 != 1 && !isWithin(text, got) {
			t.Errorf("something is lost of\n%s\nin\n%s", text, got)
		}
	})
}

// isWithin reports whether a text is left of another one if parts of that are left out.
func isWithin(text, longer string) bool {
	for len(text) > 0 && len(longer) > 0 {
		if text[0] == longer[0] {
			text = text[1:]
		}
		longer = longer[1:]
	}
	return text == ""
}

// randomYAML returns a file with comments, quotes, empty lines and lists of all kinds.
func randomYAML(r *rand.Rand) string {
	var b strings.Builder
	comment := func() string {
		if r.IntN(3) == 0 {
			return fmt.Sprintf(" # comment %d", r.IntN(100))
		}
		return ""
	}
	item := func() string {
		return []string{"x", "'it''s'", `"a \"b\" # c"`, "user:.claude", "{k: v, l: [1]}", "1.5", "\"ü\""}[r.IntN(7)]
	}
	keys := []string{"a", "b", "c", "d"}
	r.Shuffle(len(keys), func(i, j int) { keys[i], keys[j] = keys[j], keys[i] })
	for _, key := range keys[:1+r.IntN(4)] {
		if r.IntN(3) == 0 {
			b.WriteString([]string{"\n", "# about " + key + "\n", "  # odd\n"}[r.IntN(3)])
		}
		items := make([]string, r.IntN(4))
		for i := range items {
			items[i] = item()
		}
		switch kind := r.IntN(5); {
		case kind == 0 || len(items) == 0:
			b.WriteString(key + ": [" + strings.Join(items, ", ") + "]" + comment() + "\n")
		case kind == 1:
			b.WriteString(key + ": [" + comment() + "\n  " + strings.Join(items, ","+comment()+"\n  ") + "\n]\n")
		case kind == 2:
			b.WriteString(key + ":" + comment() + "\n  n: [" + strings.Join(items, ", ") + "]\n  c: 1" + comment() + "\n")
		case kind == 3:
			b.WriteString(key + ": " + item() + comment() + "\n")
		default:
			b.WriteString(key + ":" + comment() + "\n")
			indent := strings.Repeat(" ", r.IntN(3))
			for _, it := range items {
				b.WriteString(indent + "- " + it + comment() + "\n" + []string{"", "\n", "  # between\n"}[r.IntN(3)])
			}
		}
	}
	text := b.String()
	if r.IntN(5) == 0 {
		text = strings.ReplaceAll(text, "\n", "\r\n")
	}
	return text
}
