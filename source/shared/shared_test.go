package shared_test

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/repertoire-skills/repertoire/internal/must"
	"github.com/repertoire-skills/repertoire/skill"
	"github.com/repertoire-skills/repertoire/source"
	"github.com/repertoire-skills/repertoire/source/shared"
	"github.com/repertoire-skills/repertoire/source/sourcetest"
	"github.com/repertoire-skills/repertoire/store"
)

const text = "---\nname: pdf\ndescription: Fills forms.\n---\nBody.\n"

// A truth is a catalog whose files are those of a table.
type truth struct {
	table *sourcetest.Table

	gone    atomic.Bool // the catalog cannot be reached
	hangs   atomic.Bool // it does not answer
	damaged atomic.Bool // it returns other bytes
	asked   atomic.Int32
}

var errGone = errors.New("the database is gone")

func (tr *truth) SkillFiles(ctx context.Context, _, dir string) ([]skill.File, error) {
	if tr.hangs.Load() {
		<-ctx.Done()
		return nil, ctx.Err()
	}
	if tr.gone.Load() {
		return nil, errGone
	}
	ref, _, ok := tr.table.Skill(dir)
	if !ok {
		return nil, fs.ErrNotExist
	}
	s, err := ref.Load()
	if err != nil {
		return nil, err
	}
	return s.Files, nil
}

func (tr *truth) Content(ctx context.Context, digest string) ([]byte, error) {
	tr.asked.Add(1)
	if tr.gone.Load() {
		return nil, errGone
	}
	for ref, err := range tr.table.Skills(ctx, nil) {
		if err != nil {
			return nil, err
		}
		dir := path.Dir(ref.Path)
		l, err := tr.table.List(ctx, dir)
		if err != nil {
			return nil, err
		}
		for _, f := range l.Files {
			file, err := source.ReadFile(ctx, tr.table, dir, f.Path)
			if err != nil {
				return nil, err
			}
			if file.SHA256 == digest && tr.damaged.Load() {
				return append(file.Data, "altered"...), nil
			}
			if file.SHA256 == digest {
				return file.Data, nil
			}
		}
	}
	return nil, fs.ErrNotExist
}

func open(t *testing.T, files map[string]string, o *shared.Options) (*shared.Source, *truth) {
	t.Helper()
	tr := &truth{table: sourcetest.NewTable("team", files)}
	s, err := shared.New(tr, source.Info{Label: "team", Root: "/elsewhere"}, o)
	must.Do(t, err)
	return s, tr
}

func TestContract(t *testing.T) {
	for _, cached := range []bool{false, true} {
		t.Run(fmt.Sprintf("cached %t", cached), func(t *testing.T) {
			sourcetest.TestSource(t, func(t *testing.T, files map[string]string) sourcetest.Store {
				o := new(shared.Options)
				if cached {
					o.Cache = shared.NewCache(t.TempDir(), 0)
				}
				s, tr := open(t, files, o)
				return sourcetest.Store{
					Source: sourcetest.ListedBy(tr.table, s),
					Put:    func(_ *testing.T, name, text string) { tr.table.Put(name, text) },
					Remove: func(_ *testing.T, name string) { tr.table.Remove(name) },
				}
			})
		})
	}
}

func TestRefusedOptions(t *testing.T) {
	_, noFiles := shared.New(nil, source.Info{Label: "team"}, nil)
	_, noLabel := shared.New(&truth{}, source.Info{}, nil)
	_, negative := shared.New(&truth{}, source.Info{Label: "team", MaxFile: -1}, nil)
	if noFiles == nil || noLabel == nil || negative == nil {
		t.Errorf("errors %v, %v, %v", noFiles, noLabel, negative)
	}
}

