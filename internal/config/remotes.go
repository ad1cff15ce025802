package config

import (
	"cmp"
	"context"
	"os"
	"path/filepath"
	"strings"

	"github.com/repertoire-skills/repertoire/install"
	"github.com/repertoire-skills/repertoire/install/remote"
	"github.com/repertoire-skills/repertoire/install/unpack"
	"github.com/repertoire-skills/repertoire/source"
)

// Remotes returns the roots that are kept in step with a place elsewhere, or with an archive
// on this machine.
func (s *Settings) Remotes() []remote.Root {
	var list []remote.Root
	for _, r := range s.Roots {
		if r.Elsewhere() {
			list = append(list, s.remote(r))
		}
	}
	return list
}

func (s *Settings) remote(r Root) remote.Root {
	at, _ := r.place() // it was checked when it was read
	one := remote.Root{
		Path: r.Path, Label: r.Label, Ref: at.Ref, Sub: at.Sub, Page: at.Page, URL: at.Origin, Schedule: r.Fetch,
		Limits: &remote.Limits{Unpack: &unpack.Limits{Files: s.Limits.Files, Bytes: s.Limits.Bytes}},
	}
	switch {
	case at.Kind == install.Git:
		one.Git, one.URL = at.Origin, ""
	case filepath.IsAbs(r.URL):
		one.File, one.URL = r.URL, ""
	}
	return one
}

// Fetch returns a function that fetches the roots from elsewhere that are due; nil if there
// are none.
func (s *Settings) Fetch() func(context.Context) error {
	roots := s.Remotes()
	if len(roots) == 0 {
		return nil
	}
	return func(ctx context.Context) error { return remote.FetchDue(ctx, roots, false, nil) }
}

// fetched returns the source of a root, given the source of its folder.
func (s *Settings) fetched(fs *source.FS, r Root) source.Source {
	if !r.Elsewhere() {
		return fs
	}
	return remote.Wrap(fs, s.remote(r))
}

// keepArchive makes a root of the user that is an archive on this machine, with an absolute
// path, one that is elsewhere: its URL is that path, and it is unpacked into the folder Path. A
// project's root stays a folder.
func (r *Root) keepArchive() error {
	if r.Project != "" || !isArchive(r.Path) {
		return nil
	}
	data, err := DataDir()
	if err != nil {
		return err
	}
	name := filepath.Base(r.Path)
	r.URL, r.Label = r.Path, cmp.Or(r.Label, source.KindRoot+":"+name)
	r.Trusted = true // like a folder that the user names
	r.Path = filepath.Join(data, "roots", name+"-"+sumOf(r.Path, 4))
	return nil
}

// isArchive reports whether a path is that of an archive and not of a folder.
func isArchive(path string) bool {
	for _, end := range []string{".zip", ".skill", ".tar", ".tar.gz", ".tgz"} {
		if strings.HasSuffix(strings.ToLower(path), end) {
			info, err := os.Stat(path)
			return err != nil || !info.IsDir()
		}
	}
	return false
}
