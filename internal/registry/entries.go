package registry

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/repertoire-skills/repertoire/contextprovider"
	"github.com/repertoire-skills/repertoire/internal/ard"
	"github.com/repertoire-skills/repertoire/internal/wellknown"
	"github.com/repertoire-skills/repertoire/search"
	"github.com/repertoire-skills/repertoire/skill"
	"github.com/repertoire-skills/repertoire/usage"
)

// entryOf returns the entry of a skill as it is indexed.
func (v *visit) entryOf(e *search.Entry) ard.Entry {
	out := wellknown.Entry(v.publisher, e)
	out.Type, out.URL = ard.SkillZip, v.archiveURL(e.Name, e.Digest)
	out.Metadata["source"], out.Metadata["tokens"] = e.Source, e.Tokens
	return out
}

// archiveURL returns where the archive of a skill is while the skill has this digest.
func (v *visit) archiveURL(name, digest string) string {
	return v.Base + skillPath + name + "/" + strings.TrimPrefix(digest, "sha256:") + archiveSuffix
}

const archiveSuffix = ".zip"

// installable reports whether clients could install a skill, as far as its index says. Packing it
// tells the rest.
func installable(e *search.Entry) bool {
	return (e.State == search.Offered || e.State == search.Reserved) && !e.Away && e.ShadowedBy == "" && e.ID == e.Name &&
		e.File() == skill.FileNames[0] && contextprovider.CheckHead(e.Name, e.Description) == nil
}

// entries returns the skills that clients could install, by name.
func (x *Registry) entries(ctx context.Context, v *visit) ([]search.Entry, error) {
	list, err := x.catalog.List(ctx, v.Agent, &search.ListOptions{Person: true})
	return slices.DeleteFunc(list, func(e search.Entry) bool { return !installable(&e) }), err
}

// maxPacked is how many digests of archives are remembered; then all are made anew.
const maxPacked = 10_000

// whole returns the entry of a skill as its source has it now, with the digest of its archive.
func (x *Registry) whole(ctx context.Context, v *visit, e *search.Entry) (ard.Entry, error) {
	out := v.entryOf(e)
	digest := x.digestOf(contents{e.Name, e.Digest})
	if digest == "" {
		a, _, err := x.pack(ctx, v, *e, "", "")
		if err != nil {
			return ard.Entry{}, err
		}
		digest = a.Digest
		out.URL, out.Metadata[ard.SkillDigest] = v.archiveURL(a.Name, a.Skill), a.Skill
	}
	out.Metadata[ard.Digest] = digest
	return out, nil
}

// digestOf returns the digest of an archive that was made, "" if that is not known.
func (x *Registry) digestOf(of contents) string {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.packed[of]
}

func (x *Registry) remember(of contents, digest string) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if len(x.packed) >= maxPacked {
		clear(x.packed)
	}
	x.packed[of] = digest
}

// named returns the skill with a name, if the caller sees it and clients could install it.
func (x *Registry) named(ctx context.Context, v *visit, name string) (search.Entry, error) {
	if !skill.IsPortableName(name) {
		return search.Entry{}, notFound()
	}
	e, err := x.catalog.Lookup(ctx, name, v.Agent)
	if err == nil && (e.Name != name || !installable(&e)) {
		err = notFound()
	}
	return e, err
}

// manifest serves all skills, and where they can be searched.
func (x *Registry) manifest(r *http.Request, v *visit) (any, error) {
	list, err := x.entries(r.Context(), v)
	if err != nil {
		return nil, err
	}
	m := ard.Manifest{SpecVersion: ard.SpecVersion, Host: &ard.Host{DisplayName: "Skills of " + v.publisher}, Entries: []ard.Entry{v.itself()}}
	for i := range list {
		if len(list) > maxWhole {
			m.Entries = append(m.Entries, v.entryOf(&list[i]))
			continue
		}
		e, err := x.whole(r.Context(), v, &list[i])
		if err != nil && !isLeft(err) {
			return nil, err
		}
		if err == nil {
			m.Entries = append(m.Entries, e)
		}
	}
	return m, nil
}

// maxWhole is how many skills a manifest may have for which all files are read, so that it tells the
// digests of their archives and leaves out what cannot be packed: a second or two at first, and then
// only for skills that change.
const maxWhole = 2000

// itself returns the entry of the registry.
func (v *visit) itself() ard.Entry {
	return ard.Entry{
		Identifier: ard.Identifier(v.publisher, "registry", "skills"), DisplayName: "Skills", Type: ard.Registry, URL: v.Base,
		Description:           "Searches the agent skills of this server, and returns those that fit a task.",
		RepresentativeQueries: []string{"Which skill helps with this task?", "Find a skill for this kind of file"},
	}
}

