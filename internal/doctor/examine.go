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

// Examined is what was found out about one offered skill.
type examined struct {
	entry    repertoire.Entry
	problems []skill.Problem
	unread   int // files that were too many or too large to be read
	asked    []askedPrompt
	tried    []evals.Outcome
	err      error
}

// examine reads the files of all offered skills, and ranks the catalog for their prompts,
// on all cores. step may be nil.
func examine(ctx context.Context, c *repertoire.Catalog, entries []repertoire.Entry, strict bool, step func(done, all int)) ([]examined, error) {
	sources := make(map[string]source.Source)
	for _, src := range c.Config().Sources {
		sources[src.Info().Label] = src
	}
	list := make([]examined, len(entries))
	var done atomic.Int64
	var show sync.Mutex
	inParallel(ctx, len(entries), func(i int) {
		list[i] = examineOne(ctx, c, sources[entries[i].Source], entries[i], strict)
		if n := int(done.Add(1)); step != nil {
			show.Lock()
			step(n, len(entries))
			show.Unlock()
		}
	})
	for _, e := range list {
		if e.err != nil {
			return nil, e.err
		}
	}
	return list, ctx.Err()
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

// examineOne examines one skill. src is nil if its source is not open.
func examineOne(ctx context.Context, c *repertoire.Catalog, src source.Source, entry repertoire.Entry, strict bool) examined {
	e := examined{entry: entry}
	var prompts []evals.Prompt
	if src != nil {
		files := readContents(ctx, src, path.Dir(entry.Path), path.Base(entry.Path))
		e.problems, e.unread = files.check(strict), len(files.unread)
		prompts, _ = files.evals()
	}
	if e.asked, e.err = ask(ctx, c, entry.ID, prompts); e.err == nil {
		e.tried, e.err = judge(ctx, c, entry.ID, prompts)
	}
	return e
}

// unread reports how many files were not read.
func (d *diagnosis) unread(list []examined) {
	files, skills := 0, 0
	for _, e := range list {
		if files += e.unread; e.unread > 0 {
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
