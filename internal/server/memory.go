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
	live := []metrics.Sample{{Name: "/gc/heap/live:bytes"}} // what the last collection has left
	go func() {
		every := time.NewTicker(2 * time.Second)
		defer every.Stop()
		for {
			select {
			case <-ctx.Done():
				return
			case <-every.C:
			}
			metrics.Read(live)
			debug.SetMemoryLimit(max(leastMemory, 2*int64(live[0].Value.Uint64())))
		}
	}()
}
