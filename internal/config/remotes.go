package config

import (
	"context"

	"github.com/repertoire-skills/repertoire/install/remote"
	"github.com/repertoire-skills/repertoire/install/unpack"
	"github.com/repertoire-skills/repertoire/source"
)

// Remotes returns the roots that are kept in step with a place elsewhere.
func (s *Settings) Remotes() []remote.Root {
	var list []remote.Root
	for _, r := range s.Roots {
		if r.Git != "" || r.URL != "" {
			list = append(list, s.remote(r))
		}
	}
	return list
}

func (s *Settings) remote(r Root) remote.Root {
	return remote.Root{
		Path: r.Path, Label: r.Label, Git: r.Git, Ref: r.Ref, Sub: r.Sub, URL: r.URL, Schedule: r.Fetch,
		Limits: &remote.Limits{Unpack: &unpack.Limits{Files: s.Limits.Files, Bytes: s.Limits.Bytes}},
	}
}

// Fetch returns a function that fetches the roots from elsewhere that are due; nil if there
// are none.
func (s *Settings) Fetch() func(context.Context) error {
	roots := s.Remotes()
	if len(roots) == 0 {
		return nil
	}
	return func(ctx context.Context) error { return remote.FetchDue(ctx, roots, false) }
}

// fetched returns the source of a root, given the source of its folder.
func (s *Settings) fetched(fs *source.FS, r Root) source.Source {
	if r.Git == "" && r.URL == "" {
		return fs
	}
	return remote.Wrap(fs, s.remote(r))
}
