// Package executors makes an executor from its name, as it stands in flags and
// configuration. The one rule: no name leads to an executor without walls unless the options
// allow it.
package executors

import (
	"fmt"
	"slices"
	"strings"

	"github.com/repertoire-skills/repertoire/internal/words"
	"github.com/repertoire-skills/repertoire/sandbox"
	"github.com/repertoire-skills/repertoire/sandbox/bubblewrap"
	"github.com/repertoire-skills/repertoire/sandbox/container"
	"github.com/repertoire-skills/repertoire/sandbox/virtual"
)

// Options are for all executors; each takes what it knows. The zero value is the safest.
type Options struct {
	// AllowUnconfined lets commands run without walls around them.
	AllowUnconfined bool

	// Strict refuses to run commands that this machine cannot confine completely.
	Strict bool

	// Read are folders, by absolute path, that commands may read, and whose programs they may
	// run, beside those of the system. Containers do not see them. nil means none.
	Read []string

	// Program is the program of a bubblewrap or container executor; "" means the first that
	// is installed.
	Program string

	// Disk and Work are as in virtual.Options; 0 means its defaults.
	Disk, Work int64

	Image   string // of containers; "" means container.DefaultImage
	Runtime string // of containers, such as "runsc"; "" means the usual one
}

// names are the executors, the preferred ones first.
var names = [...]string{"confined", "bubblewrap", "container", "virtual", "plain"}

// Names returns the names of all executors.
func Names() []string { return slices.Clone(names[:]) }

// New returns the executor with a name. "" means the confined executor where it works, and
// elsewhere the plain one if o allows unconfined commands. Every error is an *sandbox.Error.
func New(name string, o Options) (sandbox.Executor, error) {
	own := sandbox.Options{AllowUnconfined: o.AllowUnconfined, Strict: o.Strict, Read: o.Read}
	switch name {
	case "":
		e, err := sandbox.New(own)
		if err == nil {
			return e, nil
		}
		if o.AllowUnconfined && !o.Strict {
			return sandbox.NewPlain(own), nil
		}
		return nil, err
	case "confined":
		return orNil(sandbox.New(own))
	case "bubblewrap":
		return orNil(bubblewrap.New(bubblewrap.Options{Program: o.Program, Read: o.Read, Strict: o.Strict}))
	case "container":
		return orNil(container.New(container.Options{Program: o.Program, Image: o.Image, Runtime: o.Runtime, Strict: o.Strict}))
	case "virtual":
		return virtual.New(virtual.Options{Disk: o.Disk, Work: o.Work}), nil
	case "plain":
		switch {
		case o.Strict:
			return nil, &sandbox.Error{Reason: sandbox.Unavailable, Fact: "the plain executor puts no walls around commands, and strict asks for all",
				Hint: "use another executor, such as bubblewrap or container"}
		case !o.AllowUnconfined:
			return nil, &sandbox.Error{Reason: sandbox.Unavailable, Fact: "the plain executor puts no walls around commands",
				Hint: "to let them do all that you can do, pass --allow-unconfined; or use another executor"}
		}
		return sandbox.NewPlain(own), nil
	}
	return nil, &sandbox.Error{Reason: sandbox.Unavailable, Fact: fmt.Sprintf("there is no executor %q", name),
		Hint: strings.TrimPrefix(words.Suggest(name, names[:]), "; ")}
}

// orNil returns no executor with an error: a nil pointer in an interface is not nil.
func orNil[E sandbox.Executor](e E, err error) (sandbox.Executor, error) {
	if err != nil {
		return nil, err
	}
	return e, nil
}