// entry serves one entry by its identifier.
func (x *Registry) entry(r *http.Request, v *visit) (any, error) {
	id := r.PathValue("id")
	publisher, ok := ard.Publisher(id)
	if !ok {
		return nil, invalid("this is no identifier of the form urn:air:DOMAIN:…:NAME")
	}
	if own := v.itself(); id == own.Identifier {
		return own, nil
	}
	name, ok := strings.CutPrefix(id, ard.Identifier(v.publisher, wellknown.Namespace, ""))
	if !ok || publisher != v.publisher {
		return nil, notFound()
	}
	e, err := x.named(r.Context(), v, name)
	if err != nil {
		return nil, err
	}
	return x.whole(r.Context(), v, &e)
}

// archive serves a skill as an archive, if it is still as its URL says.
func (x *Registry) archive(r *http.Request, v *visit) (any, error) {
	digest, isZip := strings.CutSuffix(r.PathValue("file"), archiveSuffix)
	if !isZip || len(digest) != 64 {
		return nil, notFound()
	}
	digest = "sha256:" + digest
	e, err := x.inPath(r, v)
	if err != nil {
		return nil, err
	}
	out := file{kind: "application/zip", done: func() {}}
	a, tag, err := x.pack(r.Context(), v, e, digest, r.Header.Get("If-None-Match"))
	if err != nil {
		return nil, err
	}
	if out.tag = tag; a != nil {
		out.data, out.done = a.Zip, a.use(v)
	}
	v.Event.Kind, v.Event.Skills = usage.Loaded, usage.Named(e.Name)
	return out, nil
}

// tagOf returns the tag by which clients know an archive.
func tagOf(digest string) string { return `"` + strings.TrimPrefix(digest, "sha256:") + `"` }

// index serves the index of one skill, as clients of well-known URLs read it.
func (x *Registry) index(r *http.Request, v *visit) (any, error) {
	e, err := x.inPath(r, v)
	if err != nil {
		return nil, err
	}
	a, _, err := x.pack(r.Context(), v, e, "", "")
	if err != nil {
		return nil, err
	}
	return a.Index("../../" + strings.TrimPrefix(a.Skill, "sha256:") + archiveSuffix), nil
}

// inPath returns the skill in the path of a request. Some clients write its name twice, as NAME@NAME.
func (x *Registry) inPath(r *http.Request, v *visit) (search.Entry, error) {
	name, again, twice := strings.Cut(r.PathValue("name"), "@")
	if twice && again != name {
		return search.Entry{}, notFound()
	}
	return x.named(r.Context(), v, name)
}

// values returns what an entry has in a field. ok is false for a field that cannot be asked for.
func values(e *ard.Entry, field string) (list []string, ok bool) {
	switch field {
	case "identifier":
		return []string{e.Identifier}, true
	case "displayName":
		return []string{e.DisplayName}, true
	case "type":
		return []string{e.Type}, true
	case "publisher":
		publisher, _ := ard.Publisher(e.Identifier)
		return []string{publisher}, true
	case "version":
		return one(e.Version), true
	case "tags":
		return e.Tags, true
	case "capabilities":
		return e.Capabilities, true
	}
	key, isMeta := strings.CutPrefix(field, "metadata.")
	if isMeta {
		if v, has := e.Metadata[key]; has {
			return []string{fmt.Sprint(v)}, true
		}
	}
	return nil, isMeta
}

func one(text string) []string {
	if text == "" {
		return nil
	}
	return []string{text}
}

// knownFields is for messages.
const knownFields = "identifier, displayName, type, publisher, version, tags, capabilities and metadata.KEY"

// check returns what is wrong with a filter.
func check(f ard.Filter) error {
	for field := range f {
		if _, ok := values(new(ard.Entry), field); !ok {
			return invalid("this registry cannot filter by %q; it can by %s", field, knownFields)
		}
	}
	return nil
}

// sameForAll are fields that all entries of a registry share.
var sameForAll = [...]string{"type", "publisher", "capabilities"}

// matches reports whether an entry has one of the values of each field of a filter. Case does not
// count, and a skill is also of the type for any skill.
func matches(e *ard.Entry, f ard.Filter) bool {
	for field, wanted := range f {
		has, _ := values(e, field)
		if field == "type" && e.IsSkill() {
			has = append(has, ard.AnySkill)
		}
		if !slices.ContainsFunc(has, func(v string) bool {
			return slices.ContainsFunc(wanted, func(w string) bool { return strings.EqualFold(v, w) })
		}) {
			return false
		}
	}
	return true
}

// isLeft reports whether an error is about one skill that clients could not read or that has gone,
// so that others can still be served.
func isLeft(err error) bool {
	_, left := errors.AsType[*wellknown.OmittedError](err)
	return left || errors.Is(err, skill.ErrNotFound)
}
