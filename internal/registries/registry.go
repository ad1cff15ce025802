// Package registries asks registries elsewhere which skills they have. It speaks the forms of ARD,
// which another Repertoire has too, of clawhub and of skills.sh.
//
// The one rule: a registry is a stranger. What it says is bounded and cleaned here, and believed
// nowhere; one that fails costs a line and never the answer of the others; and its key goes to
// its own origin only.
package registries

import (
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"

	"github.com/repertoire-skills/repertoire/internal/endpoint"
	"github.com/repertoire-skills/repertoire/internal/lazyregexp"
	"github.com/repertoire-skills/repertoire/internal/tidy"
	"github.com/repertoire-skills/repertoire/internal/words"
)

// A Registry is one that the user has configured.
type Registry struct {
	Name     string // in commands and answers; "" means that of the host
	URL      string // base, to which the paths of the form are added
	Form     string // one of Forms
	KeyEnv   string // variable that holds its key; "" means that it wants none
	Alone    bool   // registries that it refers to are not asked
	referrer string // name of the registry that has referred to it; "" means that the user did
	loopback bool   // it is on this machine, and may name addresses there
}

// The forms of registries.
const (
	formARD      = "ard"
	formClawhub  = "clawhub"
	formSkillsSh = "skills.sh"
)

// A protocol is how registries of a form are asked.
type protocol struct {
	search func(c *call, text string, limit int) (found, error)
	// find returns what the registry has under a name; several if the name does not decide.
	find func(c *call, name string) ([]Offer, error)
	// complete adds what a search does not say; nil means nothing.
	complete func(c *call, o *Offer)
}

// protocols are all forms.
func protocols() map[string]protocol {
	return map[string]protocol{
		formARD:      {searchARD, findARD, nil},
		formClawhub:  {searchClawhub, findClawhub, completeClawhub},
		formSkillsSh: {searchSkillsSh, findSkillsSh, nil},
	}
}

// Forms returns the names of the forms, in the order in which Detect tries them.
func Forms() []string { return []string{formARD, formClawhub, formSkillsSh} }

// Check returns what is wrong with a registry, and fills in its name. It never repeats the
// URL, which may hold a password.
func (r *Registry) Check() error {
	u, err := endpoint.ParseBase(r.URL)
	switch {
	case err != nil:
		return err
	case endpoint.Exposed(u):
		return errors.New("what you ask would go over plain http to another machine; use https")
	case strings.Contains(u.Path, "/t/"): // as a client of ours may ask that can send no header
		return errors.New("the address holds a token after /t/, which would be written into the configuration and into the lock of what is installed; leave that part out, put the token into a variable, and name it with --key-env (key_env in the file)")
	case !slices.Contains(Forms(), r.Form):
		return fmt.Errorf("no form %q%s", tidy.Line(r.Form), words.Suggest(r.Form, Forms()))
	}
	if r.URL = strings.TrimRight(u.String(), "/"); r.Name == "" {
		r.Name = strings.TrimPrefix(u.Hostname(), "www.")
	}
	if !plain().MatchString(r.Name) {
		return fmt.Errorf("the name %q is not made of letters, digits, dots and hyphens", tidy.Line(r.Name))
	}
	r.loopback = endpoint.IsHere(u.Hostname())
	return endpoint.CheckKeyName(r.KeyEnv)
}

// An Offer is a skill that a registry has, in its words: all texts are on one line and bounded.
type Offer struct {
	Name        string   `json:"name"` // as "skills install --from" takes it
	Description string   `json:"description,omitempty"`
	Version     string   `json:"version,omitempty"`
	Updated     string   `json:"updated,omitempty"`  // date
	Installs    int      `json:"installs,omitempty"` // as the registry counts
	Verdict     string   `json:"verdict,omitempty"`  // of a scan that the registry tells of, such as "clean"; "" means none
	Registry    string   `json:"registry"`
	Also        []string `json:"also,omitempty"`       // other registries that have the same
	Origin      string   `json:"origin,omitempty"`     // who publishes it: a repository, a domain or a user
	Digest      string   `json:"digest,omitempty"`     // of the skill, if the registry knows it
	Source      string   `json:"source,omitempty"`     // for package install; "" means that it cannot be installed
	InvokedBy   string   `json:"invoked_by,omitempty"` // who starts it, if the registry says so: "user" or "model"
	Skill       string   `json:"-"`                    // which skill of Source; "" means its only one

	file file
}

