//go:build unix

package repertoire_test

import (
	"bytes"
	"database/sql"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/repertoire-skills/repertoire"
	"github.com/repertoire-skills/repertoire/internal/must"
	"github.com/repertoire-skills/repertoire/internal/testsize"
	"github.com/repertoire-skills/repertoire/source"
)

// An ill is something that happens to the files of a catalog.
type ill struct {
	name string
	do   func(db string) error
	// file is the file in whose place a person must put something away; nil means that
	// the catalog heals by itself.
	file func(db string) string
}

// beside returns the only file beside a catalog that has the suffix.
func beside(db, suffix string) string {
	if suffix != ".base" {
		return db + suffix
	}
	names, _ := filepath.Glob(db + ".*" + suffix)
	return strings.Join(names, " and ")
}

// on returns what happens to a file of the catalog.
func on(suffix string, f func(name string) error) func(db string) error {
	return func(db string) error { return f(beside(db, suffix)) }
}

func cut(size int64) func(string) error {
	return func(name string) error { return os.Truncate(name, size) }
}

func halve(name string) error {
	info, err := os.Stat(name)
	if err != nil {
		return err
	}
	return os.Truncate(name, info.Size()/2)
}

// put returns what replaces a file by one with this content.
func put(content []byte) func(string) error {
	return func(name string) error { return errors.Join(os.Remove(name), os.WriteFile(name, content, 0o600)) }
}

func zeroHead(name string) error {
	f, err := os.OpenFile(name, os.O_RDWR, 0)
	if err != nil {
		return err
	}
	_, err = f.Write(make([]byte, 200))
	return errors.Join(err, f.Close())
}

// instead returns what removes a file and puts something in its place.
func instead(f func(name string) error) func(string) error {
	return func(name string) error {
		if err := os.Remove(name); err != nil && !errors.Is(err, os.ErrNotExist) {
			return err
		}
		return f(name)
	}
}

func fullFolder(name string) error {
	return errors.Join(os.Mkdir(name, 0o700), os.WriteFile(filepath.Join(name, "note"), nil, 0o600))
}

func fifo(name string) error { return syscall.Mkfifo(name, 0o600) }

func notes(name string) error {
	db, err := sql.Open("sqlite", name)
	if err != nil {
		return err
	}
	_, err = db.Exec("CREATE TABLE notes (text)")
	return errors.Join(err, db.Close())
}

func linkTo(to string) func(string) error {
	return func(name string) error { return os.Symlink(to, name) }
}

func ills() []ill {
	at := func(suffix string) func(string) string { return func(db string) string { return beside(db, suffix) } }
	list := []ill{
		{"database emptied", on("", cut(0)), nil},
		{"database cut in its header", on("", cut(50)), nil},
		{"database cut in page one", on("", cut(1000)), nil},
		{"database cut in half", on("", halve), nil},
		{"database with a zeroed head", on("", zeroHead), nil},
		{"database of garbage", on("", put(bytes.Repeat([]byte("garbage "), 9000))), nil},
		{"database is text", on("", put([]byte(strings.Repeat("my notes\n", 100)))), nil},
		{"database of another program", on("", instead(notes)), at("")},
		{"database is a link to nothing", on("", instead(linkTo("nothing"))), at("")},
		{"database is a link into no folder", on("", instead(linkTo("nothing/there"))), at("")},
		{"database is a link to itself", on("", instead(linkTo("catalog.db"))), at("")},
		{"database moved behind a link", func(db string) error {
			return errors.Join(os.Rename(db, db+".moved"), os.Symlink(db+".moved", db))
		}, nil},
		{"cache removed", func(db string) error { return os.RemoveAll(filepath.Dir(db)) }, nil},
		{"only the database is left", func(db string) error {
			names, err := filepath.Glob(db + "?*")
			for _, name := range names {
				err = errors.Join(err, os.Remove(name))
			}
			return err
		}, nil},
	}
	for _, suffix := range []string{"", "-wal", "-shm", ".base", ".current", ".stamps", ".seal", ".lock"} {
		name := "catalog.db" + suffix
		if suffix != "" {
			list = append(list, ill{name + " emptied", on(suffix, cut(0)), nil})
		}
		list = append(list, ill{name + " removed", on(suffix, os.Remove), nil})
		list = append(list, special(suffix)...)
	}
	return slices.Concat(list, special("-journal"), special(".damaged"))
}

// special returns what is no regular file in the place of a file.
func special(suffix string) []ill {
	at := func(db string) string { return beside(db, suffix) }
	return []ill{
		{"catalog.db" + suffix + " is a folder", on(suffix, instead(fullFolder)), at},
		{"catalog.db" + suffix + " is a named pipe", on(suffix, instead(fifo)), at},
	}
}

// onlyOpened are the suffixes of files that only whoever opens a catalog looks at.
var onlyOpened = []string{".lock", "-journal", ".damaged"}

// TestHeals: whatever happens to the files of a catalog, it heals by itself at the next
// rescan, or as soon as a person has put away what is in the place of a file, which the
// error names. Until then no answer is wrong.
func TestHeals(t *testing.T) {
	t.Parallel()
	for i, ill := range ills() {
		for _, resident := range []bool{false, true} {
			if !resident && i%testsize.Rounds(7, 1) > 0 {
				continue
			}
			name := ill.name + ", cold"
			if resident {
				name = ill.name + ", resident"
			}
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				testHeals(t, ill, resident)
			})
		}
	}
}

