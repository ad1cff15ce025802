package sandbox_test

import (
	"context"
	"fmt"
	"log"

	"github.com/repertoire-skills/repertoire/sandbox"
)

// A function is an executor, such as one that sends commands to a machine for them. Package agent
// calls Check before it, so that a skill runs only what its author has listed.
func ExampleExecutorFunc() {
	elsewhere := sandbox.ExecutorFunc(func(ctx context.Context, r sandbox.Request) (sandbox.Result, error) {
		return sandbox.Result{Executor: "elsewhere", Stdout: []byte("ran " + r.Command + " of " + r.Skill)}, nil
	})
	result, err := elsewhere.Execute(context.Background(), sandbox.Request{Skill: "sourdough", Command: "scripts/flour.sh 2"})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("%s\n", result.Stdout)

	// Output:
	// ran scripts/flour.sh 2 of sourdough
}
