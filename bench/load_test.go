package bench

import (
	"context"
	"errors"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

// TestMeasureLoad: all requests are counted, answers and errors apart.
func TestMeasureLoad(t *testing.T) {
	t.Parallel()
	var asked atomic.Int64
	l, err := MeasureLoad(t.Context(), &LoadOptions{
		Prompts: []string{"one", "two", "three"}, Clients: 4, Duration: 30 * time.Millisecond, Timeout: time.Minute,
		Kind:  func(err error) string { kind, _, _ := strings.Cut(err.Error(), ":"); return kind },
		Pause: func(error) time.Duration { return time.Millisecond },
		Ask: func(_ context.Context, prompt string) (int, error) {
			asked.Add(1)
			switch prompt {
			case "two":
				return 0, errors.New("refused: nobody listens")
			case "three":
				return 0, nil
			}
			return 2, nil
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	if l.Requests != int(asked.Load())-4 || l.Requests < 4 || l.Failed == 0 || l.PerS <= 0 || l.P50MS > l.P99MS || l.P99MS > l.P999MS || l.P999MS > l.MaxMS || l.Offered <= 0 || l.Offered >= 1 {
		t.Errorf("%+v of %d", l, asked.Load())
	}
	if len(l.Errors) != 1 || l.Errors[0].Kind != "refused" || l.Errors[0].Count != l.Failed || l.Errors[0].First != "refused: nobody listens" {
		t.Errorf("%+v", l.Errors)
	}
}
