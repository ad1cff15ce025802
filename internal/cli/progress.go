package cli

import (
	"time"

	"github.com/schollz/progressbar/v3"
)

// progress is a progress bar on standard error. It appears with the first step, and only
// on a terminal without --quiet. Its errors are ignored: the work goes on without a bar.
type progress struct{ *progressbar.ProgressBar }

// progress returns a progress bar; -1 means that the total is unknown.
func (ui *screen) progress(what string, total int) progress {
	_, ok := terminal(ui.stderr)
	return progress{progressbar.NewOptions(total,
		progressbar.OptionSetVisibility(ok && !ui.quiet),
		progressbar.OptionSetWriter(bare(ui.stderr)),
		progressbar.OptionSetDescription(what),
		progressbar.OptionShowCount(),
		progressbar.OptionClearOnFinish(),
		// Else a goroutine of the bar turns its spinner, and reads the state without its lock.
		progressbar.OptionSetSpinnerChangeInterval(0),
		progressbar.OptionThrottle(65*time.Millisecond))}
}

// step moves the bar by one.
func (p progress) step() { p.Add(1) }

// set moves the bar to done of all.
func (p progress) set(done, all int) {
	p.ChangeMax(all)
	p.Set(done)
}

func (p progress) done() {
	if p.IsStarted() {
		p.Finish()
	}
}
