package sandbox

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
)

// A Setup says how an executor differs from running a command on this system as it is.
type Setup struct {
	Path  string // folders with programs, as in PATH, unless Request.Env has PATH; "" means PATH of this process
	Temp  string // where private folders are made; "" means os.TempDir()
	Mount string // where the command sees the skill's folder; "" means where it is
	Home  string // where the command sees its private folder; "" means where it is

	// Workspace is where the command sees the folder of the user; "" means where it is.
	Workspace string

	// Foreign means that programs are on another system, which has slashes in paths: none
	// is looked up, and Path is the PATH there.
	Foreign bool
}

// A Run is a request that is allowed and ready to start. Executors that start processes
// make one with Prepare, and Close it.
type Run struct {
	Argv    []string // the program, an absolute path unless it is foreign, and its arguments
	Script  string   // the path in the skill of a script that is run by its path; "" means a program
	Env     []string // the whole environment
	Dir     string   // the skill's folder on this system, without links
	Private string   // an empty folder of this run, for the command to write to
	Request Request  // with Dir, Workspace.Dir and Limits as they hold

	temp string
	from string // the skill's folder if Dir is a copy of it; "" means that it is none
}

// runPrefix begins the names of the folders that runs make.
const runPrefix = "skill-run-"

// Bounds of a skill that is copied to a private folder.
const (
	maxCopied     = 64 << 20
	maxCopiedFile = 4096
)

// Prepare splits the command of a request, checks that the skill may run it, finds its
// program, and makes a private folder. A skill that is not on disk is copied there. Every
// error is an *Error. s may be nil.
func Prepare(r Request, s *Setup) (*Run, error) {
	if s == nil {
		s = new(Setup)
	}
	r.Limits = r.Limits.withDefaults()
	run := &Run{Request: r}
	if err := run.prepare(s); err != nil {
		_ = run.Close() // the error that is returned says more
		return nil, err
	}
	return run, nil
}

func (run *Run) prepare(s *Setup) error {
	if err := run.workspace(); err != nil {
		return err
	}
	r := &run.Request
	workspace := seenWorkspace(r, s)
	line, err := r.line(workspace)
	if err != nil {
		return err
	}
	if err := run.folders(s.Temp); err != nil {
		return err
	}
	list := s.Path
	if own, ok := r.Env["PATH"]; ok {
		list = own
	} else if list == "" {
		list = cmp.Or(os.Getenv("PATH"), "/usr/local/bin:/usr/bin:/bin")
	}
	from := cmp.Or(run.from, run.Dir)
	v := resolver{skill: r.Skill, dir: from, roots: []string{r.Dir, from, run.Dir, s.Mount}, mount: cmp.Or(s.Mount, run.Dir), allowed: r.Allowed,
		foreign: s.Foreign, parts: *r.Parts(from)}
	if run.from != "" {
		moved(line, v.mount, r.Dir, from)
	}
	if !s.Foreign {
		v.path = searchPath(list, from, run.temp, r.Workspace.Dir)
		list = strings.Join(v.path, string(filepath.ListSeparator))
	}
	if run.Argv, run.Script, err = v.argv(line); err != nil {
		return err
	}
	env := maps.Clone(r.Env)
	delete(env, "PATH") // it is in list
	run.Env, err = environ(list, cmp.Or(s.Home, run.Private), workspace, env)
	return err
}

// line returns the words of the command with its further arguments. workspace is where the
// command sees the folder of the user; "" means that there is none.
func (r *Request) line(workspace string) ([]string, error) {
	files := r.Files
	if files == nil && r.Dir != "" {
		files = os.DirFS(r.Dir)
	}
	line, err := split(r.Command, workspace, files)
	if err != nil {
		return nil, err
	}
	if slices.ContainsFunc(r.Args, func(arg string) bool { return strings.ContainsRune(arg, 0) }) {
		return nil, notOne("an argument holds a zero byte", "remove it")
	}
	return append(line, r.Args...), nil
}

// seenWorkspace returns where the command sees the folder of the user; "" means that there is
// none.
func seenWorkspace(r *Request, s *Setup) string {
	if r.Workspace.Dir == "" {
		return ""
	}
	return cmp.Or(s.Workspace, r.Workspace.Dir)
}

