package cli

import (
	"cmp"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/repertoire-skills/repertoire"
	"github.com/repertoire-skills/repertoire/rank"
)

// threshold is the flag --threshold of a command.
type threshold struct {
	value float64
	given func() bool
}

func (t *threshold) flag(cmd *cobra.Command) {
	cmd.Flags().Float64Var(&t.value, "threshold", rank.DefaultGate().Threshold, "offer skills from this `probability` on")
	t.given = func() bool { return cmd.Flags().Changed("threshold") }
}

func (t *threshold) check() error {
	if t.value >= 0 && t.value <= 1 {
		return nil
	}
	return fmt.Errorf("--threshold %g: a probability from 0 to 1", t.value)
}

// probability returns the threshold for the library, where 0 means the configured one.
func (t *threshold) probability() float64 {
	if !t.given() {
		return 0
	}
	return cmp.Or(t.value, repertoire.Always)
}
