package mcpserver

import (
	"net/url"
	"path"
	"slices"
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
	uri := uriOf(m.ID)
	if m.Name != m.ID {
		uri += "/" + m.Name // needs no escape: published names are a-z, 0-9 and hyphens
	}
	return uri
}

// uriOf returns the URI of an ID. An ID with a colon or a slash cannot be the host of a URI, so it
// is the start of the path.
func uriOf(id string) string {
	if strings.ContainsAny(id, ":/") {
		return scheme + "/" + url.PathEscape(id)
	}
	return scheme + url.PathEscape(id)
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

// idOf returns the ID of the skill in a URI. The rest of the URI is only ever compared
// with the URIs of that skill, and never used as a path.
func idOf(uri string) (id string, ok bool) {
	rest, ok := strings.CutPrefix(uri, scheme)
	if !ok || len(uri) > maxURI {
		return "", false
	}
	first, _, _ := strings.Cut(strings.TrimPrefix(rest, "/"), "/")
	id, err := url.PathUnescape(first)
	return id, err == nil && id != ""
}

// cleanURI returns the URI of a file or folder of a skill, given the URI of the skill's
// folder, without empty parts and ".": a SKILL.md may write ./a and a//b. An error says
// why nothing can have the URI, see skill.CleanPath.
func cleanURI(root, uri string) (string, error) {
	rest, ok := strings.CutPrefix(uri, root+"/")
	if !ok {
		return uri, nil
	}
	if name, err := url.PathUnescape(rest); err == nil {
		if _, err := skill.CleanPath(name); err != nil {
			return "", err
		}
	}
	parts := slices.DeleteFunc(strings.Split(rest, "/"), func(part string) bool { return part == "" || part == "." })
	return root + "/" + strings.Join(parts, "/"), nil
}

// file returns the file of a skill that has this clean URI.
func file(m *contextprovider.Manifest, uri string) (f skill.File, ok bool) {
	at := root(m)
	for _, f := range m.Files {
		if below(at, f.Path) == uri {
			return f, true
		}
	}
	return skill.File{}, false
}

// mimeTypes are the types of files by their extension. The table of the system differs
// between machines.
var mimeTypes = map[string]string{
	".md": "text/markdown", ".markdown": "text/markdown", ".txt": "text/plain",
	".py": "text/x-python", ".sh": "text/x-shellscript", ".js": "text/javascript", ".mjs": "text/javascript", ".ts": "text/typescript",
	".html": "text/html", ".css": "text/css", ".csv": "text/csv", ".svg": "image/svg+xml",
	".json": "application/json", ".yaml": "application/yaml", ".yml": "application/yaml", ".xml": "application/xml",
	".pdf": "application/pdf", ".png": "image/png", ".jpg": "image/jpeg", ".jpeg": "image/jpeg",
}

// mimeType returns the type of a file by its name; "" means unknown.
func mimeType(name string) string { return mimeTypes[strings.ToLower(path.Ext(name))] }
