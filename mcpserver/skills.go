package mcpserver

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"log/slog"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/repertoire-skills/repertoire/contextprovider"
	"github.com/repertoire-skills/repertoire/internal/access"
	"github.com/repertoire-skills/repertoire/search"
	"github.com/repertoire-skills/repertoire/skill"
	"github.com/repertoire-skills/repertoire/usage"
)

// extension is the skills extension of the protocol (SEP-2640), which gives hosts the files of
// skills as resources.
type extension struct {
	catalog Catalog
	opts    *Options
	used    recent
	orders  orders
}

// addTo adds the methods of the extension and the template of its resources.
func (x *extension) addTo(s *mcp.Server) {
	s.AddResourceTemplate(&template, x.readResource)
	if err := errors.Join(
		mcp.AddReceivingCustomMethod(s, "skills/list", x.listSkills),
		mcp.AddReceivingCustomMethod(s, "skills/get", x.getSkill),
		mcp.AddReceivingCustomMethod(s, "resources/directory/read", x.readDirectory),
	); err != nil {
		panic(err) // unreachable: none of them is a method of the protocol itself
	}
	s.AddReceivingMiddleware(x.resources)
}

// complete is the part of a result that says that the result is complete.
type complete struct {
	mcp.ResultBase
	ResultType string `json:"resultType"`
}

var whole = complete{ResultType: "complete"}

type listSkillsParams struct {
	mcp.ParamsBase
	Cursor string `json:"cursor,omitempty"`
	// Query is an experiment: it lists what fits a text, best first. Later pages need it too.
	Query string `json:"query,omitempty"`
}

type listSkillsResult struct {
	complete
	mcp.Cacheable
	Skills     []entry `json:"skills"`
	NextCursor string  `json:"nextCursor,omitempty"`
}

type getSkillParams struct {
	mcp.ParamsBase
	URI string `json:"uri"`
}

type getSkillResult struct {
	complete
	mcp.Cacheable
	Skill entry `json:"skill"`
}

// An entry describes a skill to a host, which uses it to verify the files that it
// reads.
type entry struct {
	URI         string         `json:"uri"`
	Frontmatter map[string]any `json:"frontmatter"`
	Resources   []entryFile    `json:"resources"`
}

type entryFile struct {
	URI    string `json:"uri"`
	Digest string `json:"digest"`
	Size   int64  `json:"size"`
}

func entryOf(m *contextprovider.Manifest) entry {
	at := root(m)
	e := entry{URI: below(at, skill.FileNames[0]), Frontmatter: m.Frontmatter, Resources: make([]entryFile, len(m.Files))}
	for i, f := range m.Files {
		e.Resources[i] = entryFile{URI: below(at, f.Path), Digest: "sha256:" + f.SHA256, Size: f.Size}
	}
	return e
}

func (x *extension) listSkills(ctx context.Context, _ *mcp.ServerSession, p *listSkillsParams) (*listSkillsResult, error) {
	if p == nil {
		p = new(listSkillsParams)
	}
	list := x.ordered
	if p.Query != "" {
		list = func(ctx context.Context, c cursor) (listing, error) { return x.fitting(ctx, p.Query, c) }
	}
	manifests, next, err := x.page(ctx, p.Cursor, list, x.catalog.Manifest)
	if err != nil {
		return nil, err
	}
	r := &listSkillsResult{complete: whole, Cacheable: fresh, Skills: []entry{}, NextCursor: next}
	if r.Meta, err = x.partly(ctx); err != nil {
		return nil, err
	}
	for i := range manifests {
		r.Skills = append(r.Skills, entryOf(&manifests[i]))
	}
	return r, nil
}

// unreadKey is the key in the _meta of a list: how many folders of skills have not been read yet.
const unreadKey = "repertoire/unread"

// partly returns the _meta of a list, which says that folders have not been read yet; nil if
// all have.
func (x *extension) partly(ctx context.Context) (mcp.Meta, error) {
	unread, err := x.catalog.Unread(ctx)
	if err != nil {
		return nil, internal(ctx, x.opts.Logger, err)
	}
	if unread == 0 {
		return nil, nil
	}
	return mcp.Meta{unreadKey: unread}, nil
}

func (x *extension) getSkill(ctx context.Context, _ *mcp.ServerSession, p *getSkillParams) (*getSkillResult, error) {
	eventOf(ctx).Kind = usage.Listed
	if p == nil {
		return nil, invalid("uri is missing")
	}
	m, err := x.manifest(ctx, p.URI, x.catalog.Manifest)
	if err != nil {
		return nil, err
	}
	e := entryOf(&m)
	if e.URI != p.URI {
		return nil, invalid("no skill is served at %s; the URI of a skill is the URI of its %s", quoted(p.URI), skill.FileNames[0])
	}
	return &getSkillResult{complete: whole, Cacheable: stale, Skill: e}, nil
}

// How long clients may cache results. Files and digests must not be cached: files may
// change at any time, and hosts verify files with the digests that they got last.
var (
	fresh = mcp.Cacheable{TTLMs: 5000, CacheScope: "private"} // about as long as it takes to notice a change
	stale = mcp.Cacheable{TTLMs: 0, CacheScope: "private"}
)

