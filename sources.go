package repertoire

import (
	"context"
	"fmt"
	"path/filepath"

	"github.com/repertoire-skills/repertoire/contextprovider"
	"github.com/repertoire-skills/repertoire/search"
	"github.com/repertoire-skills/repertoire/skill"
	"github.com/repertoire-skills/repertoire/source"
)

// A reader opens the files of skills by the label of their source.
type reader struct {
	known map[string]source.Source

	// open opens a source of a shared catalog; nil for all others. current reports whether
	// files are those of the skill that will be read, as the copy of the catalog knows it.
	open func(info source.Info, current func([]skill.File) bool) (source.Source, error)
}

func newReader(sources []source.Source) (reader, error) {
	r := reader{known: make(map[string]source.Source)}
	for i, s := range sources {
		if s == nil {
			return r, fmt.Errorf("source %d of %d is nil", i+1, len(sources))
		}
		if r.known[s.Info().Label] != nil {
			return r, fmt.Errorf("two sources have the label %q; name one of them differently", s.Info().Label)
		}
		r.known[s.Info().Label] = s
	}
	return r, nil
}

// kinds returns the kinds of the sources by label.
func (r reader) kinds() map[string]string {
	kinds := make(map[string]string, len(r.known))
	for label, s := range r.known {
		kinds[label] = s.Info().Kind
	}
	return kinds
}

// source returns the source of a skill.
func (r reader) source(e *search.Entry) (source.Source, error) {
	if s := r.known[e.Source]; s != nil {
		return s, nil
	}
	if r.open != nil {
		return r.open(source.Info{Label: e.Source}, func(files []skill.File) bool { return skill.DigestOf(e.TextDigest, files) == e.Digest })
	}
	return nil, fmt.Errorf("source %s is not open", e.Source)
}

// locate returns a problem of a source with a path that can be opened, when the
// source is on disk.
func (r reader) locate(label string, p skill.Problem) skill.Problem {
	if s := r.known[label]; s != nil && s.Info().Root != "" && !filepath.IsAbs(p.Path) {
		p.Path = filepath.Join(s.Info().Root, filepath.FromSlash(p.Path))
	}
	return p
}

// Instructions implements contextprovider.Reader.
func (r reader) Instructions(ctx context.Context, e *search.Entry, digests bool) (in contextprovider.Instructions, err error) {
	dir := e.Dir()
	s, err := r.source(e)
	if err != nil {
		return in, err
	}
	if digests {
		m, err := source.ReadManifest(ctx, s, dir)
		if err != nil {
			return in, err
		}
		in.Content = contextprovider.Content{Data: m.Text, SHA256: m.TextDigest()}
		in.Files, in.Digest, in.Unserved, in.Partial = m.Files, m.Digest, m.Unserved, m.Partial
		in.Shared = len(m.Skills) > 0
		return in, nil
	}
	f, err := source.ReadInstructions(ctx, s, dir)
	if err != nil {
		return in, err
	}
	l, err := s.List(ctx, dir)
	in.Content, in.Files, in.Unserved, in.Partial = contentOf(f), l.Files, l.Unserved, l.Partial
	in.Shared = len(l.Skills) > 0
	return in, err
}

// File implements contextprovider.Reader.
func (r reader) File(ctx context.Context, e *search.Entry, name string) (contextprovider.Content, error) {
	s, err := r.source(e)
	if err != nil {
		return contextprovider.Content{}, err
	}
	f, err := source.ReadFile(ctx, s, e.Dir(), name)
	if err != nil {
		return contextprovider.Content{}, err
	}
	return contentOf(f), nil
}

// Watch implements contextprovider.Reader.
func (r reader) Watch(e *search.Entry) (unchanged func() bool) {
	s, err := r.source(e)
	if err != nil {
		return nil
	}
	_, t, ok := s.Skill(e.Dir())
	if !ok || t.Stamp == "" {
		return nil
	}
	return func() bool { return s.Unchanged(t) }
}

func contentOf(f *source.File) contextprovider.Content {
	return contextprovider.Content{Data: f.Data, SHA256: f.SHA256, Binary: f.Binary}
}