func TestUnlisted(t *testing.T) {
	tr := &truth{table: sourcetest.NewTable("team", map[string]string{"pdf/SKILL.md": text})}
	s, err := shared.New(tr, source.Info{Label: "team", Root: "/elsewhere"}, nil)
	must.Do(t, err)
	for _, err := range s.Skills(t.Context(), nil) {
		if err == nil {
			t.Error("a skill was found")
		}
	}
	if _, _, ok := s.Skill("pdf"); ok || s.Info().Root != "" {
		t.Errorf("found %t, root %q", ok, s.Info().Root)
	}
	f, err := source.ReadInstructions(t.Context(), s, "pdf")
	if err != nil || string(f.Data) != text {
		t.Errorf("%+v, %v", f, err)
	}
}

// TestMismatch: bytes that do not match their digest are refused, whatever is wrong with
// the catalog, and nothing of them is kept.
func TestMismatch(t *testing.T) {
	s, tr := open(t, map[string]string{"pdf/SKILL.md": text}, &shared.Options{Cache: shared.NewCache(t.TempDir(), 0)})
	tr.damaged.Store(true)
	for range 2 {
		f, err := source.ReadInstructions(t.Context(), s, "pdf")
		if !errors.Is(err, shared.ErrMismatch) || !errors.Is(err, source.ErrRefused) || errors.Is(err, store.ErrDamaged) {
			t.Errorf("%+v, %v; want ErrMismatch", f, err)
		}
	}
	tr.damaged.Store(false)
	if _, err := source.ReadInstructions(t.Context(), s, "pdf"); err != nil {
		t.Error(err)
	}
}

// TestTooLarge: a file over the limit is not fetched.
func TestTooLarge(t *testing.T) {
	s, tr := open(t, map[string]string{"pdf/SKILL.md": text, "pdf/big.bin": strings.Repeat("x", skill.MaxFile+1)}, new(shared.Options))
	tr.asked.Store(0)
	_, err := source.ReadFile(t.Context(), s, "pdf", "big.bin")
	if !errors.Is(err, source.ErrTooLarge) || tr.asked.Load() != 0 {
		t.Errorf("%v; asked %d times", err, tr.asked.Load())
	}
	m, err := source.ReadManifest(t.Context(), s, "pdf")
	if err != nil || len(m.Files) != 2 || m.Unserved != "" || tr.asked.Load() != 1 {
		t.Errorf("manifest %+v, %v; asked %d times", m, err, tr.asked.Load())
	}
}

// TestAway: what was read once can be read while the catalog cannot be reached, also by
// the next process; what is gone is not.
func TestAway(t *testing.T) {
	dir := t.TempDir()
	files := map[string]string{"pdf/SKILL.md": text, "pdf/notes.md": "Notes.\n", "ocr/SKILL.md": strings.ReplaceAll(text, "pdf", "ocr"), "old/SKILL.md": strings.ReplaceAll(text, "pdf", "old")}
	s, tr := open(t, files, &shared.Options{Cache: shared.NewCache(dir, 0)})
	for _, d := range []string{"pdf", "old"} {
		_, err := source.ReadInstructions(t.Context(), s, d)
		must.Do(t, err)
	}
	tr.table.Remove("old/SKILL.md")
	if _, err := s.List(t.Context(), "old"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("%v, want fs.ErrNotExist", err)
	}
	tr.gone.Store(true)
	next, err := shared.New(tr, source.Info{Label: "team"}, &shared.Options{Cache: shared.NewCache(dir, 0)})
	must.Do(t, err)
	for _, s := range []*shared.Source{s, next} {
		f, err := source.ReadInstructions(t.Context(), s, "pdf")
		if err != nil || string(f.Data) != text {
			t.Errorf("%+v, %v", f, err)
		}
		m, err := source.ReadManifest(t.Context(), s, "pdf")
		if err != nil || len(m.Files) != 2 || !strings.HasPrefix(m.Digest, "sha256:") {
			t.Errorf("%+v, %v", m, err)
		}
		_, unread := source.ReadFile(t.Context(), s, "pdf", "notes.md")
		_, unknown := source.ReadInstructions(t.Context(), s, "ocr")
		_, gone := source.ReadInstructions(t.Context(), s, "old")
		for i, err := range []error{unread, unknown, gone} {
			if !errors.Is(err, errGone) {
				t.Errorf("read %d: %v, want %v", i, err, errGone)
			}
		}
	}
}