// pageOfSkills is how many skills a page has. It is small because each skill is read.
const pageOfSkills = 50

// A describer is Publisher.Manifest, or Publisher.Outline if no digests are needed.
type describer func(ctx context.Context, id string, a *search.Agent) (contextprovider.Manifest, error)

// page returns the manifests of one page of a list. It leaves out skills that cannot
// be published, and logs why.
func (x *extension) page(ctx context.Context, after string, of func(context.Context, cursor) (listing, error), describe describer) (manifests []contextprovider.Manifest, next string, err error) {
	c, err := decodeCursor(after)
	if err != nil {
		return nil, "", invalid("%v", err)
	}
	list, err := of(ctx, c)
	switch {
	case errors.Is(err, errCursor) || err == nil && c.Next > 0 && c.Next >= len(list.ids):
		return nil, "", invalid("%v", errCursor)
	case err != nil:
		return nil, "", internal(ctx, x.opts.Logger, err)
	}
	for i := c.Next; i < len(list.ids); i++ {
		if len(manifests) == pageOfSkills {
			return manifests, list.at(i).encode(), nil
		}
		m, err := describe(ctx, list.ids[i], x.opts.Agent)
		switch {
		case err == nil:
			manifests = append(manifests, m)
		case ctx.Err() != nil:
			return nil, "", internal(ctx, x.opts.Logger, ctx.Err())
		default: // the skill cannot be published, or is gone meanwhile
			x.opts.Logger.Debug("skill is not listed for hosts", "error", err)
		}
	}
	return manifests, "", nil
}

// A listing is a list of skills for hosts.
type listing struct {
	ids []string
	at  func(i int) cursor // of a place in the list
}

// ordered returns the list of all skills, or the one that a client is reading.
func (x *extension) ordered(ctx context.Context, c cursor) (list listing, err error) {
	if c == (cursor{}) {
		list.ids, err = x.order(ctx)
	} else if list.ids, _ = x.orders.find(c.Order); len(list.ids) == 0 {
		err = errCursor
	}
	list.at = func(i int) cursor { return cursor{Order: x.orders.keep(list.ids), Next: i} }
	return list, err
}

// fitting returns the list of the skills that fit a text, best first. Each page searches again, so
// that any server of the catalog can answer it.
func (x *extension) fitting(ctx context.Context, query string, c cursor) (list listing, err error) {
	sum := sha256.Sum256([]byte(query))
	of := hex.EncodeToString(sum[:8])
	if c != (cursor{}) && c.Query != of {
		return list, errCursor
	}
	a, err := x.catalog.Search(ctx, search.Query{Text: query, Limit: maxFitting, Agent: x.opts.Agent, Fitting: true, Least: search.WorthReading})
	e := eventOf(ctx)
	e.Kind, e.Prompt = usage.Searched, query
	for _, h := range a.Hits {
		list.ids = append(list.ids, h.ID)
		e.Skills = append(e.Skills, usage.Named(h.ID)...)
	}
	list.at = func(i int) cursor { return cursor{Query: of, Next: i} }
	return list, err
}

// manifest returns the manifest of the skill in a URI.
func (x *extension) manifest(ctx context.Context, uri string, describe describer) (contextprovider.Manifest, error) {
	id, ok := idOf(uri)
	if !ok {
		return contextprovider.Manifest{}, notServed(uri)
	}
	m, err := describe(ctx, id, x.opts.Agent)
	switch {
	case err == nil:
		return m, nil
	case errors.Is(err, contextprovider.ErrUnpublishable):
		return m, invalid("%v", err)
	case errors.Is(err, skill.ErrNotFound):
		if r, _ := search.RefusalOf(err); r.Unread > 0 {
			return m, invalid("nothing is served at %s; %s", quoted(uri), search.PartOf(r.Unread).TryAgain())
		}
		return m, notServed(uri)
	}
	return m, internal(ctx, x.opts.Logger, err)
}

func notServed(uri string) error { return invalid("nothing is served at %s", quoted(uri)) }

// invalid returns the error for wrong parameters, or for a URI that is not served.
func invalid(format string, args ...any) error {
	return &jsonrpc.Error{Code: jsonrpc.CodeInvalidParams, Message: message(fmt.Sprintf(format, args...))}
}

// internal returns the error for a failure that is not the caller's fault.
func internal(ctx context.Context, log *slog.Logger, err error) error {
	return &jsonrpc.Error{Code: jsonrpc.CodeInternalError, Message: message(shown(ctx, log, eventOf(ctx).Call, err).Error())}
}

// IsOwner reports whether a request comes from whoever started the server on this machine, and asks
// it over pipes.
func IsOwner(ctx context.Context) bool { return eventOf(ctx).Address == "" }

// shown returns the error that the client reads. The owner reads err itself, see IsOwner; other
// clients read what access.Tell returns.
func shown(ctx context.Context, log *slog.Logger, about string, err error) error {
	if IsOwner(ctx) {
		return err
	}
	return access.Tell(log, about, err)
}

// mistake returns an error whose text is for the client.
func mistake(format string, args ...any) error { return access.Mistake(fmt.Sprintf(format, args...)) }