func testHeals(t *testing.T, ill ill, resident bool) {
	src, dir := folder(t, "team", docs(many()...))
	aged(t, dir)
	cfg := repertoire.Config{Sources: []source.Source{src}, DB: filepath.Join(t.TempDir(), "cache", "catalog.db"), Schedule: repertoire.Never, Defer: true}
	before := open(t, cfg)
	rescan(t, before)
	search(t, before, repertoire.Query{Text: "skill-07"})
	file := ""
	if ill.file != nil {
		file = ill.file(cfg.DB)
	}
	c := before
	if !resident {
		must.Do(t, before.Close())
	}
	if err := ill.do(cfg.DB); err != nil {
		if errors.Is(err, os.ErrNotExist) && !resident {
			t.Skip("there is no such file while the catalog is closed")
		}
		t.Fatal(err)
	}
	if !resident {
		c = deferred(t, cfg)
	}
	checkAnswer(t, c, file, "skill-03")
	must.Do(t, os.RemoveAll(filepath.Join(dir, "skill-03")))
	must.Write(t, filepath.Join(dir, "skill-new", "SKILL.md"), doc("skill-new", "Does skill-new."))
	if _, err := c.Owner().Rescan(t.Context(), nil); file == "" {
		must.Do(t, err)
	} else {
		is := func(suffix string) bool { return strings.HasSuffix(file, suffix) }
		if open := resident && slices.ContainsFunc(onlyOpened, is); !open && (err == nil || !strings.Contains(err.Error(), file)) {
			t.Errorf("rescan: %v, want an error that names %s", err, file)
		}
		must.Do(t, os.RemoveAll(file))
		rescan(t, c)
	}
	now := append(slices.DeleteFunc(many(), func(s string) bool { return s == "skill-03" }), "skill-new")
	for what, c := range map[string]*repertoire.Catalog{"the same catalog": c, "another process": deferred(t, cfg)} {
		_, err := c.Freshen(t.Context(), nil)
		must.Do(t, err)
		want(t, what, list(t, c, nil, false), now...)
		checkAnswer(t, c, "", "skill-new")
		if hits, _ := search(t, c, repertoire.Query{Text: "skill-03"}); slices.Contains(hits, "skill-03") {
			t.Errorf("%s finds what is gone", what)
		}
	}
}

// TestRemade: somebody removes the database, and another process makes a new one and goes
// on changing it. A running process follows it, also when nothing has changed since.
func TestRemade(t *testing.T) {
	t.Parallel()
	for _, change := range []bool{false, true} {
		src, dir := folder(t, "team", docs(many()...))
		aged(t, dir)
		cfg := repertoire.Config{Sources: []source.Source{src}, DB: filepath.Join(t.TempDir(), "catalog.db"), Schedule: repertoire.Never}
		c := scanned(t, cfg)
		search(t, c, repertoire.Query{Text: "skill-07"})
		must.Do(t, os.Remove(cfg.DB))
		other := scanned(t, cfg)
		now := many()
		if change {
			now = toggle(t, dir, now, "skill-11")
			rescan(t, other)
		}
		for _, c := range []*repertoire.Catalog{c, other} {
			want(t, "list", list(t, c, nil, false), now...)
		}
		now = toggle(t, dir, now, "skill-05")
		for _, c := range []*repertoire.Catalog{c, other} {
			rescan(t, c)
			want(t, "list after a change", list(t, c, nil, false), now...)
			if hits, _ := search(t, c, repertoire.Query{Text: "skill-05"}); slices.Contains(hits, "skill-05") {
				t.Errorf("hits %v", hits)
			}
		}
	}
}

// TestRescanAllSpecial: reading all skills again replaces nothing that is no regular file.
func TestRescanAllSpecial(t *testing.T) {
	t.Parallel()
	cfg, _ := onDisk(t, docs("one"))
	c := scanned(t, cfg)
	file := cfg.DB + ".stamps"
	must.Do(t, instead(fifo)(file))
	if _, err := c.Owner().RescanAll(t.Context(), nil); err == nil || !strings.Contains(err.Error(), file) {
		t.Errorf("%v, want an error that names %s", err, file)
	}
	if info, err := os.Lstat(file); err != nil || info.Mode().IsRegular() {
		t.Errorf("the pipe was replaced: %v, %v", info, err)
	}
}

// TestRescanAllReplaced: all is read again also if somebody has replaced the file meanwhile.
func TestRescanAllReplaced(t *testing.T) {
	t.Parallel()
	cfg, dir := onDisk(t, docs("one"))
	dated(t, dir, longAgo)
	closedCatalog(t, cfg)
	data, err := os.ReadFile(cfg.DB)
	must.Do(t, err)
	c := scanned(t, cfg)
	must.Write(t, filepath.Join(dir, "one", "SKILL.md"), strings.Replace(doc("one", "Does one."), "Body", "Beds", 1))
	dated(t, dir, longAgo) // an edit that keeps size and time
	must.Do(t, errors.Join(os.WriteFile(cfg.DB+".copy", data, 0o600), os.Rename(cfg.DB+".copy", cfg.DB)))
	reports, err := c.Owner().RescanAll(t.Context(), nil)
	must.Do(t, err)
	if r := reports[0]; r.Changed != 1 {
		t.Errorf("report %+v, want 1 changed", r)
	}
}

// checkAnswer checks that the best skill for its name is this one, or that the error names
// a file, unless that is "".
func checkAnswer(t *testing.T, c *repertoire.Catalog, file, skill string) {
	t.Helper()
	_, err := c.Freshen(t.Context(), &repertoire.FreshenOptions{Scan: time.Hour})
	answer, searchErr := c.Search(t.Context(), repertoire.Query{Text: skill})
	if err := errors.Join(err, searchErr); err != nil {
		if file == "" || !strings.Contains(err.Error(), file) {
			t.Errorf("%v; want an error that names %q", err, file)
		}
	} else if len(answer.Hits) == 0 || answer.Hits[0].ID != skill {
		t.Errorf("%s: hits %v", skill, answer.Hits)
	}
}
