package setup

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/repertoire-skills/repertoire/internal/regular"
)

// FindProgram returns the path that clients run: the given one, or the path of this
// program. If this program was found through a link, it returns the link: an update may
// change what it leads to, and Codex trusts a hook by the text of its command.
func FindProgram(given string) (string, error) {
	if given != "" {
		return filepath.Abs(given)
	}
	exe, err := os.Executable()
	if err != nil {
		return "", fmt.Errorf("finding this program: %w (name it with --program)", err)
	}
	if found, err := exec.LookPath(os.Args[0]); err == nil {
		if found, err = filepath.Abs(found); err == nil && regular.Real(found) == regular.Real(exe) {
			return found, nil
		}
	}
	return exe, nil
}

// IsTemporary reports whether a program is one that "go run" has built, which
// removes it afterwards.
func IsTemporary(program string) bool {
	return strings.Contains(filepath.ToSlash(filepath.Dir(program)), "/go-build")
}
