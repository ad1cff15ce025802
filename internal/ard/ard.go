// Package ard declares what publishers, registries and their clients exchange by the specification
// of Agentic Resource Discovery (ARD), version 0.91: entries that describe resources such as
// skills, manifests that list entries, and the questions and answers of a registry.
//
// The one rule: what others have sent is checked here, and nowhere else. A reader of a manifest or
// of results gets the entries that are well formed, and for each other one an error with its place.
package ard

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"

	"github.com/repertoire-skills/repertoire/internal/lazyregexp"
)

// Paths at which a host has its manifest. Clients of versions before 0.91 ask for Predecessor.
const (
	Path        = "/.well-known/ard.json"
	Predecessor = "/.well-known/ai-catalog.json"
)

// Types of entries.
const (
	SkillZip      = "application/agent-skills+zip"                  // a skill as an archive with SKILL.md at its top
	SkillGzip     = "application/agent-skills+gzip"                 // the same as .tar.gz
	SkillMarkdown = `text/markdown; profile="urn:air:agent-skills"` // a skill that is a SKILL.md alone
	AnySkill      = "application/ai-skill"                          // a skill in any form: some clients ask for these
	Registry      = "application/ai-registry+json"                  // a registry, whose base its URL is
)

// Keys of Entry.Metadata that this program writes and reads.
const (
	// Digest is "sha256:<hex>" of the file at Entry.URL.
	Digest = "digest"
	// SkillDigest is "sha256:<hex>" of the skill, however it is packed, see skill.Meta.Digest.
	SkillDigest = "skillDigest"

	// InvokedBy says who starts the skill, see skill.About.
	InvokedBy = "invoked_by"
)

// Localhost is the publisher of hosts that have no domain name.
const Localhost = "agent.localhost"

// An Entry describes one resource. Exactly one of URL and Data is set.
type Entry struct {
	Context     json.RawMessage `json:"@context,omitempty"`
	Identifier  string          `json:"identifier"` // "urn:air:<publisher>:<namespace>:<name>", see Identifier
	DisplayName string          `json:"displayName,omitempty"`
	Type        string          `json:"type,omitempty"` // a media type, such as SkillZip
	URL         string          `json:"url,omitempty"`
	Data        json.RawMessage `json:"data,omitempty"` // an object

	Description           string          `json:"description,omitempty"`
	Tags                  []string        `json:"tags,omitempty"`
	Capabilities          []string        `json:"capabilities,omitempty"`
	RepresentativeQueries []string        `json:"representativeQueries,omitempty"` // two to MaxQueries, or none
	Version               string          `json:"version,omitempty"`
	UpdatedAt             string          `json:"updatedAt,omitempty"` // as RFC 3339 has it
	Metadata              map[string]any  `json:"metadata,omitempty"`  // texts, numbers, booleans and nil
	TrustManifest         json.RawMessage `json:"trustManifest,omitempty"`
}

// MaxQueries is how many Entry.RepresentativeQueries there may be, and minQueries how few.
const (
	MaxQueries = 5
	minQueries = 2
)

// Queries returns what an entry may have of the examples of a skill as its RepresentativeQueries.
func Queries(examples []string) []string {
	if len(examples) < minQueries {
		return nil
	}
	return examples[:min(len(examples), MaxQueries)]
}

// A Manifest is the file at Path.
type Manifest struct {
	SpecVersion string  `json:"specVersion,omitempty"` // of Predecessor, which demands SpecVersion
	Host        *Host   `json:"host,omitempty"`
	Entries     []Entry `json:"entries"`
}

// SpecVersion is the version that Manifest.SpecVersion has.
const SpecVersion = "1.0"

// A Host says whose manifest it is.
type Host struct {
	DisplayName      string          `json:"displayName"`
	Identifier       string          `json:"identifier,omitempty"`
	DocumentationURL string          `json:"documentationUrl,omitempty"`
	LogoURL          string          `json:"logoUrl,omitempty"`
	TrustManifest    json.RawMessage `json:"trustManifest,omitempty"`
}

// identifiers match what Entry.Identifier may be. The first group is the publisher.
var identifiers = lazyregexp.New(`^urn:air:([a-zA-Z0-9.-]+)(:[a-zA-Z0-9._-]+)+$`)

// maxIdentifier bounds an identifier, in bytes.
const maxIdentifier = 1024

// Identifier returns the identifier of a publisher's resource. The publisher is a domain name, and
// each part has only letters, digits and . _ -
func Identifier(publisher string, parts ...string) string {
	return "urn:air:" + publisher + ":" + strings.Join(parts, ":")
}

// Publisher returns the publisher of an identifier; ok is false if it is none.
func Publisher(identifier string) (publisher string, ok bool) {
	if len(identifier) > maxIdentifier {
		return "", false
	}
	found := identifiers().FindStringSubmatch(identifier)
	if found == nil {
		return "", false
	}
	return found[1], true
}

// Check returns what is wrong with an entry; nil if it is well formed.
func (e *Entry) Check() error {
	_, ok := Publisher(e.Identifier)
	switch {
	case e.Identifier == "":
		return errors.New("identifier is missing")
	case !ok:
		return fmt.Errorf("identifier %s is not of the form urn:air:DOMAIN:…:NAME", shown(e.Identifier))
	case e.DisplayName == "":
		return errors.New("displayName is missing")
	case e.Type == "":
		return errors.New("type is missing")
	case (e.URL == "") == (len(e.Data) == 0):
		return errors.New("it must have one of url and data")
	}
	return e.checkRest()
}

