package mcpserver

import (
	"cmp"
	"context"
	"errors"
	"path"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/repertoire-skills/repertoire/contextprovider"
	"github.com/repertoire-skills/repertoire/skill"
	"github.com/repertoire-skills/repertoire/usage"
)

// resources is the middleware that lists resources. The protocol library itself lists
// only resources that were registered one by one.
func (x *extension) resources(next mcp.MethodHandler) mcp.MethodHandler {
	return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
		if req, ok := req.(*mcp.ListResourcesRequest); ok {
			return x.listResources(ctx, req.Params)
		}
		return next(ctx, method, req)
	}
}

// listResources lists the instructions of the skills that skills/list has.
func (x *extension) listResources(ctx context.Context, p *mcp.ListResourcesParams) (mcp.Result, error) {
	if p == nil {
		p = new(mcp.ListResourcesParams)
	}
	manifests, next, err := x.page(ctx, p.Cursor, x.ordered, x.catalog.Outline)
	if err != nil {
		return nil, err
	}
	r := &mcp.ListResourcesResult{Cacheable: fresh, NextCursor: next, Resources: []*mcp.Resource{}}
	if r.Meta, err = x.partly(ctx); err != nil {
		return nil, err
	}
	for i := range manifests {
		m := &manifests[i]
		f := m.Files[slices.IndexFunc(m.Files, func(f skill.File) bool { return f.Path == skill.FileNames[0] })]
		r.Resources = append(r.Resources, resourceOf(m, f))
	}
	return r, nil
}

func resourceOf(m *contextprovider.Manifest, f skill.File) *mcp.Resource {
	r := &mcp.Resource{URI: below(root(m), f.Path), Name: path.Base(f.Path), MIMEType: mimeType(f.Path), Size: f.Size}
	if f.Path == skill.FileNames[0] {
		r.Name, r.Description = m.Name, m.Description
	}
	return r
}

// readResource reads a file of a skill, byte for byte. It looks the URI up among the
// skill's files and never uses it as a path. The host checks the bytes against the
// digest from skills/get.
func (x *extension) readResource(ctx context.Context, req *mcp.ReadResourceRequest) (*mcp.ReadResourceResult, error) {
	p, e := req.Params, eventOf(ctx)
	e.Kind = usage.Read
	m, err := x.manifest(ctx, p.URI, x.catalog.Outline)
	if err != nil {
		return nil, err
	}
	uri, err := cleanURI(root(&m), p.URI)
	if err != nil {
		return nil, invalid("%s: %v", quoted(p.URI), err)
	}
	want, ok := file(&m, uri)
	if !ok {
		return nil, notServed(p.URI)
	}
	f, err := x.catalog.File(ctx, m.ID, want.Path, x.opts.Agent)
	switch {
	case errors.Is(err, skill.ErrNotFound): // held back since the manifest was read
		return nil, notServed(p.URI)
	case err != nil:
		return nil, internal(ctx, x.opts.Logger, err)
	}
	if f.Path == skill.FileNames[0] {
		e.Kind, e.Stale = usage.Loaded, m.Stale
		x.used.use(ctx, m.ID)
	}
	e.Skills, e.What = usage.Named(m.ID), f.Path
	c := &mcp.ResourceContents{URI: p.URI, MIMEType: mimeType(f.Path)}
	// Valid UTF-8 survives JSON byte for byte and is sent as text. An empty text would
	// be left out of the JSON, so it is sent as a blob.
	if utf8.Valid(f.Data) && len(f.Data) > 0 && !f.Binary {
		c.Text, c.MIMEType = string(f.Data), cmp.Or(c.MIMEType, "text/plain")
	} else {
		c.Blob, c.MIMEType = append([]byte{}, f.Data...), cmp.Or(c.MIMEType, "application/octet-stream")
	}
	return &mcp.ReadResourceResult{Cacheable: stale, Contents: []*mcp.ResourceContents{c}}, nil
}

type readDirectoryParams struct {
	mcp.ParamsBase
	URI    string `json:"uri"`
	Cursor string `json:"cursor,omitempty"`
}

type readDirectoryResult struct {
	complete
	mcp.Cacheable
	Resources []*mcp.Resource `json:"resources"`
}

// readDirectory lists the direct children of a folder of a skill. A skill has few
// enough files for one page.
func (x *extension) readDirectory(ctx context.Context, _ *mcp.ServerSession, p *readDirectoryParams) (*readDirectoryResult, error) {
	eventOf(ctx).Kind = usage.Listed
	switch {
	case p == nil:
		return nil, invalid("uri is missing")
	case p.Cursor != "":
		return nil, invalid("%v", errCursor)
	}
	m, err := x.manifest(ctx, p.URI, x.catalog.Outline)
	if err != nil {
		return nil, err
	}
	at := root(&m)
	dir, err := cleanURI(at, strings.TrimRight(p.URI, "/"))
	if err != nil {
		return nil, invalid("%s: %v", quoted(p.URI), err)
	}
	r := &readDirectoryResult{complete: whole, Cacheable: fresh, Resources: childrenOf(&m, dir)}
	if len(r.Resources) == 0 {
		if _, ok := file(&m, dir); ok {
			return nil, invalid("%s is not a directory", quoted(p.URI))
		}
		return nil, notServed(p.URI)
	}
	return r, nil
}

// childrenOf returns what is directly in a folder of a skill, given its clean URI.
func childrenOf(m *contextprovider.Manifest, dir string) []*mcp.Resource {
	at := root(m)
	children := []*mcp.Resource{}
	for _, f := range m.Files {
		rest, ok := strings.CutPrefix(below(at, f.Path), dir+"/")
		if !ok || len(dir) < len(at) {
			continue
		}
		child := resourceOf(m, f)
		if in, _, deeper := strings.Cut(rest, "/"); deeper {
			name := strings.Split(f.Path, "/")[strings.Count(dir[len(at):], "/")]
			child = &mcp.Resource{URI: dir + "/" + in, Name: name, MIMEType: directory}
		}
		// Files are sorted by path, so that the files of a subfolder follow each other.
		if n := len(children); n == 0 || children[n-1].URI != child.URI {
			children = append(children, child)
		}
	}
	return children
}
