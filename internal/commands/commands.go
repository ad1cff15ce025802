// Package commands finds out which of the commands and environment variables that a skill
// needs are there.
//
// The one rule: it runs nothing and shows no value. What it cannot find out in time counts
// as there: a slow disk must not hide skills.
package commands

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
	"time"

	"github.com/repertoire-skills/repertoire/skill"
)

const (
	keep  = 5 * time.Second // how long an answer counts
	limit = 5 * time.Second // how long all look-ups take at most until answers no longer count
)

// A Finder looks for commands in PATH, and remembers them for a few seconds. It may be used
// from several goroutines. A goroutine outlives a call while a disk does not answer; there
// is never more than one.
type Finder struct {
	assume []string
	look   func(file string) (string, error) // exec.LookPath
	now    func() time.Time

	turn  chan struct{} // holds a value while nobody uses the fields below
	since time.Time     // of the answers
	known map[string]bool
	left  time.Duration // for look-ups
	late  chan bool     // gets the answer of a look-up that was left behind; nil means none
}

// New returns a Finder for which the commands and environment variables in assume are always
// there; nil means none.
func New(assume []string) *Finder {
	f := &Finder{assume: assume, look: exec.LookPath, now: time.Now, turn: make(chan struct{}, 1)}
	f.turn <- struct{}{}
	return f
}

// Missing returns what of n is not there, as parts of a sentence after "needs". It reads
// only Commands, AnyOf, Env, and Either, of which the caller has removed all skills.
func (f *Finder) Missing(ctx context.Context, n skill.Needs) (list []string) {
	lacks := func(names []string) []string {
		return slices.DeleteFunc(slices.Clone(names), func(name string) bool { return f.has(ctx, name) })
	}
	list = all(list, lacks(n.Commands), "the command %s, which is not in PATH", "the commands %s, which are not in PATH")
	if lacking := lacks(n.AnyOf); len(lacking) == len(n.AnyOf) {
		list = all(list, lacking, "the command %s, which is not in PATH", "one of the commands %s, none of which is in PATH")
	}
	list = all(list, lacks(n.Either), "%s, which is neither a skill nor a command in PATH", "%s, which are neither skills nor commands in PATH")
	unset := slices.DeleteFunc(slices.Clone(n.Env), func(name string) bool { return os.Getenv(name) != "" || slices.Contains(f.assume, name) })
	return all(list, unset, "the environment variable %s, which is not set", "the environment variables %s, which are not set")
}

// all adds a part of a sentence about names to list: one if there is one name, many if there
// are more, and nothing if there is none.
func all(list, names []string, one, many string) []string {
	switch last := len(names) - 1; last {
	case -1:
		return list
	case 0:
		return append(list, fmt.Sprintf(one, names[0]))
	default:
		return append(list, fmt.Sprintf(many, strings.Join(names[:last], ", ")+" and "+names[last]))
	}
}

// has reports whether a command is there, or cannot be looked for now.
func (f *Finder) has(ctx context.Context, name string) bool {
	if slices.Contains(f.assume, name) {
		return true
	}
	select {
	case <-f.turn:
		defer func() { f.turn <- struct{}{} }()
	case <-ctx.Done():
		return true
	}
	start := f.now()
	if f.known == nil || start.Sub(f.since) >= keep {
		f.known, f.since, f.left = make(map[string]bool), start, limit
	}
	if there, ok := f.known[name]; ok {
		return there
	}
	there, ok := f.lookFor(ctx, name)
	now := f.now()
	if f.left -= now.Sub(start); f.left <= 0 {
		f.since = now // or the same call would go on with the next limit
	}
	if ok {
		f.known[name] = there
	}
	return there || !ok
}

// lookFor looks for a command as long as time is left; ok is false if that was too short.
func (f *Finder) lookFor(ctx context.Context, name string) (there, ok bool) {
	if f.late != nil {
		select {
		case <-f.late:
			f.late = nil
		default:
			return false, false
		}
	}
	if f.left <= 0 || ctx.Err() != nil {
		return false, false
	}
	wait := f.left
	if end, ok := ctx.Deadline(); ok {
		wait = min(wait, time.Until(end)/2) // the caller has more to do, such as a hook that must answer
	}
	found := make(chan bool, 1)
	go func() {
		lower := strings.ToLower(name)
		found <- f.inPath(name) || lower != name && f.inPath(lower)
	}()
	timer := time.NewTimer(wait)
	defer timer.Stop()
	select {
	case there = <-found:
		return there, true
	case <-ctx.Done():
	case <-timer.C:
	}
	f.late = found
	return false, false
}

// inPath reports whether a command is in PATH. A shell would also run one that is in the
// working folder, if PATH says so.
func (f *Finder) inPath(name string) bool {
	_, err := f.look(name)
	return err == nil || errors.Is(err, exec.ErrDot)
}
