package virtual

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"slices"
	"strings"
)

func isSh(name string) bool {
	switch name {
	case "sh", "bash", "dash", "ash":
		return true
	}
	return false
}

// sh is the command sh: "sh file args", "sh -c text name args", "sh" for standard input.
func (run *run) sh(c *command) int {
	var flags []string
	text := false
	for len(c.args) > 0 && len(c.args[0]) > 1 && strings.ContainsRune("-+", rune(c.args[0][0])) {
		a := c.args[0]
		c.args = c.args[1:]
		if a == "--" || a == "--norc" || a == "--noprofile" || a == "--posix" {
			continue
		}
		text = text || a[0] == '-' && strings.Contains(a, "c")
		if kept := run.set([]string{"set", strings.NewReplacer("c", "", "l", "", "i", "", "s", "").Replace(a)}); kept[0] == "set" && len(kept) == 2 && len(kept[1]) > 1 {
			if strings.HasSuffix(kept[1], "o") && len(c.args) > 0 {
				kept = run.set([]string{"set", kept[1], c.args[0]})
				c.args = c.args[1:]
			}
			if strings.Trim(kept[1][1:], "aefnuo") != "" {
				return c.usage(fmt.Errorf("unknown option %s", a))
			}
			flags = append(flags, kept[1:]...)
		}
	}
	switch {
	case text && len(c.args) == 0:
		return c.usage(errors.New("-c needs a program"))
	case text:
		name := "sh"
		if len(c.args) > 1 {
			name = c.args[1]
		}
		return run.nested(c, c.args[0], name, c.args[min(2, len(c.args)):], flags)
	case len(c.args) == 0:
		data, err := io.ReadAll(io.LimitReader(c.in, maxProgram+1))
		if err != nil {
			return 2
		}
		c.in = strings.NewReader("")
		return run.nested(c, string(data), "sh", nil, flags)
	}
	name := c.args[0]
	c.args = c.args[1:]
	return run.script(c, name, flags, true)
}

// script runs a file. byShell means that it is the argument of sh, which does not ask for
// the permission to run it.
func (run *run) script(c *command, name string, flags []string, byShell bool) int {
	n, err := c.node(name)
	status := 126
	switch {
	case err != nil:
		if errors.Is(err, fs.ErrNotExist) {
			status = 127
			fmt.Fprintf(c.err, "sh: %s: No such file\n", name)
		} else {
			fmt.Fprintf(c.err, "sh: %s: %s\n", name, reason(err))
		}
		return status
	case n.isDir():
		fmt.Fprintf(c.err, "sh: %s: Is a directory\n", name)
		return status
	case !byShell && n.mode.Perm()&0o111 == 0:
		fmt.Fprintf(c.err, "sh: %s: Permission denied; the file is not executable, run it as `sh %s`\n", name, name)
		return status
	}
	own, other := shebang(n.data, name)
	if other != "" {
		fmt.Fprintf(c.err, "sh: %s: this is for %s; the virtual executor runs shell scripts only\n", name, other)
		return status
	}
	return run.nested(c, string(n.data), name, c.args, append(own, flags...))
}

// shebang returns the options in the first line of a script, or what runs it instead of sh.
func shebang(data []byte, name string) (flags []string, other string) {
	first, _, _ := bytes.Cut(data, []byte("\n"))
	line, ok := strings.CutPrefix(string(first), "#!")
	words := strings.Fields(line)
	switch {
	case bytes.IndexByte(first, 0) >= 0:
		return nil, "the system: it is not text"
	case !ok || len(words) == 0:
		if ext := path.Ext(name); ext == ".py" || ext == ".js" || ext == ".rb" || ext == ".pl" {
			return nil, "an interpreter of " + ext + " files"
		}
		return nil, ""
	}
	if path.Base(words[0]) == "env" {
		words = slices.DeleteFunc(words[1:], func(w string) bool { return w == "-S" })
	}
	if len(words) == 0 || !isSh(path.Base(words[0])) {
		return nil, strings.Join(words[:min(1, len(words))], "")
	}
	for _, w := range words[1:] {
		if len(w) > 1 && w[0] == '-' && strings.Trim(w[1:], "aefu") == "" {
			flags = append(flags, w)
		}
	}
	return flags, ""
}

// nested runs a program in a shell of its own. It has the exported variables and the folder
// of the one that started it.
func (run *run) nested(c *command, text, name string, params, flags []string) int {
	file, err := run.parse(text, name)
	if err != nil {
		if run.m.why.Load() == nil {
			fmt.Fprintf(c.err, "sh: %v\n", err)
		}
		return 2
	}
	env := map[string]string{}
	size := 0
	for name, v := range c.hc.Env.Each {
		delete(env, name)
		if v.Exported && v.IsSet() {
			env[name] = v.String()
			size += len(name) + len(v.String())
		}
	}
	if run.m.charge(size) != nil {
		return 2
	}
	old := run.pipefail
	defer func() { run.pipefail = old }()
	run.pipefail = false
	return run.shell(program{file: file, name: name, dir: c.hc.Dir, env: env, params: params, flags: flags,
		in: run.input(c.in), out: c.hc.Stdout, err: c.hc.Stderr})
}
