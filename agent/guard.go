package agent

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// patience is how long a model or an executor has to return when its context has ended. An
// executor kills processes in this time.
const patience = 5 * time.Second

// guard calls f, which is code of the program that uses this package, and returns what f
// returns. A panic of f is an error. If f does not return when ctx has ended, guard leaves
// it behind and returns the error of ctx.
func guard[T any](ctx context.Context, who string, f func() (T, error)) (T, error) {
	type result struct {
		v   T
		err error
	}
	done := make(chan result, 1)
	go func() {
		r := result{err: errors.New(who + " ended without a result")} // by runtime.Goexit
		defer func() {
			if p := recover(); p != nil {
				r.err = fmt.Errorf("%s panicked: %v", who, p)
			}
			done <- r
		}()
		r.v, r.err = f()
	}()
	select {
	case r := <-done:
		return r.v, r.err
	case <-ctx.Done():
	}
	late := time.NewTimer(patience)
	defer late.Stop()
	select {
	case r := <-done:
		return r.v, r.err
	case <-late.C:
		var none T
		return none, fmt.Errorf("%w, and %s goes on all the same", ctx.Err(), who)
	}
}
