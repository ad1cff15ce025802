package push_test

import (
	"context"
	"iter"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/repertoire-skills/repertoire/internal/must"
	"github.com/repertoire-skills/repertoire/internal/push"
	"github.com/repertoire-skills/repertoire/skill"
	"github.com/repertoire-skills/repertoire/source"
	"github.com/repertoire-skills/repertoire/store/memorytest"
)

// stamped is a folder whose stamps can be forged by setting times, to find out what is read.
type stamped struct{ *source.FS }

func (s stamped) Stamped(ctx context.Context) iter.Seq2[*skill.Ref, error] {
	return s.Skills(ctx, func(source.Trace) {})
}

// TestMemory: what this machine has read before is not read again, whatever catalog it is pushed
// to; what a catalog has of it is compared all the same.
func TestMemory(t *testing.T) {
	dir, other := t.TempDir(), t.TempDir()
	old := time.Now().Add(-time.Hour)
	put := func(dir, name, text string) {
		t.Helper()
		write(t, dir, name, text)
		must.Do(t, os.Chtimes(filepath.Join(dir, name), old, old))
	}
	for name, text := range map[string]string{"pdf/SKILL.md": doc("pdf"), "pdf/x.txt": "one", "ocr/SKILL.md": doc("ocr"), "ocr/.env": "KEY=1", "bad/SKILL.md": "bad"} {
		put(dir, name, text)
	}
	put(other, "pdf/SKILL.md", doc("pdf")+"Other.\n")
	src := stamped{at(t, dir, "a", 1).(*source.FS)}
	st, o := memorytest.New(), &push.Options{Memory: filepath.Join(t.TempDir(), "pushed")}
	with := func(o push.Options, change func(*push.Options)) *push.Options { change(&o); return &o }
	full, none := with(*o, func(o *push.Options) { o.Full = true }), with(*o, func(o *push.Options) { o.Memory = "" })

	want(t, "first push", does(t, st, o, src), "a: +bad/SKILL.md +ocr/SKILL.md +pdf/SKILL.md 3 files")
	put(dir, "pdf/x.txt", "two") // of the same size and time
	put(dir, "ocr/y.txt", "new")
	r := does(t, st, o, src)
	want(t, "what the stamps show", r, "a: ~ocr/SKILL.md 1 files")
	if got := r.Sources[0]; len(got.Secrets) != 1 || got.Unchanged != 1 || got.Refused != 1 {
		t.Errorf("%+v", got)
	}
	want(t, "without a memory", does(t, st, with(*none, func(o *push.Options) { o.DryRun = true }), src), "a: ~pdf/SKILL.md 1 files")
	want(t, "to another catalog", does(t, memorytest.New(), o, src), "a: +bad/SKILL.md +ocr/SKILL.md +pdf/SKILL.md 4 files")
	put(dir, "pdf/x.txt", "six")
	want(t, "all of it", does(t, st, full, src), "a: ~pdf/SKILL.md 1 files")

	does(t, st, none, at(t, other, "a", 1)) // by another machine
	want(t, "after another machine", does(t, st, o, src), "a: +bad/SKILL.md +ocr/SKILL.md ~pdf/SKILL.md 4 files")
	served(t, st, dir, "a", "pdf")
	want(t, "nothing", does(t, st, o, src), "a: 0 files")

	files, err := filepath.Glob(filepath.Join(o.Memory, "*"))
	must.Do(t, err)
	if len(files) != 1 {
		t.Fatalf("files %q", files)
	}
	text := must.Read(t, files[0])
	must.Write(t, files[0], text[:len(text)-1])
	put(dir, "pdf/x.txt", "ten")
	want(t, "with a damaged memory", does(t, st, o, src), "a: ~pdf/SKILL.md 1 files")
	must.Do(t, os.RemoveAll(filepath.Join(dir, "pdf")))
	want(t, "without the skill", does(t, st, o, src), "a: -pdf/SKILL.md 0 files")
}
