package install

import (
	"cmp"
	"errors"
	"fmt"
	"net"
	"net/url"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"unicode"

	"github.com/repertoire-skills/repertoire/install/git"
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
	Page   string // REF/FOLDER as a page has it: both may have slashes, so only the repository can part them into Ref and Sub
	Skill  string // the one skill of it that is wanted; "" means that the source names none
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

// At returns a source at a ref that is named beside it; "" means none.
func (s Source) At(ref string) (Source, error) {
	short := func(ref string) string { return git.ShortRef(ref) + "/" }
	at := cmp.Or(s.Page, s.Ref)
	sub, ok := strings.CutPrefix(short(at), short(ref))
	switch {
	case ref == "":
		return s, nil
	case s.Kind != Git:
		return s, errors.New("only a repository has branches and tags; leave --ref out")
	case at != "" && (!ok || s.Page == "" && sub != ""):
		return s, fmt.Errorf("it names %s, and ref is %s; leave one of them out", at, ref)
	case s.Page != "":
		s.Sub, s.Page = strings.Trim(sub, "/"), ""
	}
	s.Ref = ref
	return s, git.CheckRef(ref)
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
//   - owner/repo@skill: one skill of it
//   - https://, ssh://, file://, user@host:path or host.example/path: a repository
//   - https://github.com/owner/repo/tree/REF/folder, .../blob/REF/folder/SKILL.md and what
//     GitLab, Bitbucket, Forgejo and Azure DevOps show in a browser
//   - each of these with #REF: a branch, tag or commit of it
//   - a URL or path that ends with .zip, .tar.gz, .tgz or .skill: an archive
//   - https://host, or the URL of its index of skills: a site
//   - registry+https://host/-/name: what a registry has under a name
//   - ./folder, ../folder, /folder, ~/folder, folder: a folder
func ParseSource(text string) (Source, error) {
	s, err := parseSource(text)
	if err == nil && s.Skill != "" && !isWord(s.Skill) {
		err = errors.New("this is no source; one skill of a repository is owner/repo@skill")
	}
	if err != nil {
		return Source{}, fmt.Errorf("source %q: %w", endpoint.Shown(text), err)
	}
	if s.Kind == Git && isArchive(s.Origin) && strings.HasPrefix(s.Origin, "http") {
		s.Origin = "git+" + s.Origin // or the lock would name an archive
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
	case isPath(text):
		return parsePath(text)
	}
	address, ref, _ := strings.Cut(text, "#")
	s, err := parseAddress(address)
	switch {
	case err != nil:
		return s, err
	case s.IsLocal() && !strings.Contains(text, "://"):
		return parsePath(text)
	case ref == "":
		return s, nil
	case s.Kind != Git:
		return Source{}, errors.New("only a repository has branches and tags; leave out what follows #")
	case s.Ref+s.Page != "": // what follows is a line or a heading of a page
		return s, nil
	}
	var skill string
	ref, skill, _ = strings.Cut(ref, "@")
	s.Ref, s.Skill = ref, cmp.Or(skill, s.Skill)
	return s, git.CheckRef(ref)
}

// parseAddress reads a text that is no path, without what follows #.
func parseAddress(text string) (Source, error) {
	if strings.Contains(text, "://") {
		return parseURL(text)
	}
	if host, rest, ok := cutHost(text); ok {
		if port, _, _ := strings.Cut(rest, "/"); isDomain(host) && port != "" && strings.Trim(port, "0123456789") == "" {
			return parseURL("https://" + text)
		}
		return parseSSH(text, host, rest)
	}
	if !strings.Contains(strings.TrimRight(text, "/"), "/") || isArchive(text) {
		return parsePath(text)
	}
	end := strings.LastIndexByte(text, '/')
	last, skill, _ := strings.Cut(text[end:], "@")
	parse := parseShort
	if host, _, _ := strings.Cut(text, "/"); isDomain(host) {
		parse = func(text string) (Source, error) { return parseURL("https://" + text) }
	}
	s, err := parse(text[:end] + last)
	s.Skill = skill
	return s, err
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
	if err != nil || !ok || name == "" || u.RawQuery+u.Fragment != "" || u.User != nil || u.Scheme != "https" && u.Scheme != "http" {
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
	for _, part := range append(parts, "")[:2] {
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

// isDomain reports whether a word is the name of a host, which no owner on github.com can have.
func isDomain(s string) bool {
	top := path.Ext(s)
	return isHost(s) && len(top) > 2 && !strings.ContainsAny(top, "0123456789_-") && top != ".git"
}

// cleanSub returns the clean path of a folder in a source. sub is its path, or the path of its SKILL.md.
func cleanSub(sub string) (string, error) {
	sub = strings.Trim(sub, "/")
	if name := path.Base(sub); isInstructions(name) {
		sub = strings.TrimRight(strings.TrimSuffix(sub, name), "/")
	}
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
	return nil
}

// pages are how hosts show a folder or a SKILL.md in a browser: after the repository comes the
// mark, and then REF/PATH. host is the only one that does so; "" means that many do. file means
// that it is never a folder.
var pages = []struct {
	host, mark, refs string
	file             bool
}{
	{mark: "-/tree"}, {mark: "-/blob"}, {mark: "-/raw", file: true}, // GitLab
	{mark: "tree"}, {mark: "blob"}, {mark: "releases/tag", refs: git.Tags},
	{mark: "src/branch", refs: git.Heads}, {mark: "src/tag", refs: git.Tags}, {mark: "src/commit"}, // Forgejo
	{mark: "raw/branch", refs: git.Heads, file: true}, {mark: "raw/tag", refs: git.Tags, file: true}, {mark: "raw/commit", file: true}, {mark: "raw", file: true},
	{host: "bitbucket.org", mark: "src"},
	{host: "raw.githubusercontent.com", file: true},
}

// isInstructions reports whether name is SKILL.md, in any case.
func isInstructions(name string) bool { return strings.EqualFold(name, skill.FileNames[0]) }

// parseWeb reads the URL of a repository, or of a page that shows a folder or a SKILL.md in it.
func parseWeb(u *url.URL) (Source, error) {
	parts, query := strings.Split(strings.Trim(u.Path, "/"), "/"), u.Query()
	first := 2 // owner/repo
	if i := slices.IndexFunc(parts, func(part string) bool { return strings.HasSuffix(part, ".git") }); i >= 0 {
		first = i + 1
	}
	for i := first; i < len(parts); i++ {
		for _, p := range pages {
			n := i
			if p.mark != "" {
				n += strings.Count(p.mark, "/") + 1
			}
			switch {
			case n >= len(parts) || strings.Join(parts[i:n], "/") != p.mark,
				p.host != "" && (i > first || p.host != u.Hostname()), p.file && !isInstructions(parts[len(parts)-1]):
				continue
			}
			refs := p.refs
			if kind := query.Get("ref_type"); kind == "heads" || kind == "tags" {
				refs = "refs/" + kind + "/"
			}
			ref := cmp.Or(query.Get("at"), parts[n]) // Bitbucket shows a branch as a commit at it
			return pageOf(u, parts[:i], refs, ref, parts[n+1:])
		}
	}
	if i := slices.Index(parts, "_git"); i >= 0 && i+2 == len(parts) && (query.Has("version") || query.Has("path")) { // Azure DevOps
		version, sub := query.Get("version"), strings.Trim(query.Get("path"), "/")
		refs := map[string]string{"GB": git.Heads, "GT": git.Tags}[version[:min(2, len(version))]]
		return pageOf(u, parts, refs, cmp.Or(version[min(2, len(version)):], "HEAD"), strings.Split(sub, "/"))
	}
	if n := len(parts); n > 2 && isInstructions(parts[n-1]) {
		return Source{}, errors.New("this is one file; name its repository, the page of its folder there, or an archive")
	}
	if query.Has("tab") { // of the page of a repository on GitHub
		u.RawQuery = ""
	}
	return Source{Kind: Git, Origin: strings.TrimRight(u.String(), "/")}, nil
}

// pageOf returns what a page shows: a folder or SKILL.md in the version ref of a repository.
func pageOf(u *url.URL, repo []string, refs, ref string, sub []string) (Source, error) {
	if ref == "" || ref[0] == '-' {
		return Source{}, errors.New("the URL names no branch, tag or commit")
	}
	if slices.Contains(repo, "") {
		return Source{}, errors.New("the URL names no repository: a part of its path is empty")
	}
	page, err := cleanSub(refs + strings.Join(append([]string{ref}, sub...), "/"))
	origin := *u
	if origin.Host == "raw.githubusercontent.com" {
		origin.Host = "github.com"
	}
	origin.Path, origin.RawPath, origin.RawQuery = "/"+strings.Join(repo, "/"), "", ""
	s := Source{Kind: Git, Origin: origin.String()}
	if strings.Contains(page, "/") {
		s.Page = page
	} else {
		s.Ref = page
	}
	return s, cmp.Or(err, git.CheckRef(s.Ref))
}
