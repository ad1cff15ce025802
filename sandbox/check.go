package sandbox

import (
	"context"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"mvdan.cc/sh/v3/syntax"
)

// A Harmless executor runs commands that can reach nothing but files of its own and the
// workspace. They need no entry in Request.Allowed.
type Harmless interface {
	Executor
	Harmless() // does nothing
}

// A Shell is an Executor that runs whole programs of a shell, without a skill too.
type Shell interface {
	Executor
	Run(ctx context.Context, program string) (Result, error)
}

// Check returns an *Error if e may not run the command of a request: if the command is not one
// command, or if Request.Allowed does not name what it starts. In the program of a Shell, each
// command is checked. A Harmless executor may run everything.
//
// Whoever passes a request to an executor calls Check first, so that a skill starts nothing
// that its author did not list, whoever wrote the executor.
func Check(e Executor, r Request) error {
	if _, ok := e.(Harmless); ok {
		return nil
	}
	lines, err := lines(e, &r)
	if err != nil || lines == nil {
		return err
	}
	v := resolver{skill: r.Skill, roots: []string{r.Dir}, mount: r.Dir, allowed: r.Allowed}
	if m, ok := e.(interface{ SkillPath(string) string }); ok {
		v.roots = append(v.roots, m.SkillPath(r.Skill))
	}
	var files skillFiles = notOnDisk{r.Files}
	switch {
	case r.Dir != "":
		root, err := os.OpenRoot(r.Dir)
		if err != nil {
			return noFolder(err)
		}
		defer root.Close()
		if v.dir, err = filepath.EvalSymlinks(r.Dir); err != nil {
			return noFolder(err)
		}
		files, v.roots, v.parts = root, append(v.roots, v.dir), *r.Parts(v.dir)
	case r.Files == nil:
		files = notOnDisk{none{}}
	}
	for _, line := range lines {
		if _, _, err := v.decide(files, line); err != nil {
			return err
		}
	}
	return nil
}

// none is a skill without files.
type none struct{}

func (none) Open(name string) (fs.File, error) {
	return nil, &fs.PathError{Op: "open", Path: name, Err: fs.ErrNotExist}
}

// lines returns the commands of a request that are to be checked; nil means none.
func lines(e Executor, r *Request) ([][]string, error) {
	if _, ok := e.(Shell); ok && len(r.Args) == 0 {
		if slices.ContainsFunc(rules(r.Allowed), func(r rule) bool { return r.all }) {
			return nil, nil
		}
		return r.program()
	}
	line, err := r.line(r.Workspace.Dir)
	return [][]string{line}, err
}

// program returns the commands of a program of a shell, but for those that only print. Of the
// shell's language it knows lists, pipes and groups of plain commands: what others start shows
// only when they run.
func (r *Request) program() (lines [][]string, err error) {
	file, err := parse(r.Command)
	if err != nil {
		return nil, err
	}
	more := notOne("the program is more than a list, a pipe or a group of plain commands", "run its commands one by one, or put them into a script of the skill")
	syntax.Walk(file, func(n syntax.Node) bool {
		if err != nil {
			return false
		}
		s, ok := n.(*syntax.Stmt)
		if !ok {
			return true
		}
		switch c := s.Cmd.(type) {
		case *syntax.BinaryCmd, *syntax.Block, *syntax.Subshell:
			if len(s.Redirs) > 0 || s.Coprocess || s.Disown {
				err = more
			}
			return true
		case *syntax.CallExpr:
			var line []string
			alone := &syntax.Stmt{Cmd: c, Redirs: s.Redirs, Coprocess: s.Coprocess, Disown: s.Disown}
			if line, err = splitStmts([]*syntax.Stmt{alone}, r.Workspace.Dir, nil); err == nil && !slices.Contains(printers[:], line[0]) {
				lines = append(lines, line)
			}
		default:
			err = more
		}
		return false
	})
	return lines, err
}

// printers are commands of a shell that start nothing and change nothing. printf and test are
// none of them: they set variables, and evaluate subscripts.
var printers = [...]string{":", "true", "false", "echo", "pwd"}
