package doctor

import (
	"context"
	"fmt"
	"path"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/repertoire-skills/repertoire"
	"github.com/repertoire-skills/repertoire/internal/evals"
	"github.com/repertoire-skills/repertoire/skill"
	"github.com/repertoire-skills/repertoire/source"
)

// Examined is what was found out about one skill.
type examined struct {
	looked
	entry repertoire.Entry
	asked []askedPrompt
	tried []evals.Outcome
	err   error
}

// Looked is what the files of one skill show, whatever else is in the catalog.
type looked struct {
	Unreadable bool            // the skill cannot be loaded, so that the trust checks say nothing
	Inspected  []skill.Problem // by the trust checks
	Problems   []skill.Problem // by all other checks
	Unread     int             // files that were too many or too large to be read
	Prompts    []evals.Prompt
	Instead    []sentTo // skills that the description sends to
}

// counting returns a function that counts the calls of several goroutines for step, which may be nil.
func counting(all int, step func(done, all int)) func() {
	var show sync.Mutex
	done := 0
	return func() {
		show.Lock()
		defer show.Unlock()
		if done++; step != nil {
			step(done, all)
		}
	}
}

// rank ranks the catalog for the description and the prompts of skills, on all cores.
func rank(ctx context.Context, c *repertoire.Catalog, list []examined, known *memory, step func()) error {
	inParallel(ctx, len(list), func(i int) {
		e := &list[i]
		e.asked, e.err = ask(ctx, c, e.entry.ID, e.Prompts, known)
		step()
	})
	for i := range list {
		if list[i].err != nil {
			return list[i].err
		}
	}
	return ctx.Err()
}

// inParallel calls do with the numbers below n on all cores, until ctx ends.
func inParallel(ctx context.Context, n int, do func(i int)) {
	var next atomic.Int64
	var workers sync.WaitGroup
	for range min(n, runtime.GOMAXPROCS(0)) {
		workers.Go(func() {
			for i := int(next.Add(1)) - 1; i < n && ctx.Err() == nil; i = int(next.Add(1)) - 1 {
				do(i)
			}
		})
	}
	workers.Wait()
}

// lookAt looks at the files of one skill.
func lookAt(ctx context.Context, src source.Source, ref *skill.Ref, strict bool) (l looked) {
	s, err := ref.Load()
	if l.Unreadable = err != nil; err == nil && !strict { // a strict check has inspected it
		l.Inspected = inspectOne(ctx, src, s)
	}
	files := readContents(ctx, src, path.Dir(ref.Path), path.Base(ref.Path), s)
	l.Problems, l.Unread = files.check(strict), len(files.unread)
	l.Prompts, _ = files.evals()
	l.Instead = files.instead()
	return l
}

// unread reports how many files were not read.
func (d *diagnosis) unread(list []examined) {
	files, skills := 0, 0
	for _, e := range list {
		if files += e.Unread; e.Unread > 0 {
			skills++
		}
	}
	if files == 0 {
		return
	}
	message := fmt.Sprintf("%d files of %d skills were not read: a file has more than %d KB, or the files of a skill are more than %d or have more than %d MB; links and scripts in them were not checked, nor which files of these skills nothing mentions",
		files, skills, maxRead>>10, maxReadable, maxReadAll>>20)
	if files == 1 {
		message = strings.NewReplacer("1 files of 1 skills were", "1 file of 1 skill was", "in them", "in it", "these skills", "that skill").Replace(message)
	}
	d.report.Findings = append(d.report.Findings, Finding{Cost: Author, Problem: skill.Problem{Rule: "not-read", Severity: skill.Note, Path: "catalog", Message: message}})
}
