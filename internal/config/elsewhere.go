package config

import (
	"cmp"
	"errors"
	"fmt"
	"net/url"
	"path"
	"path/filepath"
	"strings"

	"github.com/robfig/cron/v3"
	"go.yaml.in/yaml/v3"

	"github.com/repertoire-skills/repertoire/install"
	"github.com/repertoire-skills/repertoire/internal/endpoint"
	"github.com/repertoire-skills/repertoire/internal/lazyregexp"
	"github.com/repertoire-skills/repertoire/internal/words"
)

// never is the schedule of what happens only when somebody asks for it.
const never = "never"

// gitKeys returns the keys of a root that is a git repository.
func (p *parser) gitKeys(r *Root) keys {
	known := p.fetchedKeys(r)
	known["git"] = text(&r.Git).check(valid(&r.Git, checkGit)).doc("URL of a git repository, or of the page of a folder in one", nil)
	known["ref"] = text(&r.Ref).check(valid(&r.Ref, checkRef)).doc("branch, tag or commit", nil)
	known["path"] = text(&r.Sub).check(valid(&r.Sub, checkSub)).doc("folder in the repository", nil)
	return known
}

// urlKeys returns the keys of a root that is an archive or a site.
func (p *parser) urlKeys(r *Root) keys {
	known := p.fetchedKeys(r)
	known["url"] = text(&r.URL).check(valid(&r.URL, checkURL)).
		doc("of an archive, or of a site with /.well-known/agent-skills/index.json", nil)
	return known
}

func (p *parser) fetchedKeys(r *Root) keys {
	known := p.pathKeys(r)
	delete(known, "path")
	known["fetch"] = schedule(&r.Fetch).doc("when it is fetched anew, as a cron spec", nil)
	known["trusted"] = boolean(&r.Trusted).doc("its skills count like those in your own folders", false)
	return known
}

// valid returns a step that checks a text which was read.
func valid(text *string, check func(string) error) func(*yaml.Node) error {
	return func(n *yaml.Node) error {
		if err := check(*text); err != nil {
			return errorf(n, "roots: %q: %w", endpoint.Shown(*text), err)
		}
		return nil
	}
}

func hasKey(n *yaml.Node, key string) bool {
	for i := 0; i < len(n.Content) && n.Kind == yaml.MappingNode; i += 2 {
		if n.Content[i].Value == key {
			return true
		}
	}
	return false
}

// sshAddress matches user@host:path, as git does.
var sshAddress = lazyregexp.New(`^(?:[\w.-]+@[\w.-]+|[\w.-]{2,}):(?:/[^/:]|[^/:])[^:]*$`)

// checkGit says why a text is not the URL of a repository. Git runs a command for some
// URLs (ext::…) and takes one that starts with a hyphen for an option.
func checkGit(text string) error {
	if strings.HasPrefix(text, "-") || strings.ContainsFunc(text, isBlank) {
		return errors.New("it is not the URL of a git repository")
	}
	if sshAddress().MatchString(text) {
		return nil
	}
	return checkScheme(text, "https", "http", "ssh", "git", "file")
}

func checkURL(text string) error {
	if endpoint.HasToken(text) {
		return errors.New("the address holds a token after /t/, which would be written into the configuration and into the label; \"skills root add --registry\" takes the address without that part, and with --key-env the variable that holds the token")
	}
	return checkScheme(text, "https", "http")
}

func checkScheme(text string, schemes ...string) error {
	u, err := url.Parse(text)
	if err == nil {
		for _, s := range schemes {
			if u.Scheme == s && (u.Host != "" || s == "file" && u.Path != "") {
				return nil
			}
		}
	}
	return fmt.Errorf("expected a URL that starts with %s://", strings.Join(schemes, "://, "))
}

// checkRef says why a text is not the name of a branch, tag or commit.
func checkRef(text string) error {
	if text == "" || strings.HasPrefix(text, "-") || strings.Contains(text, "..") || strings.ContainsAny(text, "~^:?*[\\") || strings.ContainsFunc(text, isBlank) {
		return errors.New("it is not the name of a branch, tag or commit")
	}
	return nil
}

// checkSub says why a text is not a folder of a repository.
func checkSub(text string) error {
	if reason := badPath(text); reason != "" {
		return errors.New(reason)
	}
	if !filepath.IsLocal(filepath.FromSlash(text)) {
		return errors.New("it leads out of the repository")
	}
	return nil
}

