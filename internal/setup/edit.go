package setup

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"

	"github.com/rogpeppe/go-internal/diff"

	"github.com/repertoire-skills/repertoire/internal/client"
)

// An Edit is the change of one file.
type Edit struct {
	File    string // links resolved
	Shown   string // the path as it was asked for
	Before  []byte
	After   []byte
	Existed bool
	Delete  bool // remove the file: we made it, and it holds nothing else

	format     format
	tree       any // of After
	made       []path
	mode       fs.FileMode
	pristine   bool            // nothing of ours was in it before
	clients    []client.Client // clients that may have an entry in it
	overridden []string        // skills whose listing was set
	saved      *Edit           // the edit as it was before the current change
}

// maxConfig is the size of the largest file that is edited, in bytes.
const maxConfig = 64 << 20

// readConfig reads a file; nil means that there is none.
func readConfig(file string) ([]byte, error) {
	info, err := os.Stat(file)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, nil
	case err != nil:
		return nil, err
	case !info.Mode().IsRegular():
		return nil, fmt.Errorf("%s is not a regular file", file)
	case info.Size() > maxConfig:
		return nil, fmt.Errorf("%s is larger than %d MiB", file, maxConfig>>20)
	}
	return os.ReadFile(file)
}

// readTree reads and decodes a file; nil means that there is none.
func readTree(file string, f format) (any, error) {
	data, err := readConfig(file)
	if err != nil || len(data) == 0 {
		return nil, err
	}
	return f.decode(data)
}

// realPath resolves the links of a path whose last parts may not exist. Edits change the
// target of a link, since people use links to keep settings under version control.
func realPath(file string) string {
	abs, err := filepath.Abs(file)
	if err != nil {
		return file
	}
	rest := ""
	for dir := abs; ; dir = filepath.Dir(dir) {
		if real, err := filepath.EvalSymlinks(dir); err == nil {
			return filepath.Join(real, rest)
		}
		if target, err := os.Readlink(dir); err == nil { // to what is not there yet
			if !filepath.IsAbs(target) {
				target = filepath.Join(filepath.Dir(dir), target)
			}
			return filepath.Join(target, rest)
		}
		if dir == filepath.Dir(dir) {
			return abs
		}
		rest = filepath.Join(filepath.Base(dir), rest)
	}
}

// open returns the edit of a file. It returns the same edit for the same file.
func (p *planner) open(file string, f format) (*Edit, error) {
	real := realPath(file)
	if ed := p.plan.files[real]; ed != nil {
		return ed, nil
	}
	data, err := readConfig(real)
	if err != nil {
		return nil, err
	}
	ed := &Edit{File: real, Shown: file, Before: data, After: data, format: f, mode: 0o600,
		clients: slices.Concat(client.All(), p.req.Clients)}
	if info, err := os.Stat(real); err == nil {
		ed.Existed, ed.mode = true, info.Mode().Perm()
	}
	if ed.tree, err = f.decode(data); err != nil {
		return nil, placed(err, file, "; it is left alone")
	}
	if _, ok := ed.tree.(map[string]any); !ok && ed.tree != nil {
		return nil, &PlaceError{File: file, Line: 1, Message: "the file holds " + kindOf(ed.tree) + ", not settings; it is left alone"}
	}
	ed.pristine = !p.env.anyOurs(ed, p.record)
	p.plan.files[real] = ed
	return ed, nil
}

// save remembers the edit, so that rollback can undo a change that fails half-way.
func (ed *Edit) save() {
	now := *ed
	ed.saved = &now
}

func (ed *Edit) rollback() {
	if was := ed.saved; was != nil {
		ed.After, ed.tree, ed.made, ed.overridden = was.After, was.tree, was.made, was.overridden
	}
}

// placed adds the name of the file to an error with a line and a column.
func placed(err error, file, more string) error {
	var at *PlaceError
	if !errors.As(err, &at) {
		return fmt.Errorf("%s: %w%s", file, err, more)
	}
	return &PlaceError{File: file, Line: at.Line, Column: at.Column, Message: at.Message + more}
}

var errUnsafe = errors.New("it cannot be edited without touching other settings; do it by hand")

// set makes the value at a path be v. It checks that nothing else is different
// then.
func (ed *Edit) set(at path, v any) error {
	if ed.Existed && ed.mode&0o200 == 0 {
		return fmt.Errorf("%s is read-only", ed.Shown)
	}
	data, err := ed.format.set(ed.After, at, v)
	if err != nil {
		if _, inFile := ed.format.set(ed.Before, at, v); inFile != nil {
			err = inFile // with the line as it is in the file
		}
		return placed(err, ed.Shown, "")
	}
	tree, err := ed.format.decode(data)
	if err != nil || !reflect.DeepEqual(lookup(tree, at), plain(v)) || !reflect.DeepEqual(without(tree, at), without(ed.tree, at)) {
		return fmt.Errorf("%s: %w", ed.Shown, errUnsafe)
	}
	for i := 1; i < len(at); i++ {
		if _, ok := at[i-1].(int); ok {
			break
		}
		if !has(ed.tree, at[:i]) {
			ed.made = append(ed.made, at[:i])
		}
	}
	ed.After, ed.tree = data, tree
	return nil
}

