package agent_test

import (
	"context"

	"github.com/repertoire-skills/repertoire/sandbox"
)

// echo is an executor for tests in which nothing runs.
type echo struct{}

func (echo) Execute(_ context.Context, r sandbox.Request) (sandbox.Result, error) {
	return sandbox.Result{Stdout: []byte(r.Command)}, nil
}
