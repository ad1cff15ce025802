package server

import (
	"context"
	"os"
	"runtime/debug"
	"runtime/metrics"
	"time"
)

// leastMemory is what a server may use before it collects garbage more often.
const leastMemory = 192 << 20

// boundMemory has a server collect garbage more often while it uses much memory, until ctx ends:
// more than leastMemory, and than twice of what a large catalog needs all the time. The
// environment may say another limit.
func boundMemory(ctx context.Context) {
	if os.Getenv("GOMEMLIMIT") != "" {
		return
	}
	debug.SetMemoryLimit(leastMemory)
	go func() {
		every := time.NewTicker(2 * time.Second)
		defer every.Stop()
		for {
			select {
			case <-ctx.Done():
				return
			case <-every.C:
			}
			debug.SetMemoryLimit(max(leastMemory, 2*inUse()))
		}
	}()
}

// inUse returns how many bytes the last collection of garbage has left.
func inUse() int64 {
	live := []metrics.Sample{{Name: "/gc/heap/live:bytes"}}
	metrics.Read(live)
	if live[0].Value.Kind() != metrics.KindUint64 {
		return 0
	}
	return int64(live[0].Value.Uint64())
}
