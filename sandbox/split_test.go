package sandbox

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"mvdan.cc/sh/v3/syntax"
)

func TestSplit(t *testing.T) {
	for command, want := range map[string][]string{
		"git status":                            {"git", "status"},
		"  git \t status  \n":                   {"git", "status"},
		"git\\\n status":                        {"git", "status"},
		`a 'b c' "d e" f\ g "" ''`:              {"a", "b c", "d e", "f g", "", ""},
		`a "\$x \"y\" \\ \n" '\n' \\`:           {"a", `$x "y" \ \n`, `\n`, `\`},
		`a b'c'"d"\e`:                           {"a", "bcde"},
		`jq '.[] | {a: .b}' x.json`:             {"jq", ".[] | {a: .b}", "x.json"},
		`find . -exec echo {} +`:                {"find", ".", "-exec", "echo", "{}", "+"},
		"git log HEAD~1 -- a=b x#y # comment":   {"git", "log", "HEAD~1", "--", "a=b", "x#y"},
		"[ -f x ]":                              {"[", "-f", "x", "]"},
		`echo \* \[a] '*' "~" a~ \~`:            {"echo", "*", "[a]", "*", "~", "a~", "~"},
		`"scripts/a b.sh" --name "Grüße 世界" -x`: {"scripts/a b.sh", "--name", "Grüße 世界", "-x"},
		"if.sh then":                            {"if.sh", "then"},
		"echo if ! }":                           {"echo", "if", "!", "}"},
	} {
		if got, err := split(command, "", nil); err != nil || !slices.Equal(got, want) {
			t.Errorf("%q is split into %q, %v; want %q", command, got, err, want)
		}
	}
}

// TestSplitRefused: each error says what the parser met.
func TestSplitRefused(t *testing.T) {
	for command, want := range map[string]string{
		"":                       "blank",
		" \n\t":                  "blank",
		"# only a comment":       "blank",
		`""`:                     "blank",
		`'' -rf`:                 "blank",
		"a 'b":                   "character 3",
		`a "b`:                   "character 3",
		"a (b":                   "syntax error",
		"a )":                    "syntax error",
		"a | b":                  "joins commands with |",
		"a |& b":                 "joins commands with |&",
		"a && b":                 "joins commands with &&",
		"a || b":                 "joins commands with ||",
		"a; b":                   "several commands",
		"a\nb":                   "several commands",
		"a;":                     "ends with ;",
		"a & b":                  "several commands",
		"a &":                    "background",
		"! a":                    "negated",
		"a > b":                  "redirects input or output (>)",
		"a 2>&1":                 "redirects",
		"a < b":                  "redirects",
		"a <<< b":                "redirects",
		"a <<X\ntext\nX":         "redirects",
		"> b":                    "redirects",
		"A=b":                    "sets a variable (A=)",
		"A=b c":                  "sets a variable (A=)",
		"a $B":                   "$B",
		"a ${B:-c}":              "$B",
		`a "x $B"`:               "$B",
		"a $1":                   "$1",
		"$A b":                   "$A",
		"a $(b)":                 "$(…)",
		"a `b`":                  "$(…)",
		`a "$(b)"`:               "$(…)",
		"a $((1+1))":             "$((…))",
		"a <(b)":                 "<(…)",
		"a $'b'":                 "$'…'",
		`a $"b"`:                 `$"…"`,
		"a *.txt":                "expand *",
		"a b?":                   "expand ?",
		"a [xy]":                 "expand […]",
		"a {b,c}":                "expand {…}",
		"a ~/b":                  "expand ~",
		"a @(b|c)":               "@(…)",
		"( a )":                  "program of the shell's language",
		"{ a; }":                 "program of the shell's language",
		"if a; then b; fi":       "program of the shell's language",
		"while a; do b; done":    "program of the shell's language",
		"f() { a; }":             "program of the shell's language",
		"export A=b":             "program of the shell's language",
		"[[ -f x ]]":             "program of the shell's language",
		"time a":                 "program of the shell's language",
		"a\x00b":                 "zero byte",
		strings.Repeat("a", 1e5): "100000 bytes",
		strings.Repeat("(", 3e4): "syntax error",
	} {
		words, err := split(command, "", nil)
		e, ok := errors.AsType[*Error](err)
		if !ok || !strings.Contains(e.Fact, want) || e.Hint == "" || (e.Reason == Blank) != (want == "blank") {
			t.Errorf("%.80q gives %q and the error %v; want one that says %q", command, words, err, want)
		}
	}
}

// TestSplitWorkspace: the variable of the workspace is the one that is known, and its value
// stays in one word.
func TestSplitWorkspace(t *testing.T) {
	const dir = `/my files/*$x\y"'`
	for command, want := range map[string][]string{
		"cat $WORKSPACE/a.txt":              {"cat", dir + "/a.txt"},
		`cat "${WORKSPACE}/a b" $WORKSPACE`: {"cat", dir + "/a b", dir},
		`cat '$WORKSPACE' \$WORKSPACE`:      {"cat", "$WORKSPACE", "$WORKSPACE"},
	} {
		if got, err := split(command, dir, nil); err != nil || !slices.Equal(got, want) {
			t.Errorf("%s gives %q, %v; want %q", command, got, err, want)
		}
	}
	for _, command := range []string{"cat ${WORKSPACE:-x}", "cat ${#WORKSPACE}", "cat $WORKSPACES", "cat ${WORKSPACE%/*}", "cat ${!WORKSPACE}", "cat $HOME"} {
		if got, err := split(command, dir, nil); err == nil {
			t.Errorf("%s gives %q", command, got)
		}
	}
	if got, err := split("cat $WORKSPACE", "", nil); err == nil {
		t.Errorf("without a workspace it gives %q", got)
	}
}

// FuzzSplit: quoting the words again gives a line of the same words, and a word is never
// something that the line does not hold.
func FuzzSplit(f *testing.F) {
	for _, s := range []string{"git status", `a 'b c' "d\"e" f\ g`, "a | b", "a $(b) `c` ${d}", "a {b,c} [d] ~ *", "x <<E\ny\nE", "'", "a=b c", "# x", "a\\\nb"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, command string) {
		list, err := split(command, "", nil)
		if err != nil {
			if e, ok := errors.AsType[*Error](err); !ok || e.Fact == "" || e.Hint == "" || list != nil {
				t.Fatalf("%q gives %q and %#v", command, list, err)
			}
			return
		}
		var line []string
		size := 0
		for _, w := range list {
			q, err := syntax.Quote(w, syntax.LangPOSIX)
			if err != nil {
				return // POSIX cannot write it, such as a control character
			}
			line, size = append(line, q), size+len(w)
		}
		if again, err := split(strings.Join(line, " "), "", nil); err != nil || !slices.Equal(again, list) || size > len(command) {
			t.Fatalf("%q gives %q, and quoted again %q, %v", command, list, again, err)
		}
	})
}