// checkRest checks what an entry need not have.
func (e *Entry) checkRest() error {
	if e.URL != "" {
		if u, err := url.Parse(e.URL); err != nil || u.Scheme == "" {
			return fmt.Errorf("url %s is no URL", shown(e.URL))
		}
	}
	if len(e.Data) > 0 && !strings.HasPrefix(strings.TrimSpace(string(e.Data)), "{") {
		return errors.New("data is not an object")
	}
	for name, v := range e.Metadata {
		switch v.(type) {
		case nil, string, bool, float64, int, int64, json.Number:
		default:
			return fmt.Errorf("metadata.%s is neither a text nor a number, a boolean or null", shown(name))
		}
	}
	return nil
}

// IsSkill reports whether an entry is a skill.
func (e *Entry) IsSkill() bool {
	plain := strings.ReplaceAll(strings.ToLower(e.Type), " ", "")
	return slices.Contains([]string{SkillZip, SkillGzip, strings.ReplaceAll(SkillMarkdown, " ", ""), AnySkill, AnySkill + "+md"}, plain)
}

// Meta returns a text of the metadata, such as Digest; "" if there is none.
func (e *Entry) Meta(key string) string {
	text, _ := e.Metadata[key].(string)
	return text
}

// An EntryError says which entry of an answer is left out, and why.
type EntryError struct {
	Index      int    // in the list, from 0
	Identifier string // as far as it is known
	Err        error
}

func (e *EntryError) Error() string {
	return fmt.Sprintf("entry %d %s: %v", e.Index+1, shown(e.Identifier), e.Err)
}

func (e *EntryError) Unwrap() error { return e.Err }

// ParseManifest reads a manifest. Entries that are not well formed are left out, with a *EntryError
// for each; a text that is no manifest at all is err, as is one with more than maxLeft
// malformed entries. MaxManifest bounds it.
func ParseManifest(data []byte) (m Manifest, left []error, err error) {
	if len(data) > MaxManifest {
		return m, nil, fmt.Errorf("the manifest has more than %d bytes", MaxManifest)
	}
	entries := false
	err = eachMember(data, map[string]func(*json.Decoder) error{
		"specVersion": func(d *json.Decoder) error {
			var version any
			err := d.Decode(&version)
			m.SpecVersion, _ = version.(string)
			return err
		},
		"host": func(d *json.Decoder) error {
			var raw json.RawMessage
			err := d.Decode(&raw)
			var host Host
			if json.Unmarshal(raw, &host) == nil && host.DisplayName != "" {
				m.Host = &host
			}
			return err
		},
		"entries": func(d *json.Decoder) error {
			m.Entries = []Entry{}
			err := eachElement(d, func(i int, text json.RawMessage) error {
				var e Entry
				err := decode(text, &e)
				if err == nil {
					err = e.Check()
				}
				switch {
				case err == nil:
					m.Entries = append(m.Entries, e)
				case len(left) > maxLeft:
					return errEnough
				default:
					left = append(left, &EntryError{i, e.Identifier, err})
				}
				return nil
			})
			entries = !errors.Is(err, errNull)
			return err
		},
	})
	switch {
	case err != nil || !entries:
		return Manifest{}, nil, errors.New("this is no ARD manifest: it is no JSON object with a list of entries")
	case len(left) > maxLeft:
		return Manifest{}, nil, fmt.Errorf("more than %d entries of the manifest are malformed; the first: %w", maxLeft, left[0])
	}
	return m, left, nil
}

// maxLeft is how many malformed entries a manifest may have.
const maxLeft = 10_000

// errEnough ends the reading of a list, and errNull says that there is none.
var errEnough, errNull = errors.New("the list has more elements than are read"), errors.New("it is null")

// eachMember reads a JSON object, and calls read with each member that it has a function for; null
// counts as no member. It reads a member at a time, so that a long answer costs no memory.
func eachMember(data []byte, read map[string]func(*json.Decoder) error) error {
	if !json.Valid(data) {
		return errors.New("it is no JSON")
	}
	d := json.NewDecoder(bytes.NewReader(data))
	if t, err := d.Token(); err != nil || t != json.Delim('{') {
		return errors.Join(errors.New("it is no JSON object"), err)
	}
	for d.More() {
		name, err := d.Token()
		if err != nil {
			return err
		}
		value := read[fmt.Sprint(name)]
		if value == nil {
			value = func(d *json.Decoder) error { return d.Decode(new(json.RawMessage)) }
		}
		switch err := value(d); {
		case errors.Is(err, errEnough):
			return nil
		case err != nil && !errors.Is(err, errNull):
			return err
		}
	}
	return nil
}

// eachElement reads a JSON list, and calls read with each element until it returns an error.
func eachElement(d *json.Decoder, read func(i int, text json.RawMessage) error) error {
	switch t, err := d.Token(); {
	case err == nil && t == nil:
		return errNull
	case err != nil || t != json.Delim('['):
		return errors.Join(errors.New("it is no list"), err)
	}
	for i := 0; d.More(); i++ {
		var text json.RawMessage
		if err := d.Decode(&text); err != nil {
			return err
		}
		if err := read(i, text); err != nil {
			return err
		}
	}
	_, err := d.Token()
	return err
}

// MaxManifest is how many bytes of a manifest or of an answer are read: entries of a hundred
// thousand skills have less.
const MaxManifest = 64 << 20

// decode reads one JSON value that others have written, and says in their words what is wrong.
func decode(data []byte, v any) error {
	err := json.Unmarshal(data, v)
	if wrong, ok := errors.AsType[*json.UnmarshalTypeError](err); ok {
		return fmt.Errorf("%s is a %s", cmp.Or(wrong.Field, "it"), wrong.Value)
	}
	return err
}

// shown returns a text of others in quotes, cut where it is long.
func shown(s string) string {
	const most = 120
	if len(s) > most {
		s = strings.ToValidUTF8(s[:most], "") + "…"
	}
	return fmt.Sprintf("%q", s)
}
