package mcpserver

import (
	"net/url"
	"path"
	"strings"

	"github.com/repertoire-skills/repertoire/contextprovider"
	"github.com/repertoire-skills/repertoire/skill"
)

const (
	scheme    = "skill://"
	maxURI    = 8 << 10 // bytes
	directory = "inode/directory"
)

// root returns the URI of a skill's folder: its ID, followed by its name if the two
// differ.
func root(m *contextprovider.Manifest) string {
	uri := scheme + url.PathEscape(m.ID)
	if m.Name != m.ID {
		uri += "/" + m.Name // needs no escape: published names are a-z, 0-9 and hyphens
	}
	return uri
}

// below returns the URI of a file or folder of a skill.
func below(root, name string) string {
	var b strings.Builder
	b.WriteString(root)
	for part := range strings.SplitSeq(name, "/") {
		b.WriteString("/" + url.PathEscape(part))
	}
	return b.String()
}

// fileURI is below for a skill whose manifest is not at hand.
func fileURI(id, name string) string { return below(scheme+url.PathEscape(id), name) }

// idOf returns the ID of the skill in a URI. The rest of the URI is only ever compared
// with the URIs of that skill, and never used as a path.
func idOf(uri string) (id string, ok bool) {
	rest, ok := strings.CutPrefix(uri, scheme)
	if !ok || len(uri) > maxURI {
		return "", false
	}
	first, _, _ := strings.Cut(rest, "/")
	id, err := url.PathUnescape(first)
	return id, err == nil && id != ""
}

// file returns the file of a skill that has this URI.
func file(m *contextprovider.Manifest, uri string) (f skill.File, ok bool) {
	at := root(m)
	for _, f := range m.Files {
		if below(at, f.Path) == uri {
			return f, true
		}
	}
	return skill.File{}, false
}

// mimeType returns the type of a file by its name; "" means unknown. It does not use
// the table of the system, which differs between machines.
func mimeType(name string) string {
	switch strings.ToLower(path.Ext(name)) {
	case ".md", ".markdown":
		return "text/markdown"
	case ".txt":
		return "text/plain"
	case ".py":
		return "text/x-python"
	case ".sh":
		return "text/x-shellscript"
	case ".js", ".mjs":
		return "text/javascript"
	case ".ts":
		return "text/typescript"
	case ".html":
		return "text/html"
	case ".css":
		return "text/css"
	case ".csv":
		return "text/csv"
	case ".json":
		return "application/json"
	case ".yaml", ".yml":
		return "application/yaml"
	case ".xml":
		return "application/xml"
	case ".pdf":
		return "application/pdf"
	case ".svg":
		return "image/svg+xml"
	case ".png":
		return "image/png"
	case ".jpg", ".jpeg":
		return "image/jpeg"
	}
	return ""
}
