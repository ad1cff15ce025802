package cli

import (
	"log/slog"
	"time"

	"github.com/schollz/progressbar/v3"
)

// progress is a bar on standard error, or nothing when that is no terminal or
// the user wants quiet.
type progress struct{ bar *progressbar.ProgressBar }

// progress starts a bar; a total of -1 is unknown.
func (a *app) progress(what string, total int) *progress {
	if _, ok := terminal(a.stderr); !ok || a.quiet {
		return &progress{}
	}
	return &progress{progressbar.NewOptions(total,
		progressbar.OptionSetWriter(a.stderr),
		progressbar.OptionSetDescription(what),
		progressbar.OptionShowCount(),
		progressbar.OptionClearOnFinish(),
		progressbar.OptionThrottle(65*time.Millisecond))}
}

func (p *progress) add(n int) {
	if p.bar != nil {
		p.bar.Add(n) // a bar that cannot be drawn is no reason to stop
	}
}

// set moves the bar to done of all.
func (p *progress) set(done, all int) {
	if p.bar != nil {
		p.bar.ChangeMax(all)
		p.bar.Set(done)
	}
}

func (p *progress) done() {
	if p.bar != nil {
		p.bar.Finish()
	}
}

// logger writes what happens in the background to standard error when the user
// wants to hear of it.
func (a *app) logger() *slog.Logger {
	if a.log != nil || !a.verbose {
		return a.log
	}
	return slog.New(slog.NewTextHandler(a.stderr, nil))
}
