package agent

import "fmt"

// A LimitError means that the model still asked for something when it had been asked
// Config.MaxIterations times. Chat with a prompt such as "go on" continues.
type LimitError struct {
	Limit      int
	Transcript Transcript // of the conversation until then
}

func (e *LimitError) Error() string {
	return fmt.Sprintf("agent: no answer after %d iterations: the model still asks for skills; raise Config.MaxIterations, or ask it to go on", e.Limit)
}

// An Error says why a prompt was not answered.
type Error struct {
	Err        error
	Transcript Transcript // of the conversation until then
}

func (e *Error) Error() string { return "agent: " + e.Err.Error() }

// Unwrap returns the cause: an error of the model, or of the context.
func (e *Error) Unwrap() error { return e.Err }
