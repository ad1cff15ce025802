package openai

import (
	"context"
	"errors"
	"testing"
	"time"
)

// TestSleep would hang if Sleep did not end with its context.
func TestSleep(t *testing.T) {
	if err := sleep(t.Context(), time.Nanosecond); err != nil {
		t.Error(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	time.AfterFunc(time.Millisecond, cancel)
	if err := sleep(ctx, time.Hour); !errors.Is(err, context.Canceled) {
		t.Errorf("sleep = %v, want %v", err, context.Canceled)
	}
}
