package setup

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"reflect"
	"slices"
	"strings"

	"github.com/aymanbagabas/go-udiff"

	"github.com/repertoire-skills/repertoire/internal/client"
	"github.com/repertoire-skills/repertoire/internal/edit"
	"github.com/repertoire-skills/repertoire/internal/regular"
)

// An Edit is the change of one file.
type Edit struct {
	File    string // links resolved
	Shown   string // the path as it was asked for
	Before  []byte
	After   []byte
	Existed bool
	Delete  bool // remove the file: we made it, and it holds nothing else

	format     edit.Format
	tree       any // of After
	made       []edit.Path
	mode       fs.FileMode
	pristine   bool              // nothing of ours was in it before
	clients    []client.Client   // clients that may have an entry in it
	overridden map[string]string // how skills are listed that were set, by name
	left       []string          // skills of which the user has removed how they are listed
	commands   []string          // what our entries run, see Registration.command
	saved      *Edit             // the edit as it was before the current change
	checkLinks func() error      // see Env.checkLinks
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
func readTree(file string, f edit.Format) (any, error) {
	data, err := readConfig(file)
	if err != nil || len(data) == 0 {
		return nil, err
	}
	return f.Decode(data)
}

// open returns the edit of a client's file in a scope, an error for the file "". It
// returns the same edit for the same file.
func (p *planner) open(file string, s client.Scope, clientName string, f edit.Format) (*Edit, error) {
	if file == "" {
		return nil, fs.ErrNotExist
	}
	check := func() error { return p.env.checkLinks(file, s, clientName) }
	if err := check(); err != nil {
		return nil, err
	}
	real := regular.Real(file)
	if ed := p.plan.files[real]; ed != nil {
		return ed, nil
	}
	data, err := readConfig(real)
	if err != nil {
		return nil, err
	}
	ed := &Edit{File: real, Shown: file, Before: data, After: data, format: f, mode: 0o600, checkLinks: check,
		clients: slices.Concat(client.All(), p.req.Clients)}
	if info, err := os.Stat(real); err == nil {
		ed.Existed, ed.mode = true, info.Mode().Perm()
	}
	if ed.tree, err = f.Decode(data); err != nil {
		return nil, placed(err, file, "; it is left alone")
	}
	if _, ok := ed.tree.(map[string]any); !ok && ed.tree != nil {
		return nil, &edit.Error{File: file, Line: 1, Message: "the file holds " + edit.KindOf(ed.tree) + ", not settings; it is left alone"}
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
	if ed.saved != nil {
		*ed = *ed.saved
	}
}

// placed adds the name of the file to an error with a line and a column.
func placed(err error, file, more string) error {
	if _, ok := errors.AsType[*linkError](err); ok {
		return err // it names the file, or a folder above
	}
	at, ok := errors.AsType[*edit.Error](err)
	if !ok {
		return fmt.Errorf("%s: %w%s", file, err, more)
	}
	return &edit.Error{File: file, Line: at.Line, Column: at.Column, Message: at.Message + more}
}

// change changes the text.
func (ed *Edit) change(f func(data []byte) ([]byte, any, error)) error {
	if ed.mode&0o200 == 0 {
		return fmt.Errorf("%s is read-only", ed.Shown)
	}
	data, tree, err := f(ed.After)
	if errors.Is(err, edit.ErrUnsafe) {
		return placed(err, ed.Shown, "; do it by hand")
	}
	if err != nil {
		if _, _, inFile := f(ed.Before); inFile != nil {
			err = inFile // with the line as it is in the file
		}
		return placed(err, ed.Shown, "")
	}
	ed.After, ed.tree = data, tree
	return nil
}

// set makes the value at a path be v.
func (ed *Edit) set(at edit.Path, v any) error {
	before := ed.tree
	err := ed.change(func(data []byte) ([]byte, any, error) { return edit.Set(ed.format, data, at, v) })
	for i := 1; i < len(at) && err == nil; i++ {
		if _, ok := at[i-1].(int); ok {
			break
		}
		if !edit.Has(before, at[:i]) {
			ed.made = append(ed.made, at[:i])
		}
	}
	return err
}

// remove removes the value at a path, and the containers around it that were
// made for it and are empty now.
func (ed *Edit) remove(at edit.Path, rec *record) error {
	parent := at[:len(at)-1]
	err := ed.change(func(data []byte) ([]byte, any, error) { return edit.Remove(ed.format, data, at) })
	if err != nil || len(parent) == 0 || !edit.IsEmpty(edit.Lookup(ed.tree, parent)) || !edit.Has(ed.tree, parent) || !rec.made(ed.File, parent) {
		return err
	}
	return ed.remove(parent, rec)
}

// restore removes all traces of the setup, not only the entries, when nobody but
// this program has written to the file since it was first set up.
func (ed *Edit) restore(env *Env, rec *record) {
	r := rec.Files[ed.File]
	switch {
	case bytes.Equal(ed.Before, ed.After):
		return
	case edit.IsScript(ed.format) && len(ed.After) == 0: // all of it is ours
		ed.Delete = true
		return
	case r == nil:
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
	original, err := os.ReadFile(backupFile(env.State, ed.File, first))
	if err != nil {
		return
	}
	if tree, err := ed.format.Decode(original); err == nil && reflect.DeepEqual(meaning(tree), left) {
		ed.After = original
	}
}

// meaning returns the content of a file without empty containers, and without the version
// that some files need. If it is the same as at first, nothing of ours is left.
func meaning(tree any) any {
	if m, ok := tree.(map[string]any); ok {
		m = maps.Clone(m)
		delete(m, "version")
		tree = m
	}
	return full(tree)
}

// full returns a value without empty containers; nil means that nothing is left.
func full(v any) any {
	if m, ok := v.(map[string]any); ok {
		out := make(map[string]any)
		for k, e := range m {
			if e := full(e); e != nil {
				out[k] = e
			}
		}
		v = out
	}
	if edit.IsEmpty(v) {
		return nil
	}
	return v
}

// Diff returns the change as a unified diff. It cuts long lines to the part that differs:
// some clients keep everything on one line.
func (ed *Edit) Diff() string {
	old, next := ed.Shown, ed.Shown
	if !ed.Existed {
		old = "/dev/null"
	}
	if ed.Delete {
		next = "/dev/null"
	}
	text := udiff.Unified(old, next, string(ed.Before), string(ed.After))
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
