package endpoint

import (
	"context"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// RetryAfter returns the pause that a Retry-After header asks for, in seconds or as a date;
// 0 means none.
func RetryAfter(header string, now time.Time) time.Duration {
	header = strings.TrimSpace(header)
	if seconds, err := strconv.ParseUint(header, 10, 31); err == nil {
		return time.Duration(seconds) * time.Second
	}
	if date, err := http.ParseTime(header); err == nil {
		return max(0, date.Sub(now))
	}
	return 0
}

// Sleep waits, and returns the error of ctx if that ends first.
func Sleep(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-t.C:
		return nil
	}
}

// Busy reports whether a status says that the same request may succeed later. A used-up
// quota is a 429 too, but waiting does not help.
func (a Answer) Busy() bool {
	switch a.Status {
	case http.StatusTooManyRequests:
		return !strings.Contains(string(a.Body), "insufficient_quota")
	case http.StatusRequestTimeout:
		return true
	}
	return a.Status >= 500 && a.Status != http.StatusNotImplemented
}
