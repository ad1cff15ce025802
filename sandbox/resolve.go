package sandbox

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"runtime"
	"strings"

	"github.com/repertoire-skills/repertoire/internal/regular"
	"github.com/repertoire-skills/repertoire/internal/tidy"
)

// A resolver finds what a command line starts.
type resolver struct {
	skill   string   // its name; "" means that the command is of no skill
	dir     string   // its folder, with all links resolved; "" means that it is not on disk
	roots   []string // absolute names of the folder that a command may use
	mount   string   // where the command sees the folder
	allowed []string
	path    []string // folders with programs
	foreign bool     // programs are on another system, so none is looked up
	parts   Parts    // what in dir is the skill's
}

// skillFiles are the files of a skill; *os.Root has them.
type skillFiles interface {
	Stat(name string) (fs.FileInfo, error)
	FS() fs.FS
}

// notOnDisk are the files of a skill that has no folder.
type notOnDisk struct{ files fs.FS }

func (f notOnDisk) Stat(name string) (fs.FileInfo, error) { return fs.Stat(f.files, name) }
func (f notOnDisk) FS() fs.FS                             { return f.files }

// argv returns the program to start, an absolute path unless it is foreign, and its arguments.
// script is the path in the skill if the command is a path.
func (v *resolver) argv(line []string) (argv []string, script string, err error) {
	root, err := os.OpenRoot(v.dir)
	if err != nil {
		return nil, "", noFolder(err)
	}
	defer root.Close()
	line, file, err := v.decide(root, line)
	if err != nil {
		return nil, "", err
	}
	if file != "" {
		start, err := v.starter(root, line[0], file)
		if err != nil {
			return nil, "", err
		}
		return append(append(start, v.seen(file)), line[1:]...), file, nil
	}
	program, ok := v.look(line[0])
	if !ok {
		return nil, "", &Error{Reason: NotFound, Fact: "sh: " + tidy.Line(line[0]) + ": command not found", Hint: v.hintMissing(root, line[0])}
	}
	return append([]string{program}, line[1:]...), "", nil
}

func noFolder(err error) *Error {
	return &Error{Reason: NotFound, Fact: "the folder of the skill cannot be opened", Hint: "check that it exists", Err: err}
}

// decide refuses a command that the skill does not allow. It returns the command as it runs,
// and the path in the skill of its file if it is a path and no name. An interpreter with a file
// of the skill counts as the file, so whoever allows the file allows both ways to run it.
func (v *resolver) decide(files skillFiles, line []string) (runs []string, file string, err error) {
	if strings.Contains(line[0], "/") || v.inSkill(line[0]) {
		if file, err = v.file(files, "sh", line[0]); err != nil {
			return nil, "", err
		}
		return line, file, v.allow(append([]string{"./" + file}, line[1:]...))
	}
	spellings := [][]string{line}
	if interprets(line[0]) && len(line) > 1 && !strings.HasPrefix(line[1], "-") {
		script, err := v.file(files, line[0], line[1])
		switch {
		case err == nil:
			spellings = [][]string{append([]string{"./" + script}, line[2:]...), append([]string{line[0], script}, line[2:]...)}
			line = append([]string{line[0], v.seen(script)}, line[2:]...)
		case errors.Is(err, fs.ErrNotExist), !allows(v.allowed, []string{line[0], "any argument"}):
			return nil, "", err // only a rule for the interpreter itself lets it read other files
		}
	}
	return line, "", v.allow(spellings...)
}

// hintMissing says what to do about a command that does not exist.
func (v *resolver) hintMissing(root *os.Root, name string) string {
	switch name {
	case "cd", "source", ".", "export", "eval", "exec", "alias", "set", "unset", "command", "type", "read", "ulimit", "umask":
		return "it is built into shells, and no shell runs here; commands start in the folder of the skill; put more into a script of the skill"
	}
	if info, err := root.Stat(name); err == nil && info.Mode().IsRegular() {
		return "the skill has a file with this name; run it as `./" + name + "`"
	}
	return "install it, or use a script of the skill"
}

// allow refuses a command that is not among the allowed tools.
func (v *resolver) allow(spellings ...[]string) error {
	if allows(v.allowed, spellings...) {
		return nil
	}
	if v.skill == "" {
		return &Error{Reason: Refused, Fact: fmt.Sprintf("`%s` may run for a skill only", tidy.Line(tidy.Shorten(spellings[0][0], 80))),
			Hint: "name the skill whose allowed-tools names it"}
	}
	rule := needed(v.allowed, spellings[0])
	return &Error{Reason: Refused,
		Fact: fmt.Sprintf("the skill %q does not allow `%s`", v.skill, tidy.Line(tidy.Shorten(strings.TrimPrefix(spellings[0][0], "./"), 80))),
		Hint: v.allowedWay(spellings) + fmt.Sprintf("to allow it, add `%s` to allowed-tools in its SKILL.md", rule)}
}

