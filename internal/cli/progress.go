package cli

import (
	"time"

	"github.com/schollz/progressbar/v3"
)

// progress is a progress bar on standard error. It appears with the first step, and only
// on a terminal without --quiet.
type progress struct {
	draw func() *progressbar.ProgressBar // nil means that no bar is drawn
	bar  *progressbar.ProgressBar        // nil before the first step
}

// progress returns a progress bar; -1 means that the total is unknown.
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

// step moves the bar by one.
func (p *progress) step() {
	if p.begin() {
		p.bar.Add(1) // ignore the error: the work goes on without a bar
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