// TestHangs: a catalog that does not answer delays a known skill by Wait only, and another
// one as long as the context allows.
func TestHangs(t *testing.T) {
	s, tr := open(t, map[string]string{"pdf/SKILL.md": text, "ocr/SKILL.md": strings.ReplaceAll(text, "pdf", "ocr")},
		&shared.Options{Cache: shared.NewCache(t.TempDir(), 0), Wait: time.Millisecond})
	_, err := source.ReadInstructions(t.Context(), s, "pdf")
	must.Do(t, err)
	tr.hangs.Store(true)
	if _, err := source.ReadInstructions(t.Context(), s, "pdf"); err != nil {
		t.Error(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
	defer cancel()
	if _, err := source.ReadInstructions(ctx, s, "ocr"); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("%v, want context.DeadlineExceeded", err)
	}
}

// TestDamagedCache: a kept file that was changed, cut or replaced by something else is
// fetched again.
func TestDamagedCache(t *testing.T) {
	for name, damage := range map[string]func(name string) error{
		"changed": func(name string) error {
			return os.WriteFile(name, []byte(strings.Replace(text, "Body", "Evil", 1)), 0o600)
		},
		"cut":       func(name string) error { return os.Truncate(name, 3) },
		"grown":     func(name string) error { return os.WriteFile(name, []byte(text+"more"), 0o600) },
		"no file":   func(name string) error { return errors.Join(os.Remove(name), os.Mkdir(name, 0o700)) },
		"none left": os.Remove,
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			s, _ := open(t, map[string]string{"pdf/SKILL.md": text}, &shared.Options{Cache: shared.NewCache(dir, 0)})
			_, err := source.ReadInstructions(t.Context(), s, "pdf")
			must.Do(t, err)
			all, err := filepath.Glob(filepath.Join(dir, "*"))
			must.Do(t, err)
			for _, name := range all {
				must.Do(t, damage(name))
			}
			f, err := source.ReadInstructions(t.Context(), s, "pdf")
			if err != nil || string(f.Data) != text {
				t.Errorf("%+v, %v", f, err)
			}
		})
	}
}

// TestBound: the folder does not grow beyond its limit, and what was used last stays.
func TestBound(t *testing.T) {
	dir := t.TempDir()
	const limit = 100_000
	files := make(map[string]string)
	for i := range 30 {
		files[fmt.Sprintf("s%02d/SKILL.md", i)] = fmt.Sprintf("---\nname: s%02d\ndescription: x.\n---\n%s", i, strings.Repeat("words ", 1700))
	}
	s, tr := open(t, files, &shared.Options{Cache: shared.NewCache(dir, limit)})
	for i := range 30 {
		_, err := source.ReadInstructions(t.Context(), s, fmt.Sprintf("s%02d", i))
		must.Do(t, err)
		old := time.Now().Add(time.Duration(i-100) * time.Second) // one after the other, whatever the clock's step
		all, err := filepath.Glob(filepath.Join(dir, "*"))
		must.Do(t, err)
		for _, name := range all {
			if info, err := os.Stat(name); err == nil && info.ModTime().After(time.Now().Add(-50*time.Second)) {
				must.Do(t, os.Chtimes(name, old, old))
			}
		}
	}
	var size int64
	all, err := os.ReadDir(dir)
	must.Do(t, err)
	for _, e := range all {
		info, err := e.Info()
		must.Do(t, err)
		size += info.Size()
	}
	if size > limit || size < limit/2 {
		t.Errorf("%d bytes are kept, the limit is %d", size, limit)
	}
	tr.gone.Store(true)
	_, last := source.ReadInstructions(t.Context(), s, "s29")
	_, first := source.ReadInstructions(t.Context(), s, "s00")
	if last != nil || !errors.Is(first, errGone) {
		t.Errorf("the last one: %v; the first one: %v", last, first)
	}
}
