package main

import (
	"fmt"
	"math"

	"github.com/spf13/cobra"

	"github.com/repertoire-skills/repertoire/rank"
)

// threshold is the value of the flag --threshold.
type threshold float64

// flag adds --threshold to a command.
func (t *threshold) flag(cmd *cobra.Command) {
	*t = threshold(rank.DefaultGate().Threshold)
	cmd.Flags().Float64Var((*float64)(t), "threshold", float64(*t), "offer skills from this `probability` on")
}

func (t threshold) check() error {
	if t >= 0 && t <= 1 {
		return nil
	}
	return fmt.Errorf("--threshold %g: a probability from 0 to 1", float64(t))
}

// probability returns what the library takes, for which 0 is the default: one
// that everything reaches stands for 0.
func (t threshold) probability() float64 { return max(float64(t), math.SmallestNonzeroFloat64) }