func isBlank(r rune) bool { return r <= ' ' || r == 0x7f }

// place returns where a root from elsewhere is: its address, or the repository, ref and folder that
// the address of a page or one with #REF names. Any other address stays as it is written.
func (r *Root) place() (install.Source, error) {
	s := install.Source{Origin: cmp.Or(r.Git, r.URL), Ref: r.Ref, Sub: r.Sub}
	if r.Git != "" {
		s.Kind = install.Git
	}
	named, err := install.ParseSource(s.Origin)
	if err != nil || named.Kind != install.Git || named.Ref+named.Page == "" || strings.HasPrefix(r.URL, named.Origin+"#") {
		return s, nil
	}
	named, err = named.At(r.Ref)
	switch {
	case err != nil:
		return s, err
	case named.Skill != "":
		return s, errors.New("a root has all skills of its folder; leave out what follows @, and say names: [NAME]")
	case r.Sub != "" && named.Sub+named.Page != "":
		return s, errors.New("the address names a folder, and path another one; leave one of them out")
	}
	named.Sub = cmp.Or(named.Sub, r.Sub)
	return named, nil
}

// placeRoot chooses where a root from elsewhere is kept, and its label. Both stay the same
// whatever other roots there are, unless an earlier one has the label.
func placeRoot(n *yaml.Node, r *Root, roots []Root) error {
	data, err := DataDir()
	if err != nil {
		return errorf(n, "roots: %w", err)
	}
	at, err := r.place()
	if err != nil {
		return errorf(n, "roots: %q: %w", endpoint.Shown(cmp.Or(r.Git, r.URL)), err)
	}
	name := readable(at.Origin)
	hash := sumOf(fmt.Sprintf("%q %q %q %q", r.Git, r.URL, r.Ref, r.Sub), 4)
	r.Path = filepath.Join(data, "roots", strings.ReplaceAll(name, "/", "-")+"-"+hash)
	if r.Label != "" {
		return nil
	}
	kind := "git"
	if at.Kind != install.Git {
		kind = "url"
	}
	r.Label = kind + ":" + name
	for _, other := range roots {
		if words.SameName(other.Label, r.Label) {
			r.Label += "-" + hash
			break
		}
	}
	return nil
}

// readable returns a short name for a URL: its last two parts, such as owner/repository.
// It has no user, password or query.
func readable(address string) string {
	rest := address
	if _, after, ok := strings.Cut(address, "://"); ok {
		rest, _, _ = strings.Cut(after, "?")
		rest, _, _ = strings.Cut(rest, "#")
	}
	if _, after, ok := strings.Cut(rest, "@"); ok {
		rest = after
	}
	rest = strings.TrimSuffix(strings.Trim(strings.ReplaceAll(rest, ":", "/"), "/"), ".git")
	parts := strings.FieldsFunc(rest, func(r rune) bool { return r == '/' })
	for i, part := range parts {
		parts[i] = strings.Trim(unplain().ReplaceAllString(part, "-"), "-.")
	}
	name := path.Join(parts[max(0, len(parts)-2):]...)
	if len(name) > 64 {
		name = name[len(name)-64:]
	}
	return cmp.Or(strings.Trim(name, "-./"), "skills")
}

var unplain = lazyregexp.New(`[^A-Za-z0-9._-]+`)

// schedule reads a cron spec, or "never".
func schedule(to *string) value {
	return text(to).check(func(n *yaml.Node) error {
		if *to == "" || *to == never {
			return nil
		}
		if _, err := ParseSchedule(*to); err != nil {
			return errorf(n, "%w", err)
		}
		return nil
	})
}

// ParseSchedule reads a cron spec. The parser panics on some malformed time zones
// ("TZ=0"), which must not end the program.
func ParseSchedule(spec string) (s cron.Schedule, err error) {
	defer func() {
		if recover() != nil {
			s, err = nil, fmt.Errorf("schedule %q is malformed", spec)
		}
	}()
	s, err = cron.ParseStandard(spec)
	if err != nil {
		return nil, fmt.Errorf("schedule %q: %w (examples: \"@every 5s\", \"*/10 * * * *\")", spec, err)
	}
	return s, nil
}