// folders makes the private folder, and finds or copies the folder of the skill.
func (run *Run) folders(temp string) error {
	var err error
	if run.temp, err = os.MkdirTemp(temp, runPrefix); err == nil {
		run.temp, err = filepath.EvalSymlinks(run.temp)
	}
	run.Private = filepath.Join(run.temp, "private")
	if err == nil {
		err = os.Mkdir(run.Private, 0o700)
	}
	if err != nil {
		return &Error{Reason: Unavailable, Fact: "no private folder can be made: " + err.Error(), Hint: "check TMPDIR and the space there", Err: err}
	}
	r := &run.Request
	switch {
	case r.Dir != "":
		run.Dir, err = filepath.EvalSymlinks(r.Dir)
		if err == nil && !filepath.IsAbs(r.Dir) {
			err = errors.New("its path is not absolute")
		}
		if err == nil {
			err = run.hideOthers()
		}
	case r.Files != nil:
		run.Dir = filepath.Join(run.temp, "skill")
		err = copyFiles(run.Dir, r.Files, r.Parts(""))
	default:
		err = errors.New("the request has neither a folder nor files")
	}
	if err != nil {
		return &Error{Reason: NotFound, Fact: fmt.Sprintf("the files of the skill %q are not there: %v", r.Skill, err), Hint: "load the skill again", Err: err}
	}
	return nil
}

// workspace checks the folder of the user and resolves its links.
func (run *Run) workspace() error {
	w := &run.Request.Workspace
	if w.Dir == "" {
		return nil
	}
	real, err := filepath.EvalSymlinks(w.Dir)
	if err == nil && !filepath.IsAbs(w.Dir) {
		err = errors.New("its path is not absolute")
	}
	if err == nil {
		var info fs.FileInfo
		if info, err = os.Stat(real); err == nil && !info.IsDir() {
			err = errors.New("it is not a folder")
		}
	}
	if err != nil {
		return &Error{Reason: NotFound, Fact: "the workspace " + w.Dir + " cannot be used: " + err.Error(), Hint: "name an existing folder", Err: err}
	}
	w.Dir = real
	return nil
}

// Close removes the private folder.
func (run *Run) Close() error {
	if run.temp == "" {
		return nil
	}
	err := os.RemoveAll(run.temp)
	if err == nil {
		return nil
	}
	// The command may have taken away its own permissions.
	_ = filepath.WalkDir(run.temp, func(name string, d fs.DirEntry, _ error) error {
		if d != nil && d.IsDir() {
			return os.Chmod(name, 0o700)
		}
		return nil
	})
	return os.RemoveAll(run.temp)
}

// copyFiles copies a skill. Scripts of a skill that is not on disk become executable: not every
// source of skills keeps permissions.
func copyFiles(dir string, files fs.FS, p *Parts) error {
	var size, count int64
	return fs.WalkDir(files, ".", func(name string, d fs.DirEntry, err error) error {
		to := filepath.Join(dir, filepath.FromSlash(name))
		switch {
		case err != nil:
			return err
		case !p.Has(name, d) && d.IsDir():
			return fs.SkipDir
		case !p.Has(name, d):
			return nil
		case d.IsDir():
			return os.Mkdir(to, 0o700)
		}
		info, err := fs.Stat(files, name)
		if err == nil && info.IsDir() {
			return p.link(name, to)
		}
		if err != nil || !info.Mode().IsRegular() {
			return nil // devices, and links that lead nowhere
		}
		if size, count = size+info.Size(), count+1; size > maxCopied || count > maxCopiedFile {
			return fmt.Errorf("it is larger than %d MiB, or has more than %d files", maxCopied>>20, maxCopiedFile)
		}
		data, err := fs.ReadFile(files, path.Clean(name))
		if err != nil {
			return err
		}
		mode := fs.FileMode(0o600)
		if info.Mode().Perm()&0o111 != 0 || p.dir == "" && strings.HasPrefix(string(data), "#!") {
			mode = 0o700
		}
		return os.WriteFile(to, data, mode)
	})
}

func (l Limits) withDefaults() Limits {
	l.Timeout = positive(l.Timeout, DefaultTimeout)
	l.CPU = positive(l.CPU, l.Timeout)
	l.Processes = positive(l.Processes, DefaultProcesses)
	l.Output = positive(l.Output, DefaultOutput)
	l.Memory = positive(l.Memory, DefaultMemory)
	l.Disk = positive(l.Disk, DefaultDisk)
	return l
}

// positive returns v, or otherwise if v is not positive.
func positive[T cmp.Ordered](v, otherwise T) T {
	var zero T
	if v <= zero {
		return otherwise
	}
	return v
}
