package sandbox

import (
	"bytes"
	"io"
	"os"
	"path"
	"runtime"
	"strings"
	"syscall"

	"github.com/repertoire-skills/repertoire/internal/tidy"
)

// interpreters are the programs whose first argument is a script, by the ends of file names
// for which they are meant.
var interpreters = [...]struct{ program, ext string }{
	{"sh", ".sh"}, {"bash", ".bash"}, {"dash", ""}, {"zsh", ".zsh"}, {"ksh", ".ksh"}, {"python3", ".py"}, {"python", ""},
	{"node", ".js"}, {"node", ".mjs"}, {"ruby", ".rb"}, {"perl", ".pl"}, {"php", ".php"}, {"Rscript", ".R"}, {"lua", ".lua"},
}

// interprets reports whether program runs the script that its first argument names.
func interprets(program string) bool {
	if strings.HasPrefix(program, "python3.") {
		return true
	}
	for _, i := range interpreters {
		if i.program == program {
			return true
		}
	}
	return false
}

// interpreterOf returns the interpreter that the name of a file is meant for; "" means none.
func interpreterOf(name string) string {
	for _, i := range interpreters {
		if i.ext != "" && strings.EqualFold(i.ext, path.Ext(name)) {
			return i.program
		}
	}
	return ""
}

// maxShebang is how much of a first line is read, as in Linux.
const maxShebang = 256

// starter returns what must stand before the path of a script to run it: its interpreter
// and the interpreter's arguments, or nothing for a binary. name is how the command called
// the file, rel its path in the skill.
//
// As in a shell, sh runs a script without a first line "#!", but not if the name says that
// it is for another interpreter.
func (v *resolver) starter(root *os.Root, name, rel string) ([]string, error) {
	head, mode, err := readHead(root, rel)
	if err != nil {
		return nil, &Error{Reason: NotExecutable, Fact: "sh: " + tidy.Line(name) + ": Permission denied", Hint: "make the file readable", Err: err}
	}
	line, isScript := bytes.CutPrefix(head, []byte("#!"))
	by := interpreterOf(rel)
	if runtime.GOOS != "windows" && mode.Perm()&0o111 == 0 {
		return nil, notExecutable(name, rel, by, isScript)
	}
	switch {
	case isScript:
		return v.shebang(name, line)
	case bytes.IndexByte(head, 0) >= 0:
		return nil, nil // a binary
	case by != "" && by != "sh":
		return nil, &Error{Reason: NotExecutable, Fact: "sh: " + tidy.Line(name) + ": no interpreter is named in its first line",
			Hint: "run it as `" + by + " " + tidy.Line(rel) + "`, or begin it with `#!/usr/bin/env " + by + "`"}
	}
	sh, ok := v.look("sh")
	if !ok {
		return nil, missing(name, "sh")
	}
	return []string{sh}, nil
}

func notExecutable(name, rel, by string, isScript bool) *Error {
	if by == "" && isScript {
		by = "sh"
	}
	hint := "make it executable: chmod +x " + tidy.Line(rel)
	if by != "" {
		hint = "run it as `" + by + " " + tidy.Line(rel) + "`, or " + hint
	}
	return &Error{Reason: NotExecutable, Fact: "sh: " + tidy.Line(name) + ": Permission denied", Hint: "the file is not executable; " + hint}
}

// readHead returns the begin of a file and its mode.
func readHead(root *os.Root, rel string) ([]byte, os.FileMode, error) {
	f, err := root.OpenFile(rel, os.O_RDONLY|syscall.O_NONBLOCK, 0) // a pipe may have taken its place
	if err != nil {
		return nil, 0, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, 0, err
	}
	head := make([]byte, maxShebang)
	n, err := io.ReadFull(f, head)
	if err == io.EOF || err == io.ErrUnexpectedEOF {
		err = nil
	}
	return head[:n], info.Mode(), err
}

// shebang returns the interpreter that a first line after "#!" names, and its arguments.
func (v *resolver) shebang(name string, head []byte) ([]string, error) {
	text, _, complete := strings.Cut(string(head), "\n")
	if !complete && len(head) >= maxShebang-2 {
		return nil, badShebang(name, "its first line is too long", "shorten the line to 255 bytes")
	}
	if strings.HasSuffix(text, "\r") {
		return nil, badShebang(name, "its first line ends with a carriage return", "save the file with line feeds alone (LF) as line ends")
	}
	program, arg, _ := strings.Cut(strings.Trim(text, " \t"), " ")
	program, more, tab := strings.Cut(program, "\t")
	if arg = strings.Trim(arg, " \t"); tab {
		arg = strings.Trim(more+" "+arg, " \t")
	}
	if program == "" {
		return nil, badShebang(name, "its first line names no interpreter", "begin it with `#!/bin/sh`")
	}
	if path.Base(program) == "env" && arg != "" {
		return v.env(name, arg)
	}
	return v.interpreter(name, program, arg)
}

// env resolves "#!/usr/bin/env NAME" and "#!/usr/bin/env -S NAME ARGUMENTS…"; the -S may be
// missing, as on macOS. Other options and variables are refused.
func (v *resolver) env(name, arg string) ([]string, error) {
	list := strings.Fields(strings.TrimPrefix(arg, "-S"))
	if len(list) == 0 || strings.HasPrefix(list[0], "-") || strings.ContainsAny(strings.Join(list, ""), "='\"\\$") {
		return nil, badShebang(name, "its first line passes options to env that are not known here", "begin it with `#!/usr/bin/env NAME` or `#!/usr/bin/env -S NAME ARGUMENT`")
	}
	if strings.Contains(list[0], "/") {
		start, err := v.interpreter(name, list[0], "")
		return append(start, list[1:]...), err
	}
	found, ok := v.look(list[0])
	if !ok {
		return nil, missing(name, list[0])
	}
	return append([]string{found}, list[1:]...), nil
}

// interpreter checks an interpreter that is a path. On Windows, where such paths mean
// nothing, its name is looked up.
func (v *resolver) interpreter(name, file, arg string) ([]string, error) {
	found, ok := file, true
	switch {
	case v.foreign:
	case runtime.GOOS == "windows":
		found, ok = v.look(path.Base(file))
	case !path.IsAbs(file):
		return nil, badShebang(name, "its first line names "+tidy.Line(file)+", which is no absolute path",
			"begin it with `#!/usr/bin/env "+tidy.Line(path.Base(file))+"`")
	default:
		found, ok = program(path.Clean(file))
	}
	if !ok {
		return nil, missing(name, file)
	}
	if arg == "" {
		return []string{found}, nil
	}
	return []string{found, arg}, nil
}

func badShebang(name, fact, hint string) *Error {
	return &Error{Reason: BadShebang, Fact: "sh: " + tidy.Line(name) + ": bad interpreter: " + fact, Hint: hint}
}

func missing(name, interpreter string) *Error {
	return badShebang(name, tidy.Line(interpreter)+": No such file",
		"install "+tidy.Line(path.Base(interpreter))+", or change the first line of the script")
}
