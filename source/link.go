package source

import (
	"fmt"
	"path"
	"path/filepath"
	"strings"

	"github.com/repertoire-skills/repertoire/skill"
)

// resolve refuses a file or folder that links lead to through a folder which is not
// part of a skill: a skill may be a clone, and its author may have put a link to
// .git/config in it. os.Root refuses links that lead out of the folder.
func (d diskFolder) resolve(name string) (string, error) {
	const most = 255 // links; the system follows fewer
	at, rest := ".", name
	for links := 0; rest != "" && links < most; {
		var part string
		part, rest, _ = strings.Cut(rest, "/")
		switch {
		case part == "" || part == ".":
			continue
		case part == "..":
			at = path.Dir(at)
			continue
		case links > 0 && skill.IsExcluded(part):
			return "", fmt.Errorf("%w: it is a link into %s, which is not part of a skill", ErrRefused, part)
		}
		at = path.Join(at, part)
		if target, err := d.root.Readlink(at); err == nil {
			links++
			at, rest = path.Dir(at), filepath.ToSlash(target)+"/"+rest
		}
	}
	return at, nil
}
