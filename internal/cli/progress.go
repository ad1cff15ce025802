package cli

import (
	"log/slog"
	"time"

	"github.com/schollz/progressbar/v3"
)

// progress is a bar on standard error. It is drawn from the first step on, and
// only on a terminal whose user does not want quiet.
type progress struct {
	draw func() *progressbar.ProgressBar // nil if nothing is drawn
	bar  *progressbar.ProgressBar        // nil before the first step
}

// progress returns a bar; a total of -1 means that it is unknown.
func (a *app) progress(what string, total int) *progress {
	if _, ok := terminal(a.stderr); !ok || a.quiet {
		return &progress{}
	}
	return &progress{draw: func() *progressbar.ProgressBar {
		return progressbar.NewOptions(total,
			progressbar.OptionSetWriter(a.stderr),
			progressbar.OptionSetDescription(what),
			progressbar.OptionShowCount(),
			progressbar.OptionClearOnFinish(),
			progressbar.OptionThrottle(65*time.Millisecond))
	}}
}

// begin reports whether there is a bar, which it makes at the first call.
func (p *progress) begin() bool {
	if p.bar == nil && p.draw != nil {
		p.bar = p.draw()
	}
	return p.bar != nil
}

func (p *progress) add(n int) {
	if p.begin() {
		p.bar.Add(n) // a bar that cannot be drawn is no reason to stop
	}
}

// set moves the bar to done of all.
func (p *progress) set(done, all int) {
	if p.begin() {
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
