package wellknown

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/repertoire-skills/repertoire/contextprovider"
	"github.com/repertoire-skills/repertoire/search"
	"github.com/repertoire-skills/repertoire/skill"
)

// A Catalog is where the skills of a site come from; *repertoire.Catalog is one.
// Its methods may fail for one skill and work for the others.
type Catalog interface {
	// List returns the skills that an agent sees. With shadowed set it includes
	// shadowed copies.
	List(ctx context.Context, a *search.Agent, o *search.ListOptions) ([]search.Entry, error)
	// Manifest lists the files of a skill as they are now.
	Manifest(ctx context.Context, id string, a *search.Agent) (contextprovider.Manifest, error)
	// File reads one file of a skill.
	File(ctx context.Context, id, name string, a *search.Agent) (contextprovider.File, error)
}

// A Packed is a skill as one file, made of what its source holds now.
type Packed struct {
	Name, Description string
	Skill             string // digest of the skill, see skill.Meta.Digest
	Digest            string // "sha256:<hex>" of Zip
	Zip               []byte // an archive with SKILL.md at its top
}

// Manifest returns the manifest of a skill that an agent sees, with the digests of its files as they are
// now. A *OmittedError says why clients could not read the skill.
func Manifest(ctx context.Context, c Catalog, e search.Entry, a *search.Agent) (contextprovider.Manifest, error) {
	m, err := c.Manifest(ctx, e.ID, a)
	if err != nil {
		return m, cmp.Or(ctx.Err(), omitted(&e.Meta, err))
	}
	if m.Name != e.Name {
		return m, omitted(&e.Meta, errors.New("its SKILL.md does not state that name"))
	}
	return m, nil
}

// Pack packs the files of a manifest. The same files give the same bytes. A *OmittedError says
// why clients could not read it, such as that a file is not as the manifest says any more.
func Pack(ctx context.Context, c Catalog, m *contextprovider.Manifest, a *search.Agent) (Packed, error) {
	b := bundle{name: m.Name, description: m.Description, digest: m.Digest}
	err := b.read(ctx, c, m, a)
	if err == nil {
		err = b.prepare()
	}
	if err != nil {
		return Packed{}, err
	}
	data, err := zipped(b.files)
	if err != nil {
		return Packed{}, fmt.Errorf("packing skill %s: %w", b.name, err)
	}
	return Packed{b.name, b.description, b.digest, digest(data), data}, nil
}

// omitted returns an error for what cannot be published of a skill.
func omitted(m *skill.Meta, err error) error {
	return &OmittedError{Name: m.Name, Reason: strings.TrimPrefix(err.Error(), fmt.Sprintf("skill %s %v: ", m.ID, contextprovider.ErrUnpublishable))}
}

// Index returns the index of a site, in the form of version 0.2.0, that has only this skill. url
// is where its archive is, perhaps relative to the index.
func (p *Packed) Index(url string) any {
	return newIndex{schema, []newEntry{{Name: p.Name, Type: "archive", Description: p.Description, URL: url, Digest: p.Digest}}}
}

// Publish writes the site in folder dir, with all skills that an agent sees; a nil agent
// sees all skills. It leaves out skills that clients could not read, and lists them in
// Result.Omitted. That a source is away is an error if an earlier site has a skill of it,
// which would be removed. base is the URL at which the folder will be, for a manifest of ARD; ""
// means that there is none.
func Publish(ctx context.Context, c Catalog, a *search.Agent, dir, base string) (Result, error) {
	m, err := newManifest(base)
	if err != nil {
		return Result{}, err
	}
	w, err := open(dir)
	if err != nil {
		return Result{}, err
	}
	defer w.close()
	w.manifest = m
	entries, err := c.List(ctx, a, &search.ListOptions{Person: true})
	if err != nil {
		return Result{}, err
	}
	for _, e := range entries {
		if e.Away && w.has(e.Name) {
			return Result{}, fmt.Errorf("the source %s of skill %s cannot be read now, and the site would lose it; restore the source, or remove its skills: skills index --forget %s",
				e.Source, e.Name, e.Source)
		}
	}
	omitted := []*OmittedError{}
	for _, e := range entries {
		s, err := read(ctx, c, e, a)
		if err == nil {
			err = w.add(s)
		}
		out, isOmitted := errors.AsType[*OmittedError](err)
		switch {
		case ctx.Err() != nil:
			return Result{}, ctx.Err()
		case isOmitted:
			omitted = append(omitted, out)
		case err != nil:
			return Result{}, err
		}
	}
	r, err := w.finish()
	r.Dir, r.Omitted = dir, omitted
	r.SameVersion = append([]string{}, r.SameVersion...)
	r.Removed, r.Kept = append([]string{}, r.Removed...), append([]string{}, r.Kept...)
	return r, err
}

// read reads all files of a skill as they are now.
func read(ctx context.Context, c Catalog, e search.Entry, a *search.Agent) (bundle, error) {
	b := bundle{name: e.Name, entry: e}
	m, err := Manifest(ctx, c, e, a)
	if err == nil {
		b.description, b.digest = m.Description, m.Digest
		err = b.read(ctx, c, &m, a)
	}
	return b, err
}

// read reads the files of a manifest.
func (b *bundle) read(ctx context.Context, c Catalog, m *contextprovider.Manifest, a *search.Agent) error {
	for _, listed := range m.Files {
		f, err := c.File(ctx, m.ID, listed.Path, a)
		if err != nil {
			return cmp.Or(ctx.Err(), omitted(&m.Meta, err))
		}
		if f.SHA256 != listed.SHA256 {
			return omitted(&m.Meta, fmt.Errorf("%s changed while it was read; publish again", f.Path))
		}
		b.files = append(b.files, file{f.Path, f.Data})
	}
	return nil
}
