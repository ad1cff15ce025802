package install

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/aymanbagabas/go-udiff"

	"github.com/repertoire-skills/repertoire/internal/regular"
	"github.com/repertoire-skills/repertoire/source"
)

// maxDiff bounds the size of files that are compared line by line.
const maxDiff = 1 << 20

// compareTo fills in how the staged version of a skill differs from the folder.
func (a *work) compareTo(c *Change) {
	c.Files = compare(c.seen, c.To.Files)
	var diff strings.Builder
	for _, name := range slices.Sorted(slices.Values(slices.Concat(c.Files.Changed, c.Files.Missing, c.Files.Extra))) {
		before, err1 := textOf(a.folder(c.Name), name, c.seen)
		after, err2 := textOf(a.stage.new(c.Name), name, c.To.Files)
		if err1 != nil || err2 != nil {
			c.Binary = append(c.Binary, name)
			continue
		}
		if was, is := c.seen[name].Executable, c.To.Files[name].Executable; was != is {
			fmt.Fprintf(&diff, "%s/%s: executable: %t, was %t\n", c.Name, name, is, was)
		}
		from, to := "a/"+c.Name+"/"+name, "b/"+c.Name+"/"+name
		if _, ok := c.seen[name]; !ok {
			from = "/dev/null"
		}
		if _, ok := c.To.Files[name]; !ok {
			to = "/dev/null"
		}
		diff.WriteString(udiff.Unified(from, to, before, after))
	}
	c.Diff = diff.String()
}

// errBinary says that a file is no text that could be shown.
var errBinary = errors.New("not a text")

// textOf returns the text of a file of a skill; "" if the skill does not have it.
func textOf(folder, name string, files map[string]File) (string, error) {
	f, ok := files[name]
	if !ok {
		return "", nil
	}
	if f.SHA256 == "" {
		return "", errBinary // a link, a pipe …
	}
	data, err := regular.ReadShort(filepath.Join(folder, filepath.FromSlash(name)), maxDiff)
	if err == nil && source.IsBinary(data) {
		err = errBinary
	}
	return string(data), err
}

// keep copies a folder that somebody has edited, before it is replaced or removed, to where
// no source finds it.
func (in *Installer) keep(c *Change) error {
	if c.Action == Remove || c.Edits.Same() || c.seen == nil {
		return nil
	}
	name := flat(c.Name) + ".orig-" + in.opts.Now().UTC().Format("20060102T150405Z")
	for i := 2; exists(filepath.Join(in.opts.Aside, name)); i++ {
		name = fmt.Sprintf("%s.orig-%s-%d", flat(c.Name), in.opts.Now().UTC().Format(time.DateOnly), i)
	}
	to := filepath.Join(in.opts.Aside, name)
	in.step("keep")
	if err := os.MkdirAll(in.opts.Aside, 0o700); err != nil {
		return err
	}
	if err := os.CopyFS(to, os.DirFS(in.folder(c.Name))); err != nil {
		return fmt.Errorf("keeping a copy of the edited %s: %w", c.Name, err)
	}
	c.Kept = to
	return nil
}
