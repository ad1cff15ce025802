package sandbox

import (
	"maps"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"

	"github.com/repertoire-skills/repertoire/internal/regular"
	"github.com/repertoire-skills/repertoire/internal/tidy"
)

// WorkspaceVar is the environment variable with the path of Workspace.Dir.
const WorkspaceVar = "WORKSPACE"

// inherited are the variables of this process that each command gets.
var inherited = [...]string{"LANG", "LC_ALL", "TZ"}

// inheritedWindows are those without which programs do not start on Windows.
var inheritedWindows = [...]string{"SYSTEMROOT", "SYSTEMDRIVE", "WINDIR", "COMSPEC", "PATHEXT", "NUMBER_OF_PROCESSORS", "PROCESSOR_ARCHITECTURE"}

// environ returns the environment of a command, sorted. home is its private folder, and
// workspace the folder of the user, as the command sees them.
func environ(path, home, workspace string, more map[string]string) ([]string, error) {
	env := map[string]string{
		"PATH": path, "HOME": home, "TMPDIR": home, "LANG": "C.UTF-8", "TERM": "dumb",
		// Python would write into the folder of the skill. It reads nothing from there that others
		// wrote, see Parts; PYTHONPYCACHEPREFIX would also make it compile its own library each time.
		"PYTHONDONTWRITEBYTECODE": "1",
	}
	names := inherited[:]
	if runtime.GOOS == "windows" {
		names = append(slices.Clone(names), inheritedWindows[:]...)
		env["USERPROFILE"], env["TEMP"], env["TMP"] = home, home, home
	}
	for _, name := range names {
		if value := os.Getenv(name); value != "" {
			env[name] = value
		}
	}
	if workspace != "" {
		env[WorkspaceVar] = workspace
	}
	for name, value := range more {
		if !syntax.ValidName(name) || strings.ContainsRune(value, 0) {
			return nil, notOne("the environment variable `"+tidy.Line(name)+"` cannot be set",
				"its name may have letters, digits and _, and its value no zero byte")
		}
		env[name] = value
	}
	list := make([]string, 0, len(env))
	for _, name := range slices.Sorted(maps.Keys(env)) {
		list = append(list, name+"="+env[name])
	}
	return list, nil
}

// searchPath returns the folders with programs in list, a value of PATH: absolute ones only, and
// none in the folders of avoid, whose files could pass for programs.
func searchPath(list string, avoid ...string) []string {
	var dirs []string
	for _, dir := range filepath.SplitList(list) {
		if !filepath.IsAbs(dir) || slices.Contains(dirs, filepath.Clean(dir)) {
			continue
		}
		real, err := filepath.EvalSymlinks(dir)
		if err != nil || slices.ContainsFunc(avoid, func(a string) bool { return regular.In(a, real) }) {
			continue
		}
		dirs = append(dirs, filepath.Clean(dir))
	}
	return dirs
}
