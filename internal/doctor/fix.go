package doctor

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/aymanbagabas/go-udiff"

	"github.com/repertoire-skills/repertoire/internal/atomicfile"
	"github.com/repertoire-skills/repertoire/internal/regular"
	"github.com/repertoire-skills/repertoire/skill"
	"github.com/repertoire-skills/repertoire/source"
)

// A Fix is a change of one file that removes findings.
type Fix struct {
	Path    string   `json:"path"`              // absolute, without links
	Rules   []string `json:"rules"`             // of the findings
	Diff    string   `json:"diff"`              // unified
	Warning string   `json:"warning,omitempty"` // what else the change does; "" means nothing
	Written bool     `json:"written"`

	source           source.Source
	dir, file        string // the folder of the skill, and its instructions
	name             string // of the file, relative to dir
	before, after    []byte
	mode, executable fs.FileMode // permissions before and after; executable is 0 if they stay
}

// installed is the kind of the source of installed skills.
const installed = "installed"

// Fixes returns the changes that remove findings in files of the sources: what Parse
// forgives, scripts that are not executable, and #! lines that end with a carriage return.
// Files that are not on disk, outside of their source, or below fetched, the folder of
// what is fetched from elsewhere, stay as they are.
func Fixes(ctx context.Context, sources []source.Source, fetched string) ([]*Fix, error) {
	var list []*Fix
	for _, src := range sources {
		root := src.Info().Root
		if root == "" || src.Info().Kind == source.KindBundled || regular.In(regular.Real(fetched), root) {
			continue
		}
		for ref, err := range src.Skills(ctx, nil) {
			if err == nil { // "skills doctor" reports an error
				list = append(list, fixesOf(readContents(ctx, src, path.Dir(ref.Path), path.Base(ref.Path), nil))...)
			}
		}
	}
	slices.SortFunc(list, func(a, b *Fix) int { return strings.Compare(a.Path, b.Path) })
	// Two sources may have one file.
	return slices.CompactFunc(list, func(a, b *Fix) bool { return a.Path == b.Path }), ctx.Err()
}

// fixesOf returns the fixes of one skill.
func fixesOf(c *contents) []*Fix {
	var list []*Fix
	add := func(name string, after string, executable fs.FileMode, rules ...string) {
		if len(rules) == 0 {
			return
		}
		real, err := filepath.EvalSymlinks(c.path(name))
		if err != nil || !regular.In(regular.Real(c.source.Info().Root), real) {
			return
		}
		f := &Fix{Path: real, Rules: rules, source: c.source, dir: c.dir, file: c.file, name: name,
			before: []byte(c.text[name]), after: []byte(after), mode: c.mode[name].Perm(), executable: executable}
		if f.Diff = f.diff(); c.source.Info().Kind == installed {
			f.Warning = "it is installed: \"skills update --verify\" will report it as changed"
		}
		list = append(list, f)
	}
	mended, rules := skill.Mend([]byte(c.text[c.file]), c.path(c.file), "")
	add(c.file, string(mended), 0, rules...)
	for _, name := range c.names {
		if text, ok := c.text[name]; ok && name != c.file && isScript(text) {
			after, executable, rules := mendScript(name, text, c.mode[name])
			add(name, after, executable, rules...)
		}
	}
	return list
}

// mendScript returns the text of a script without carriage returns, if its first line ends
// with one, and its permissions with those to run it: whoever may read it may run it.
func mendScript(name, text string, mode fs.FileMode) (after string, executable fs.FileMode, rules []string) {
	after = text
	if first, _, _ := strings.Cut(text, "\n"); strings.HasSuffix(first, "\r") {
		after, rules = strings.ReplaceAll(text, "\r\n", "\n"), append(rules, "script-crlf")
	}
	if mode != 0 && mode&0o111 == 0 && inScripts(name) {
		executable, rules = mode.Perm()|mode.Perm()&0o444>>2, append(rules, "script-not-executable")
	}
	return after, executable, rules
}

// diff returns the change as git shows it.
func (f *Fix) diff() string {
	var b strings.Builder
	if f.executable != 0 {
		fmt.Fprintf(&b, "%s: mode %04o → %04o\n", f.Path, f.mode, f.executable)
	}
	b.WriteString(udiff.Unified(f.Path, f.Path, string(f.before), string(f.after)))
	return b.String()
}

// Apply writes the change, and looks whether the findings are gone; otherwise it restores
// the file. A file that has changed since Fixes read it stays as it is.
func (f *Fix) Apply(ctx context.Context) error {
	if err := f.put(f.before, f.after, f.executable); err != nil {
		return fmt.Errorf("writing %s: %w", f.Path, err)
	}
	c := readContents(ctx, f.source, f.dir, f.file, nil)
	if err := ctx.Err(); err != nil || !f.holds(c) {
		err = errors.Join(err, f.put(f.after, f.before, f.mode))
		return errors.Join(fmt.Errorf("%s was restored: the change did not remove the finding", f.Path), err)
	}
	f.Written = true
	return nil
}

// holds reports whether the skill is as the change wants it, and the findings are gone.
func (f *Fix) holds(c *contents) bool {
	if c.skill == nil || c.text[f.name] != string(f.after) {
		return false
	}
	return !slices.ContainsFunc(fixesOf(c), func(o *Fix) bool { return o.Path == f.Path }) &&
		!slices.ContainsFunc(c.skill.Problems, func(p skill.Problem) bool { return f.name == f.file && slices.Contains(f.Rules, p.Rule) })
}

// put replaces the content of the file, if it still is old, and then its permissions, if
// there are any.
func (f *Fix) put(old, text []byte, mode fs.FileMode) error {
	same := func() error {
		now, err := os.ReadFile(f.Path)
		if err == nil && !bytes.Equal(now, old) {
			err = errors.New("it has changed meanwhile; look at it again")
		}
		return err
	}
	err := same()
	if err == nil && !bytes.Equal(old, text) {
		err = atomicfile.Replace(f.Path, text, f.mode, same)
	}
	if err == nil && mode != 0 {
		err = os.Chmod(f.Path, mode)
	}
	return err
}
