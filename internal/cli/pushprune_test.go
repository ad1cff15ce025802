package cli

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"
	"mvdan.cc/sh/v3/shell"

	"github.com/repertoire-skills/repertoire/internal/must"
	"github.com/repertoire-skills/repertoire/internal/pgtest"
	"github.com/repertoire-skills/repertoire/internal/testsize"
)

// makeRepository makes a folder that is a clone of a repository, with a skill of that name in its folder skills.
func makeRepository(t *testing.T, name string) string {
	t.Helper()
	dir, err := filepath.Abs(name)
	must.Do(t, err)
	must.Write(t, filepath.Join(dir, ".git", "config"), "[remote \"origin\"]\n\turl = https://git.example/team/"+name+"\n")
	must.Write(t, filepath.Join(dir, "skills", name+"-skill", "SKILL.md"), "---\nname: "+name+"-skill\ndescription: Fills forms.\n---\nFill.\n")
	return dir
}

// stored returns the labels of what a catalog holds, with numbers of skills.
func stored(t *testing.T) []string {
	t.Helper()
	var list []string
	for line := range strings.Lines(call(t, 0, "store", "--catalog", "default")) {
		list = append(list, strings.Join(strings.Split(line, "\t")[:2], " "))
	}
	slices.Sort(list)
	return list
}

// TestPruneLabel: what others have pushed, and what nobody knows who has, is named and stays until somebody
// names it.
func TestPruneLabel(t *testing.T) {
	t.Setenv("REPERTOIRE_STORE", pgtest.URL(t))
	fixture(t)
	ours, theirs := makeRepository(t, "ours"), makeRepository(t, "theirs")
	call(t, 0, "push", "--only-root", "--root", theirs+"/skills", "--label", "theirs")
	call(t, 0, "push", "--only-root", "--root", theirs, "--label", "old")
	pgtest.Exec(t, os.Getenv("REPERTOIRE_STORE"), "UPDATE repertoire.sources SET repository = '' WHERE label = 'old'")
	all := []string{"old 1", "root:skills 1", "theirs 1"}
	pushes := func(code int, want string, more ...string) {
		t.Helper()
		out, errs := outputs(t, code, append([]string{"push", "--only-root", "--root", ours + "/skills"}, more...)...)
		if !strings.Contains(out+errs, want) {
			t.Errorf("push %q says %q, want %q", more, out+errs, want)
		}
		if got := stored(t); !slices.Equal(got, all) {
			t.Errorf("after push %q there are %q, want %q", more, got, all)
		}
	}
	pushes(0, "--prune leaves 1 root from a repository that is not known: old (1 skill).", "--prune")
	pushes(0, "--prune leaves 1 root from another repository or machine: theirs (1 skill).", "--prune", "--dry-run")
	if left, _ := object(t, call(t, 0, "push", "--only-root", "--root", ours+"/skills", "--prune", "--json"))["left"].([]any); len(left) != 2 {
		t.Errorf("left %v", left)
	}
	pushes(2, "give --yes", "--prune-label", "theirs")
	pushes(1, "has no root their", "--prune-label", "their", "--yes")
	pushes(1, "to be pushed and to be removed", "--prune-label", "root:skills", "--yes")
	pushes(0, "theirs: removed, with 1 skill", "--prune-label", "theirs", "--dry-run")
	all = slices.Delete(all, 2, 3)
	pushes(0, "theirs: removed, with 1 skill", "--prune-label", "theirs", "--yes")
	if out := call(t, 0, "push", "--prune-label", "old", "-y"); !strings.Contains(out, "old: removed") {
		t.Errorf("without anything to push: %q", out)
	}
}

// TestPushInTurn runs each command that the pages, files and helps give for a push, in two repositories in
// turn: each has its own skills in the catalog afterwards, and what else was there.
func TestPushInTurn(t *testing.T) {
	testsize.Long(t)
	commands := documentedPushes(t)
	if len(commands) < 8 {
		t.Fatalf("found only the commands %q", commands)
	}
	folder := regexp.MustCompile(`\.?/skills\b`)
	for _, words := range commands {
		t.Run(strings.Join(words, " "), func(t *testing.T) {
			t.Setenv("REPERTOIRE_STORE", pgtest.URL(t))
			home := fixture(t)
			var repositories []string
			for _, name := range []string{"ours", "theirs"} {
				dir := makeRepository(t, name)
				repositories = append(repositories, dir)
				must.Write(t, name+"/tools/more-"+name+"/SKILL.md", "---\nname: more-"+name+"\ndescription: Does more.\n---\nMore.\n")
				call(t, 0, "push", "--only-root", "--root", dir+"/tools", "--label", name+"-tools") // another job of the repository
				must.Do(t, os.Rename(dir+"/skills", dir+"/"+name))                                  // so that each has a label of its own
			}
			must.Write(t, "plain/old/SKILL.md", "---\nname: old\ndescription: Is old.\n---\nOld.\n")
			call(t, 0, "push", "--only-root", "--root", "plain")
			pgtest.Exec(t, os.Getenv("REPERTOIRE_STORE"), "UPDATE repertoire.sources SET repository = '' WHERE label = 'root:plain'")
			others := stored(t)
			var last []string
			for range 2 {
				for _, dir := range repositories {
					must.Write(t, filepath.Join(home, "config.yaml"), "bundled: false\n")
					args := mapped(words, func(word string) string { return folder.ReplaceAllString(word, "./"+filepath.Base(dir)) })
					if !slices.ContainsFunc(args, func(word string) bool { return strings.HasPrefix(word, "--root") }) { // as with the configuration of push.yaml
						must.Write(t, filepath.Join(home, "config.yaml"), "bundled: false\nroots: ["+dir+"]\n")
					}
					t.Chdir(dir)
					call(t, 0, args...)
				}
				now := stored(t)
				for _, want := range others {
					if !slices.Contains(now, want) {
						t.Errorf("%s is lost: %q", want, now)
					}
				}
				if last != nil && !slices.Equal(now, last) || !strings.Contains(strings.Join(words, " "), "--dry-run") && len(now) < len(others)+2 {
					t.Errorf("there are %q, before %q", now, last)
				}
				last = now
			}
		})
	}
}

