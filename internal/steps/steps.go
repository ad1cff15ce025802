// Package steps notes how far a process has come, for "skills bench --speed --trace", which
// starts that process. Without it nothing is noted.
package steps

import (
	"cmp"
	"encoding/json"
	"os"
	"sync"
	"time"
)

// Var names the variable with the file to which Write writes; "" means that nothing is noted.
const Var = "REPERTOIRE_STEPS"

var file = os.Getenv(Var)

// A Step is a part of what a process does.
type Step struct {
	Name string    `json:"name"`
	End  time.Time `json:"end"`
}

var (
	mu   sync.Mutex
	done []Step
)

// Done notes that a step ends now. It began where the step before it ended.
func Done(name string) {
	if file != "" {
		mu.Lock()
		defer mu.Unlock()
		done = append(done, Step{name, time.Now()})
	}
}

// Write writes the steps so far as JSON.
func Write() {
	if file != "" {
		mu.Lock()
		defer mu.Unlock()
		data, err := json.Marshal(done)
		if cmp.Or(err, os.WriteFile(file, data, 0o600)) != nil {
			os.Remove(file) // whoever reads it tells that it is not there
		}
	}
}

// Read reads a file of Write.
func Read(file string) (all []Step, err error) {
	data, err := os.ReadFile(file)
	if err == nil {
		err = json.Unmarshal(data, &all)
	}
	return all, err
}
