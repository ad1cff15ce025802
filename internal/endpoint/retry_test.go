package endpoint_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/repertoire-skills/repertoire/internal/endpoint"
)

// TestSleep would hang if Sleep did not end with its context.
func TestSleep(t *testing.T) {
	if err := endpoint.Sleep(t.Context(), time.Nanosecond); err != nil {
		t.Error(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	time.AfterFunc(time.Millisecond, cancel)
	if err := endpoint.Sleep(ctx, time.Hour); !errors.Is(err, context.Canceled) {
		t.Errorf("Sleep = %v, want %v", err, context.Canceled)
	}
}
