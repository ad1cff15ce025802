package install

import (
	"errors"
	"fmt"
	"net"
	"net/url"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"unicode"

	"github.com/repertoire-skills/repertoire/internal/endpoint"
	"github.com/repertoire-skills/repertoire/skill"
)

// A Kind is a way to fetch a source.
type Kind string

// The kinds of sources.
const (
	Git      Kind = "git"      // a repository
	Folder   Kind = "folder"   // a folder on this machine
	Archive  Kind = "archive"  // a file on this machine or a server
	Site     Kind = "site"     // a server with /.well-known/agent-skills/index.json
	Registry Kind = "registry" // what a registry has under a name, see Options.Ask
)

// A Source is where skills are installed from.
type Source struct {
	Kind   Kind
	Origin string // a URL, or a path on this machine; the path may be relative
	Ref    string // branch, tag or commit of a repository; "" means its default branch
	Sub    string // folder in it, slash-separated; "" means all of it
}

// IsLocal reports whether Origin is a path on this machine.
func (s Source) IsLocal() bool { return !strings.Contains(s.Origin, "://") && s.Kind != Git }

// String returns the source as people write it.
func (s Source) String() string {
	text := endpoint.Shown(s.Origin)
	if s.Sub != "" {
		text += " (folder " + s.Sub + ")"
	}
	return text
}

// index is where a site has its index.
const index = "/.well-known/agent-skills/index.json"

// archives are how the names of archives end.
var archives = []string{".zip", ".tar.gz", ".tgz", ".skill"}

func isArchive(name string) bool {
	name = strings.ToLower(name)
	return slices.ContainsFunc(archives, func(end string) bool { return strings.HasSuffix(name, end) })
}

// ParseSource reads the text in which people name a source:
//
//   - owner/repo or owner/repo/folder: a repository on github.com
//   - https://, ssh://, file:// or user@host:path: a repository
//   - https://github.com/owner/repo/tree/REF/folder and what GitLab, Bitbucket and Forgejo
//     show in a browser
//   - a URL or path that ends with .zip, .tar.gz, .tgz or .skill: an archive
//   - https://host, or the URL of its index of skills: a site
//   - registry+https://host/-/name: what a registry has under a name
//   - ./folder, ../folder, /folder, ~/folder, folder: a folder
func ParseSource(text string) (Source, error) {
	s, err := parseSource(text)
	if err != nil {
		return Source{}, fmt.Errorf("source %q: %w", endpoint.Shown(text), err)
	}
	return s, nil
}

func parseSource(text string) (Source, error) {
	switch {
	case text == "":
		return Source{}, errors.New("it is empty; name a repository (owner/repo or a URL), a folder or an archive")
	case text[0] == '-':
		return Source{}, errors.New("it begins with a hyphen; write ./ before the name of a folder")
	case strings.ContainsFunc(text, func(r rune) bool { return unicode.IsControl(r) || r == unicode.ReplacementChar }):
		return Source{}, errors.New("it has control characters")
	case strings.HasPrefix(text, registryPrefix):
		return parseRegistry(text)
	case isHelper(text):
		return Source{}, errors.New("a helper of git (\"name::\") could run any program; use https, ssh or file")
	case strings.Contains(text, "://"):
		return parseURL(text)
	case isPath(text):
		return parsePath(text)
	}
	if host, rest, ok := cutHost(text); ok {
		return parseSSH(text, host, rest)
	}
	if !strings.Contains(strings.TrimRight(text, "/"), "/") || isArchive(text) {
		return parsePath(text)
	}
	return parseShort(text)
}

// What a source of the kind Registry is made of: the prefix, the base of the registry, the mark,
// and the name, which is never part of a path or a URL here.
const (
	registryPrefix = "registry+"
	registryMark   = "/-/"
)

