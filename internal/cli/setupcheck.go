package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"

	"github.com/repertoire-skills/repertoire"
	"github.com/repertoire-skills/repertoire/internal/client"
	"github.com/repertoire-skills/repertoire/internal/words"
)

// checkNamed returns an error for what the flags name and a client would not find: a hook
// that cannot open its catalog says nothing, so a mistake would stay unnoticed.
func (s *setupRun) checkNamed(ctx context.Context) error {
	for _, err := range s.missing() {
		if err != nil {
			return &usageError{s.path, err}
		}
	}
	cfg, err := s.readConfig(false)
	if err != nil {
		return err
	}
	if err := openStore(&cfg); err != nil {
		return err
	}
	c, err := repertoire.Open(ctx, cfg)
	if err != nil {
		return err
	}
	if err := s.checkAgent(c); err != nil {
		return &usageError{s.path, errors.Join(err, c.Close())}
	}
	if _, err := os.Stat(c.Path()); err == nil {
		if _, err := c.Owner().Indexed(ctx); err != nil { // such as of another program's database
			return errors.Join(err, c.Close())
		}
	}
	return c.Close()
}

// checkAgent returns an error for an agent that is not configured wherever the client works.
func (s *setupRun) checkAgent(c *repertoire.Catalog) error {
	if s.server.url != "" {
		return nil // it is an agent of the server
	}
	_, err := c.Agent(s.agent)
	if err != nil || s.agent == "" || s.Scope == client.Project || s.env.Home == "" {
		return err
	}
	everywhere := *s.session
	everywhere.dir = s.env.Home
	cfg, err := everywhere.readConfig(false)
	if err == nil && !slices.ContainsFunc(cfg.Agents, func(a *repertoire.Agent) bool { return a.Name == s.agent }) {
		err = fmt.Errorf("the agent %q is configured in this project only; add --scope project, or configure it in your own file", s.agent)
	}
	return err
}

// missing returns an error for each file and folder of the flags; nil means that it is there.
func (s *setupRun) missing() []error {
	var errs []error
	for _, root := range s.roots {
		errs = append(errs, checkPath("root", root, true))
	}
	if s.config != "" {
		errs = append(errs, checkPath("config", s.config, false))
	}
	if s.program != "" {
		errs = append(errs, cmp.Or(checkPath("program", s.program, false), checkProgram(s.program)))
	}
	if s.db == "" {
		return errs
	}
	if _, err := os.Stat(s.db); err == nil { // else it will be made
		return append(errs, cmp.Or(checkPath("db", s.db, false), checkDatabase(s.db)))
	}
	return append(errs, checkPath("db", filepath.Dir(s.db), true))
}

// checkProgram returns an error for a file that cannot be run.
func checkProgram(name string) error {
	if _, err := exec.LookPath(absolute(name)); err != nil {
		return fmt.Errorf("--program: %s is not a program", absolute(name))
	}
	return nil
}

// checkDatabase returns an error for a file that is no database: opening it as a catalog
// would put it aside as a damaged one.
func checkDatabase(name string) error {
	f, err := os.Open(name)
	if err != nil {
		return fmt.Errorf("--db: %w", err)
	}
	defer f.Close()
	const magic = "SQLite format 3\x00"
	head := make([]byte, len(magic))
	if n, err := io.ReadFull(f, head); err != io.EOF && string(head[:n]) != magic { // EOF: it is empty
		return fmt.Errorf("--db: %s is not a catalog", absolute(name))
	}
	return nil
}

// checkPath returns an error if a flag names a folder, or a file, that is not there.
func checkPath(flag, path string, folder bool) error {
	info, err := os.Stat(path)
	switch {
	case errors.Is(err, os.ErrNotExist):
		kind := "file"
		if folder {
			kind = "folder"
		}
		message := fmt.Sprintf("--%s: the %s %s does not exist", flag, kind, absolute(path))
		if similar := siblings(path); similar != "" {
			message += "; " + similar
		}
		return errors.New(message)
	case err != nil:
		return fmt.Errorf("--%s: %w", flag, err)
	case folder && !info.IsDir():
		return fmt.Errorf("--%s: %s is not a folder", flag, absolute(path))
	case !folder && info.IsDir():
		return fmt.Errorf("--%s: %s is a folder, not a file", flag, absolute(path))
	}
	return nil
}

// siblings asks whether one of the names beside a missing path was meant; "" if none is
// similar.
func siblings(path string) string {
	list, _ := os.ReadDir(filepath.Dir(path)) // without a folder nothing is similar
	names := mapped(list, os.DirEntry.Name)
	return words.DidYouMean(mapped(words.Similar(filepath.Base(path), names), func(name string) string {
		return filepath.Join(filepath.Dir(path), name)
	}))
}

// absolute returns a path from the top of the disk, so that a message shows where was looked.
func absolute(path string) string {
	abs, _ := filepath.Abs(path)
	return cmp.Or(abs, path)
}