// TestSplitPatterns: a pattern that matches no file of the skill is a plain word, as in a shell.
// Where files are not known, see TestSplitRefused.
func TestSplitPatterns(t *testing.T) {
	files := fstest.MapFS{"a.txt": {}, "sub/b.md": {}, "x*y": {}, ".hidden": {}, "15-24": {}}
	for command, want := range map[string][]string{
		"python scripts/calc.py 15*23": {"python", "scripts/calc.py", "15*23"},
		"calc (15*23":                  nil, "calc 2*(3+4)": nil, "calc 15*-23": {"calc", "15*-23"}, "calc 15?23": {"calc", "15?23"}, "calc 15?24": nil, "cat [!b].txt": nil, "cat [!a].txt": {"cat", "[!a].txt"},
		"grep -r --include=*.go x":       {"grep", "-r", "--include=*.go", "x"},
		"grep ^a[bc]?$ x":                {"grep", "^a[bc]?$", "x"},
		"fetch https://x.org/?a=b":       {"fetch", "https://x.org/?a=b"},
		`find -name \*.txt -o -name '?'`: {"find", "-name", "*.txt", "-o", "-name", "?"},
		`a x\*?z 'x'*'*'z`:               {"a", "x*?z", "x**z"},
		"cat *.txt":                      nil, "cat ./*.txt": nil, "cat sub/*": nil, "cat s?b/*.md": nil, "cat [ab].txt": nil, "cat x\\**": nil,
		"cat ../*.none": nil, "cat /*.none": nil, "cat sub/../*.none": nil, "c* x": nil, "nothing* x": nil,
	} {
		got, err := split(command, "", files)
		if (err == nil) != (want != nil) || !slices.Equal(got, want) {
			t.Errorf("%s: %q, %v", command, got, err)
		}
	}
}
