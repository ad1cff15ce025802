package setup

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/repertoire-skills/repertoire/internal/client"
	"github.com/repertoire-skills/repertoire/internal/regular"
)

// A linkError is the error for a file that a link in a project leads to.
type linkError struct {
	Link, Target string
}

func (e *linkError) Error() string {
	return fmt.Sprintf("%s is a link to %s, and links that lie in a project are not followed; replace the link with a file or folder, or set up a file outside of the project",
		e.Link, e.Target)
}

// checkLinks refuses a file to which a link in the project leads: whoever wrote the
// project could have any file of the user changed. The user's own settings may be linked,
// for example by a program that manages them, wherever such a link lies.
func (e *Env) checkLinks(file string, s client.Scope, clientName string) error {
	if e.Project == "" || file == "" || s != client.Project && clientName != client.Generic {
		return nil
	}
	return checkLinks(regular.Real(e.Project), file)
}

// checkLinks returns a *linkError if one of the links that file leads through lies in the
// project, whose path has no links. What does not exist is no link.
func checkLinks(project, file string) error {
	abs, err := filepath.Abs(file)
	if err != nil {
		return err
	}
	const sep = string(filepath.Separator)
	const most = 255       // links; the system follows fewer
	at, rest := split(abs) // the path without links, and what it is still to be followed by
	for links := 0; rest != ""; {
		var part string
		part, rest, _ = strings.Cut(strings.TrimLeft(rest, sep), sep)
		next := filepath.Join(at, part)
		target, err := os.Readlink(next)
		if err != nil { // no link
			at = next
			continue
		}
		if regular.In(project, next) {
			return &linkError{next, target}
		}
		if links++; links > most {
			return fmt.Errorf("%s leads through more than %d links", file, most)
		}
		target = filepath.FromSlash(target)
		if filepath.IsAbs(target) {
			at, target = split(target)
		}
		rest = target + sep + rest
	}
	return nil
}

// split splits an absolute path into the top of its disk and the rest.
func split(path string) (top, rest string) {
	volume := filepath.VolumeName(path)
	return volume + string(filepath.Separator), path[len(volume):]
}
