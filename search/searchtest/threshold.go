package searchtest

import (
	"github.com/repertoire-skills/repertoire/rank"
	"github.com/repertoire-skills/repertoire/snapshot"
)

// UsualThreshold is the threshold at the default shares.
func UsualThreshold(d snapshot.Demands) float64 {
	return rank.DefaultGate().ThresholdFor(rank.DefaultRate, rank.DefaultUnfit, d.Needless, d.Unfit)
}
