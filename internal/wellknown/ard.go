package wellknown

import (
	"errors"
	"net/url"
	"path"
	"slices"
	"strings"

	"github.com/repertoire-skills/repertoire/internal/ard"
	"github.com/repertoire-skills/repertoire/internal/endpoint"
	"github.com/repertoire-skills/repertoire/search"
)

// Namespace stands before the name of a skill in its identifier.
const Namespace = "skill"

// Entry returns the entry of ARD of a skill, without its type and its URL.
func Entry(publisher string, e *search.Entry) ard.Entry {
	out := ard.Entry{
		Identifier: ard.Identifier(publisher, Namespace, e.Name), DisplayName: e.Name, Description: e.Description, Tags: e.Tags,
		RepresentativeQueries: ard.Queries(e.Examples), Version: e.Version, Metadata: map[string]any{ard.SkillDigest: e.Digest},
	}
	for key, text := range map[string]string{"license": e.License, "author": e.Author, "compatibility": e.Compatibility, ard.InvokedBy: e.InvokedBy} {
		if text != "" {
			out.Metadata[key] = text
		}
	}
	return out
}

// A manifest is what a site says to clients of ARD, which want whole URLs.
type manifest struct {
	base      string // URL of the site
	publisher string
	entries   []ard.Entry
}

// newManifest returns the manifest of a site that will be at a URL; nil for "".
func newManifest(address string) (*manifest, error) {
	if address == "" {
		return nil, nil
	}
	u, err := endpoint.ParseBase(address)
	if err == nil && endpoint.Exposed(u) {
		err = errors.New("clients take skills over https only")
	}
	if err != nil {
		return nil, err
	}
	publisher := u.Hostname()
	if u.Scheme == "http" {
		publisher = ard.Localhost // as of all names of this machine
	}
	return &manifest{base: strings.TrimRight(u.String(), "/"), publisher: publisher}, nil
}

// add adds a skill that the index lists.
func (m *manifest) add(b *bundle, listed *newEntry) {
	if m == nil {
		return
	}
	e := b.entry
	e.Name, e.Description, e.Digest = b.name, b.description, b.digest // as they were read
	out := Entry(m.publisher, &e)
	out.Type, out.URL = ard.SkillMarkdown, m.base+"/"+newDir+"/"+(&url.URL{Path: listed.URL}).EscapedPath()
	if listed.Type == "archive" {
		out.Type = ard.SkillGzip
	}
	out.Metadata[ard.Digest] = listed.Digest
	if out.Check() == nil {
		m.entries = append(m.entries, out)
	}
}

// writeManifest writes the manifest to both of its places, if there is one.
func (w *writer) writeManifest() error {
	m := w.manifest
	if m == nil {
		return nil
	}
	slices.SortFunc(m.entries, func(a, b ard.Entry) int { return strings.Compare(a.Identifier, b.Identifier) })
	w.result.Manifest = len(m.entries)
	out := ard.Manifest{SpecVersion: ard.SpecVersion, Host: &ard.Host{DisplayName: "Skills of " + m.publisher}, Entries: append([]ard.Entry{}, m.entries...)}
	return errors.Join(w.writeJSON(path.Clean(ard.Path[1:]), out), w.writeJSON(path.Clean(ard.Predecessor[1:]), out))
}