// remove removes the value at a path, and the containers around it that were
// made for it and are empty now.
func (ed *Edit) remove(at path, rec *record) error {
	if ed.mode&0o200 == 0 {
		return fmt.Errorf("%s is read-only", ed.Shown)
	}
	data, err := ed.format.remove(ed.After, at)
	if err != nil {
		return placed(err, ed.Shown, "")
	}
	tree, err := ed.format.decode(data)
	if err != nil || !onlyLost(ed.tree, tree, at) {
		return fmt.Errorf("%s: %w", ed.Shown, errUnsafe)
	}
	ed.After, ed.tree = data, tree
	parent := at[:len(at)-1]
	if len(parent) == 0 || !isEmpty(lookup(tree, parent)) || !has(tree, parent) || !rec.made(ed.File, parent) {
		return nil
	}
	return ed.remove(parent, rec)
}

// onlyLost reports whether after is before without what was at a path.
func onlyLost(before, after any, at path) bool {
	i, ok := at[len(at)-1].(int)
	if !ok {
		return !has(after, at) && reflect.DeepEqual(without(before, at), without(after, at))
	}
	parent := at[:len(at)-1]
	was, _ := lookup(before, parent).([]any)
	is, _ := lookup(after, parent).([]any)
	if i >= len(was) || len(is) != len(was)-1 {
		return false
	}
	was = slices.Delete(slices.Clone(was), i, i+1)
	return (len(was) == 0 || reflect.DeepEqual(was, is)) && reflect.DeepEqual(without(before, parent), without(after, parent))
}

// restore turns the removal of entries into that of all traces, when nobody
// but this program has written to the file since it was first set up.
func (ed *Edit) restore(env *Env, rec *record) {
	if bytes.Equal(ed.Before, ed.After) {
		return
	}
	r := rec.Files[ed.File]
	if r == nil {
		return
	}
	left := meaning(ed.tree)
	exact := r.Exact && r.Wrote == digest(ed.Before)
	if !r.Existed {
		bare := string(bytes.Join(bytes.Fields(ed.After), nil)) // not so with a comment of the user's
		if left == nil && (exact || bare == "" || bare == "{}" || bare == `{"version":1}`) {
			ed.Delete, ed.After = true, nil
		}
		return
	}
	if !exact {
		return
	}
	original, err := readBackup(env.State, ed.File, first)
	if err != nil {
		return
	}
	if tree, err := ed.format.decode(original); err == nil && reflect.DeepEqual(meaning(tree), left) {
		ed.After = original
	}
}

// meaning returns the content of a file without empty containers, and without the version
// that some files need. If it is the same as at first, nothing of ours is left.
func meaning(tree any) any {
	m, ok := tree.(map[string]any)
	if !ok {
		return tree
	}
	out := make(map[string]any)
	for k, v := range m {
		if v := full(v); v != nil && k != "version" {
			out[k] = v
		}
	}
	return full(out)
}

// full returns a value without empty containers; nil means that nothing is left.
func full(v any) any {
	switch v := v.(type) {
	case map[string]any:
		out := make(map[string]any)
		for k, e := range v {
			if e := full(e); e != nil {
				out[k] = e
			}
		}
		if len(out) > 0 {
			return out
		}
		return nil
	case []any:
		if len(v) == 0 {
			return nil
		}
	}
	return v
}

// Diff returns the change as a unified diff. It cuts long lines to the part that differs:
// some clients keep everything on one line.
func (ed *Edit) Diff() string {
	before, after := ed.Before, ed.After
	old, next := ed.Shown, ed.Shown
	if !ed.Existed {
		old = "/dev/null"
	}
	if ed.Delete {
		next = "/dev/null"
	}
	if len(before) > 0 && len(before) == len(after) && bytes.Equal(before, after) {
		return ""
	}
	text := string(diff.Diff(old, before, next, after))
	if _, rest, ok := strings.Cut(text, "\n"); ok && strings.HasPrefix(text, "diff ") {
		text = rest
	}
	if text == "" && (ed.Delete || !ed.Existed) {
		text = fmt.Sprintf("--- %s\n+++ %s\n", old, next)
	}
	return cutLines(text)
}

// maxLine is the length of the longest line of a diff, in bytes.
const maxLine = 240

// cutLines shortens long lines of a diff. Of a changed one, what is equal in
// the line before is left out.
func cutLines(text string) string {
	var out strings.Builder
	previous := ""
	for line := range strings.Lines(text) {
		line = strings.TrimRight(line, "\r\n")
		if line == "" {
			line = " " // a blank line of the file
		}
		shown := line
		if len(line) > maxLine {
			from := 1
			if previous != "" && line[0] == '+' && previous[0] == '-' {
				for from < min(len(line), len(previous)) && line[from] == previous[from] {
					from++
				}
				from = max(1, from-40)
			}
			shown = line[:1] + clip(line[1:], from-1)
		}
		out.WriteString(shown + "\n")
		if line[0] != '\\' { // about the missing line feed
			previous = line
		}
	}
	return out.String()
}

// clip returns a part of a line from a place on, with marks where it is cut.
func clip(line string, from int) string {
	out := strings.ToValidUTF8(line[from:min(len(line), from+maxLine-40)], "")
	if from > 0 {
		out = "…" + out
	}
	if from+maxLine-40 < len(line) {
		out += "…"
	}
	return out
}