func parseRegistry(text string) (Source, error) {
	base, name, ok := strings.Cut(strings.TrimPrefix(text, registryPrefix), registryMark)
	u, err := url.Parse(base)
	if err != nil || !ok || name == "" || u.RawQuery != "" || u.User != nil || u.Scheme != "https" && u.Scheme != "http" {
		return Source{}, errors.New("this is no source of a registry")
	}
	return Source{Kind: Registry, Origin: text}, checkURL(u)
}

// isHelper reports whether git would run a helper for a text: what stands before "::" is
// its name. In an address of IPv6, a bracket comes before.
func isHelper(text string) bool {
	name, _, ok := strings.Cut(text, "::")
	return ok && !strings.ContainsAny(name, "/[")
}

// cutHost cuts user@host:path, in which the host may be an address of IPv6 in brackets.
func cutHost(text string) (host, rest string, ok bool) {
	end := strings.Index(text, "]:") + 1 // 0 without brackets
	host, rest, ok = strings.Cut(text[end:], ":")
	host = text[:end] + host
	return host, rest, ok && !strings.Contains(host, "/")
}

// isPath reports whether a text is clearly a path on this machine.
func isPath(text string) bool {
	drive := len(text) > 2 && text[1] == ':' && (text[2] == '\\' || text[2] == '/')
	return drive || text == "." || text == ".." || text == "~" || filepath.IsAbs(text) ||
		slices.ContainsFunc([]string{"./", "../", "~/", `.\`, `..\`, "/"}, func(p string) bool { return strings.HasPrefix(text, p) })
}

func parsePath(text string) (Source, error) {
	if isArchive(text) {
		return Source{Kind: Archive, Origin: text}, nil
	}
	return Source{Kind: Folder, Origin: text}, nil
}

// parseSSH reads user@host:path, as scp and git know it.
func parseSSH(text, host, rest string) (Source, error) {
	user, name, ok := strings.Cut(host, "@")
	if !ok {
		user, name = "git", host
	}
	if !isWord(user) || !isHost(name) || rest == "" || strings.HasPrefix(rest, "-") {
		return Source{}, errors.New("this is no source; a repository over ssh is user@host:path")
	}
	return Source{Kind: Git, Origin: text}, nil
}

// parseShort reads owner/repo and owner/repo/folder.
func parseShort(text string) (Source, error) {
	parts := strings.Split(strings.TrimRight(text, "/"), "/")
	for _, part := range parts[:2] {
		if !isWord(strings.TrimSuffix(part, ".git")) {
			return Source{}, errors.New("this is no source; a repository is owner/repo, a folder ./folder (a branch or tag is named with --ref)")
		}
	}
	sub, err := cleanSub(strings.Join(parts[2:], "/"))
	return Source{Kind: Git, Origin: "https://github.com/" + parts[0] + "/" + strings.TrimSuffix(parts[1], ".git"), Sub: sub}, err
}

// isWord reports whether the name of a user or a repository is a plain one.
func isWord(s string) bool {
	return s != "" && s[0] != '-' && s != "." && s != ".." && !strings.ContainsFunc(s, func(r rune) bool {
		return !(r == '-' || r == '_' || r == '.' || r < unicode.MaxASCII && (unicode.IsLetter(r) || unicode.IsDigit(r)))
	})
}

// isHost reports whether a name can be the name of a host: ssh takes what begins with a
// hyphen for an option.
func isHost(s string) bool { return isWord(s) || net.ParseIP(strings.Trim(s, "[]")) != nil }

// cleanSub returns the clean path of a folder in a source.
func cleanSub(sub string) (string, error) {
	sub = strings.Trim(sub, "/")
	if sub == "" {
		return "", nil
	}
	for part := range strings.SplitSeq(sub, "/") {
		if part == "" || part == "." || part == ".." || skill.IsExcluded(part) || strings.ContainsAny(part, `\:`) || part[0] == '-' {
			return "", fmt.Errorf("%q is no folder of a source", sub)
		}
	}
	return sub, nil
}

func parseURL(text string) (Source, error) {
	plain, forced := strings.CutPrefix(text, "git+")
	u, err := url.Parse(plain)
	if err != nil {
		return Source{}, errors.New("this URL is malformed") // the error has the URL, which may hold a password
	}
	if err := checkURL(u); err != nil {
		return Source{}, err
	}
	switch {
	case forced:
		return Source{Kind: Git, Origin: text}, nil
	case u.Scheme == "file" && isArchive(u.Path):
		return Source{Kind: Archive, Origin: u.Path}, nil
	case u.Scheme == "ssh" || u.Scheme == "file":
		return Source{Kind: Git, Origin: text}, nil
	case isArchive(u.Path):
		return Source{Kind: Archive, Origin: text}, nil
	case strings.Trim(u.Path, "/") == "" || strings.HasSuffix(u.Path, index):
		return Source{Kind: Site, Origin: strings.TrimRight(text, "/")}, nil
	}
	return parseWeb(u)
}

// checkURL refuses URLs that are not safe to fetch, or to write into the lock.
func checkURL(u *url.URL) error {
	if _, ok := u.User.Password(); ok {
		return errors.New("the URL holds a password, which would be written into skills.lock; give it to git's credential helper instead")
	}
	const token = 20 // characters that few names of users have, and most tokens
	if u.User != nil && u.Scheme != "ssh" && len(u.User.Username()) >= token {
		return errors.New("the user in the URL may be a token, which would be written into skills.lock; give it to git's credential helper instead")
	}
	switch u.Scheme {
	case "https", "ssh":
	case "http":
		if ip := net.ParseIP(u.Hostname()); u.Hostname() != "localhost" && (ip == nil || !ip.IsLoopback()) {
			return errors.New("http is not encrypted, so anybody on the way could change the skills; use https")
		}
	case "file":
		if u.Host != "" && u.Host != "localhost" || !strings.HasPrefix(u.Path, "/") {
			return errors.New("a file URL is file:///path")
		}
		return nil
	default:
		return fmt.Errorf("sources are not fetched over %s; use https, ssh or file", u.Scheme)
	}
	if !isHost(u.Hostname()) || u.User != nil && !isWord(u.User.Username()) {
		return fmt.Errorf("%q is no host", u.Host)
	}
	if u.Fragment != "" {
		return errors.New("a branch, tag or commit is named with --ref, not with #")
	}
	return nil
}

// browsed are how web pages of repositories name a folder in a version, after owner/repo.
var browsed = []string{"tree", "blob", "-/tree", "-/blob", "src/branch", "src/tag", "src/commit", "src"}

// parseWeb reads the URL of a repository, or of a folder in it as a browser shows it.
func parseWeb(u *url.URL) (Source, error) {
	parts := strings.Split(strings.Trim(u.Path, "/"), "/")
	for i := 2; i < len(parts); i++ {
		for _, mark := range browsed {
			n := i + strings.Count(mark, "/") + 1
			if n >= len(parts) || strings.Join(parts[i:n], "/") != mark {
				continue
			}
			if parts[n] == "" || parts[n][0] == '-' {
				return Source{}, errors.New("the URL names no branch, tag or commit")
			}
			if slices.Contains(parts[:i], "") {
				return Source{}, errors.New("the URL names no repository: a part of its path is empty")
			}
			sub := strings.Join(parts[n+1:], "/")
			if strings.EqualFold(path.Base(sub), "SKILL.md") {
				sub = strings.TrimSuffix(path.Dir(sub), ".")
			}
			repo := *u
			repo.Path, repo.RawPath, repo.RawQuery = "/"+strings.Join(parts[:i], "/"), "", ""
			sub, err := cleanSub(sub)
			return Source{Kind: Git, Origin: repo.String(), Ref: parts[n], Sub: sub}, err
		}
	}
	return Source{Kind: Git, Origin: strings.TrimRight(u.String(), "/")}, nil
}