// documentedPushes returns the arguments of each "skills push" that is written down, without the database.
func documentedPushes(t *testing.T) (all [][]string) {
	t.Helper()
	add := func(words []string) {
		words = slices.DeleteFunc(words, func(word string) bool { return word == "…" })
		for i := 1; i < len(words); i++ {
			if name, _, is := strings.Cut(words[i], "="); name == "--store" || name == "--catalog" {
				words = slices.Delete(words, i, i+1)
				if !is {
					words = slices.Delete(words, i, i+1)
				}
				i--
			}
		}
		if !slices.ContainsFunc(all, func(same []string) bool { return slices.Equal(same, words) }) {
			all = append(all, words)
		}
	}
	texts := newPushCommand(env{}).Example
	pages, err := filepath.Glob("../../docs/*.md")
	must.Do(t, err)
	for _, page := range append(pages, "../../README.md") {
		texts += "\n" + must.Read(t, page)
	}
	for _, found := range regexp.MustCompile(`(?m)(?:^|&& )(?:\$ | *)skills (push [^|&#\n]+)`).FindAllStringSubmatch(texts, -1) {
		words, err := shell.Fields(found[1], nil)
		must.Do(t, err)
		add(words)
	}
	must.Do(t, filepath.WalkDir("../../deploy", func(name string, _ fs.DirEntry, err error) error {
		if filepath.Ext(name) != ".yaml" {
			return err
		}
		docs := yaml.NewDecoder(strings.NewReader(must.Read(t, name)))
		for {
			var doc any
			if docs.Decode(&doc) != nil {
				return err
			}
			eachList(doc, func(words []string) {
				if len(words) > 0 && words[0] == "push" && strings.Contains(strings.Join(words, " "), "--store") {
					add(words)
				}
			})
		}
	}))
	return all
}

// eachList calls f for each list of texts in what YAML holds.
func eachList(v any, f func([]string)) {
	switch v := v.(type) {
	case map[string]any:
		for _, one := range v {
			eachList(one, f)
		}
	case []any:
		var words []string
		for _, one := range v {
			eachList(one, f)
			if word, ok := one.(string); ok {
				words = append(words, word)
			}
		}
		f(words)
	}
}

// TestCatalogOfBefore: a shared catalog as the program of November 2026 (e3dd78c8) left it loses nothing: its
// sources belong to no repository until each is pushed again, and --prune leaves them until then.
func TestCatalogOfBefore(t *testing.T) {
	url := pgtest.URL(t)
	t.Setenv("REPERTOIRE_STORE", url)
	fixture(t)
	ours, theirs := makeRepository(t, "ours"), makeRepository(t, "theirs")
	must.Do(t, os.Rename(theirs+"/skills", theirs+"/theirs"))
	push := func(dir string, more ...string) string {
		out, errs := outputs(t, 0, append([]string{"push", "--only-root", "--root", dir}, more...)...)
		return out + errs
	}
	push(ours + "/skills")
	push(theirs + "/theirs")
	call(t, 0, "token", "add", "-q", "ann")
	must.Write(t, "change.diff", "@@\n-Fill.\n+Fill it all.\n")
	call(t, 0, "propose", "ours-skill", "--diff", "change.diff", "--why", "Too little.")
	pgtest.Exec(t, url, "ALTER TABLE repertoire.sources DROP COLUMN repository, DROP COLUMN apart; UPDATE repertoire.schema SET version = 9")

	if out, errs := outputs(t, 0, "list"); !strings.Contains(out, "theirs-skill") || !strings.Contains(errs, "push skills once") { // from what it kept
		t.Errorf("a reader prints %q, and says %q", out, errs)
	}
	holds := func(after string) {
		t.Helper()
		if got := stored(t); !slices.Equal(got, []string{"root:skills 1", "root:theirs 1"}) {
			t.Errorf("after %s there are %q", after, got)
		}
		for command, want := range map[string]string{"list": "theirs-skill", "proposals list": "ours-skill", "token list": "ann"} {
			if out := call(t, 0, strings.Fields(command)...); !strings.Contains(out, want) {
				t.Errorf("after %s %s prints %q", after, command, out)
			}
		}
	}
	if out := push(ours+"/skills", "--prune"); !strings.Contains(out, "not known: root:theirs") {
		t.Errorf("the first push says %q", out)
	}
	holds("the first push")
	push(theirs+"/theirs", "--prune")
	holds("the push of the others")
	if out := push(ours+"/skills", "--prune"); !strings.Contains(out, "another repository or machine: root:theirs") {
		t.Errorf("the third push says %q", out)
	}
	holds("the third push")
}