// allowedWay says with which interpreter a refused script may run, if there is one.
func (v *resolver) allowedWay(spellings [][]string) string {
	script := spellings[0]
	file, ok := strings.CutPrefix(script[0], "./")
	by := interpreterOf(file)
	if !ok || by == "" || !allows(v.allowed, append([]string{by, file}, script[1:]...)) {
		return ""
	}
	return "run it as `" + by + " " + tidy.Line(file) + "`, which it allows; or, "
}

// inSkill reports whether name is an absolute path in the folder of the skill.
func (v *resolver) inSkill(name string) bool {
	_, ok := v.relative(name)
	return ok && filepath.IsAbs(name)
}

// relative returns the slash-separated path in the skill that name means.
func (v *resolver) relative(name string) (string, bool) {
	if filepath.IsAbs(name) || path.IsAbs(name) {
		for _, dir := range v.roots {
			if rel, ok := regular.Rel(dir, filepath.FromSlash(name)); ok {
				return filepath.ToSlash(rel), true
			}
		}
		return "", false
	}
	clean := path.Clean(filepath.ToSlash(name))
	return clean, filepath.IsLocal(clean)
}

// file returns the path of a file of the skill. program is what would open the file.
func (v *resolver) file(files skillFiles, program, name string) (string, error) {
	fact := program + ": " + tidy.Line(name) + ": "
	outside := &Error{Reason: Outside, Fact: fact + "Illegal path",
		Hint: "it leads out of the skill's folder; use a path in this folder, or a command by its name"}
	rel, ok := v.relative(name)
	if !ok {
		return "", outside
	}
	info, err := files.Stat(rel)
	switch {
	case err == nil && !v.parts.hasPath(rel), errors.Is(err, fs.ErrNotExist), err != nil && strings.ContainsRune(name, 0):
		return "", &Error{Reason: NotFound, Fact: fact + "No such file", Hint: v.hintFiles(files, rel), Err: fs.ErrNotExist}
	case err != nil && v.escapes(rel):
		return "", outside
	case err != nil:
		return "", &Error{Reason: NotFound, Fact: fact + "cannot be opened", Hint: "check its permissions", Err: err}
	case info.IsDir():
		return "", &Error{Reason: NotExecutable, Fact: fact + "Is a directory", Hint: v.hintFiles(files, rel+"/x")}
	case !info.Mode().IsRegular():
		return "", &Error{Reason: NotExecutable, Fact: fact + "Not a regular file", Hint: "use a script of the skill"}
	}
	return rel, nil
}

// escapes reports whether a link on the way to a file that cannot be opened leads out of the
// folder of the skill. os.Root has no error of its own for this.
func (v *resolver) escapes(rel string) bool {
	real, err := filepath.EvalSymlinks(filepath.Join(v.dir, filepath.FromSlash(rel)))
	return v.dir != "" && err == nil && !regular.In(v.dir, real)
}

// hintFiles names a few files of the folder in which one was not found.
func (v *resolver) hintFiles(files skillFiles, rel string) string {
	for _, dir := range []string{path.Dir(rel), "scripts"} {
		list, err := fs.ReadDir(files.FS(), dir)
		if err != nil {
			continue
		}
		var names []string
		for _, e := range list {
			if e.Type().IsRegular() && len(names) < 8 && v.parts.Has(path.Join(dir, e.Name()), e) {
				names = append(names, tidy.Line(path.Join(dir, e.Name())))
			}
		}
		if len(names) > 0 {
			return "the skill has " + strings.Join(names, ", ")
		}
	}
	return "the skill has no scripts there"
}

// seen returns where the command sees a file of the skill. The path is absolute, so no
// program takes it for an option or looks it up in PATH.
func (v *resolver) seen(rel string) string {
	if v.foreign {
		return path.Join(v.mount, rel)
	}
	return filepath.Join(v.mount, filepath.FromSlash(rel))
}

// look returns the program of a name.
func (v *resolver) look(name string) (string, bool) {
	if v.foreign {
		return name, true
	}
	if strings.ContainsAny(name, "/\\\x00") || name == "." || name == ".." || runtime.GOOS == "windows" && strings.Contains(name, ":") {
		return "", false
	}
	for _, dir := range v.path {
		if file, ok := program(filepath.Join(dir, name)); ok {
			return file, true
		}
	}
	return "", false
}
