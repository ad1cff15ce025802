package executors

import (
	"context"
	"sync"

	"github.com/repertoire-skills/repertoire/sandbox"
)

// A Pool makes each executor once, when it is asked for, so that a [sandbox.Session] knows it
// again. It may be used from several goroutines.
type Pool struct {
	options Options
	mu      sync.Mutex
	made    map[[2]string]sandbox.Executor
}

// NewPool returns a pool of executors with these options.
func NewPool(o Options) *Pool { return &Pool{options: o} }

// Get returns the executor with a name, see New. runtime, if not "", is that of containers.
func (p *Pool) Get(name, runtime string) (sandbox.Executor, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	key := [2]string{name, runtime}
	if e, ok := p.made[key]; ok {
		return e, nil
	}
	o := p.options
	if runtime != "" {
		o.Runtime = runtime
	}
	e, err := New(name, o)
	if err != nil {
		return nil, err
	}
	if p.made == nil {
		p.made = make(map[[2]string]sandbox.Executor)
	}
	p.made[key] = e
	return e, nil
}

// Executor returns the executor with a name. If there is none, each of its runs fails with
// the reason: a skill whose configuration names another executor can still run.
func (p *Pool) Executor(name string) sandbox.Executor {
	e, err := p.Get(name, "")
	if err != nil {
		return missing{err}
	}
	return e
}

// missing is an executor that there is not.
type missing struct{ err error }

func (m missing) Execute(context.Context, sandbox.Request) (sandbox.Result, error) {
	return sandbox.Result{}, m.err
}