// A file is where the skill of an Offer lies.
type file struct {
	url    string
	digest string // "sha256:<hex>" of the file; "" means that the registry says none
	plain  bool   // a SKILL.md alone
}

// key returns what two offers of the same skill have in common: where its files are; "" means
// that nobody can tell. A digest is only a claim until the files are here: with it one registry
// could take the place of another one's skill.
func (o *Offer) key() string {
	if o.Source == "" {
		return ""
	}
	return o.Source + " " + o.Skill
}

// Bounds of what a registry says, in characters, and of how many skills of it count.
const (
	maxName        = 100
	maxDescription = 1024
	maxShort       = 100
	maxOffers      = 50
)

// clean bounds the texts of an offer, which a stranger has written. ok is false without a name.
func (o *Offer) clean() (ok bool) {
	for _, field := range []struct {
		text *string
		most int
	}{{&o.Name, maxName}, {&o.Description, maxDescription}, {&o.Version, maxShort}, {&o.Updated, maxShort},
		{&o.Verdict, maxShort}, {&o.Origin, maxShort}} {
		*field.text = tidy.Shorten(tidy.Line(*field.text), field.most)
	}
	for _, field := range []*string{&o.Version, &o.Updated, &o.Origin} {
		if !plain().MatchString(*field) { // a model reads them beside what this program says
			*field = ""
		}
	}
	if o.Verdict != "" && !verdict().MatchString(o.Verdict) {
		o.Verdict = "not understood"
	}
	o.Installs = max(0, o.Installs)
	if !isDigest(o.Digest) {
		o.Digest = ""
	}
	if !isDigest(o.file.digest) {
		o.file.digest = ""
	}
	return plain().MatchString(o.Name)
}

// plain matches the names that count: people and models type them in a shell.
var plain = lazyregexp.New(`^[A-Za-z0-9][A-Za-z0-9._:@/+-]*$`)

// verdict matches the verdicts that count: a few words.
var verdict = lazyregexp.New(`^[A-Za-z][A-Za-z _-]*$`)

// Command returns the arguments of this program that install the skill; "" if it cannot be
// installed, or not by words that no shell takes for anything else.
func (o *Offer) Command() string {
	name := o.Name
	if o.Skill != "" && o.Origin != "" && !strings.Contains(name, "/") {
		name = o.Origin + "/" + o.Name
	}
	if o.Source == "" || !plain().MatchString(name) || !plain().MatchString(o.Registry) {
		return ""
	}
	return "install --from " + o.Registry + " " + name
}

func isDigest(s string) bool {
	hex, ok := strings.CutPrefix(s, "sha256:")
	return ok && len(hex) == 64 && strings.Trim(hex, "0123456789abcdef") == ""
}

// mayFetch reports whether the registry may name an address: over https, and on this machine
// only if the registry itself is there, so that no stranger reaches what listens here.
func (r *Registry) mayFetch(address string) bool {
	u, err := url.Parse(address)
	if err != nil || u.Host == "" || u.User != nil {
		return false
	}
	if endpoint.IsHere(u.Hostname()) {
		return r.loopback && (u.Scheme == "http" || u.Scheme == "https")
	}
	return u.Scheme == "https"
}

// A source of the kind registry is "registry+", the base, this mark and the name.
const (
	sourcePrefix = "registry+"
	sourceMark   = "/-/"
)

// host returns the host and the port of the registry, as they stand in its URL.
func (r *Registry) host() string {
	u, err := url.Parse(r.URL)
	if err != nil {
		return ""
	}
	return u.Host
}

// sourceOf returns the source of what the registry has under a name.
func (r *Registry) sourceOf(name string) string { return sourcePrefix + r.URL + sourceMark + name }

// SplitSource returns the base and the name in a source of the kind registry; ok is false if it
// is none.
func SplitSource(source string) (base, name string, ok bool) {
	rest, ok := strings.CutPrefix(source, sourcePrefix)
	i := strings.Index(rest, sourceMark)
	if !ok || i < 0 {
		return "", "", false
	}
	base, name = rest[:i], rest[i+len(sourceMark):]
	return base, name, name != "" && !strings.ContainsFunc(name, func(r rune) bool { return r <= ' ' || r == 0x7f })
}
