package remote

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"

	"github.com/repertoire-skills/repertoire/install/unpack"
	"github.com/repertoire-skills/repertoire/internal/endpoint"
	"github.com/repertoire-skills/repertoire/internal/regular"
	"github.com/repertoire-skills/repertoire/internal/tidy"
	"github.com/repertoire-skills/repertoire/skill"
)

// Where sites have their indexes. The older form has no digests.
const (
	indexPath    = "/.well-known/agent-skills/index.json"
	oldIndexPath = "/.well-known/skills/index.json"
	schema       = "https://schemas.agentskills.io/discovery/0.2.0/schema.json"

	maxIndex  = 8 << 20 // bytes
	maxListed = 10_000  // skills
)

// A Site is what a server lists at /.well-known/agent-skills/index.json, version 0.2.0 of
// the discovery format.
type Site struct {
	Index    string // URL of the index, after redirects
	Skills   []Listed
	Problems []Problem
	limits   Limits
	written  int64 // bytes of the skills that were fetched
}

// A Problem says why an entry is not among the skills of a site.
type Problem struct{ Name, Reason string }

func (p Problem) String() string { return p.Name + ": " + p.Reason }

// A Listed is a skill of a Site.
type Listed struct {
	Name        string
	Description string
	Archive     bool   // false means that the skill is a SKILL.md alone
	URL         string // absolute
	Digest      string // "sha256:" and 64 hexadecimal digits, of the file at URL
}

// List returns the skills of a site. The address is the URL of its index, or of the folder
// with .well-known. An entry without a digest, or with a name that is no plain name, is not
// among the skills but among the problems.
func List(ctx context.Context, address string, l *Limits) (*Site, error) {
	s := &Site{limits: l.filled()}
	data, err := s.fetchIndex(ctx, address)
	if err != nil {
		return nil, err
	}
	if err := s.parse(data); err != nil {
		return nil, fmt.Errorf("reading %s: %w", endpoint.Shown(s.Index), err)
	}
	return s, nil
}

func (s *Site) fetchIndex(ctx context.Context, address string) ([]byte, error) {
	u, err := parse(address)
	if err != nil {
		return nil, err
	}
	s.limits.Named = u.Host
	if strings.HasSuffix(u.Path, ".json") {
		return s.read(ctx, u)
	}
	base := *u
	base.RawPath, base.RawQuery, base.Fragment = "", "", ""
	top := strings.TrimSuffix(u.Path, "/")
	base.Path = top + indexPath
	data, err := s.read(ctx, &base)
	if status, ok := errors.AsType[*StatusError](err); !ok || status.Code != http.StatusNotFound {
		return data, err
	}
	base.Path = top + oldIndexPath
	if _, oldErr := s.read(ctx, &base); oldErr == nil {
		return nil, fmt.Errorf("%s has an index of version 0.1 only, which has no digests, so nobody could tell what was changed on the way; install from its repository", endpoint.Shown(u.String()))
	}
	return nil, fmt.Errorf("%w; it has no index of skills", err)
}

// read reads an index.
func (s *Site) read(ctx context.Context, u *url.URL) ([]byte, error) {
	l := s.limits
	l.Bytes = maxIndex
	r, err := open(ctx, u.String(), l)
	if err != nil {
		return nil, err
	}
	defer r.close()
	s.Index = r.url.String()
	return io.ReadAll(r)
}

func (s *Site) parse(data []byte) error {
	var index struct {
		Schema string `json:"$schema"`
		Skills []struct {
			Name, Type, Description, URL, Digest string
		} `json:"skills"`
	}
	if err := json.Unmarshal(data, &index); err != nil {
		return fmt.Errorf("it is no index of skills: %w", err)
	}
	switch {
	case index.Schema != schema && index.Schema != "":
		return fmt.Errorf("its form %q is unknown; update this program", tidy.Visible(tidy.Shorten(index.Schema, 200)))
	case index.Skills == nil:
		return errors.New("it lists no skills")
	case len(index.Skills) > maxListed:
		return fmt.Errorf("it lists %d skills; the limit is %d", len(index.Skills), maxListed)
	}
	base, err := url.Parse(s.Index)
	if err != nil {
		return err
	}
	seen := make(map[string]bool)
	for _, e := range index.Skills {
		one := Listed{Name: e.Name, Description: e.Description, Archive: e.Type == "archive", Digest: e.Digest}
		problem := ""
		at, err := base.Parse(e.URL)
		switch {
		case !skill.IsPortableName(e.Name):
			problem = "its name is not made of a-z, 0-9 and single hyphens"
		case seen[e.Name]:
			problem = "another skill has the same name"
		case e.Type != "archive" && e.Type != "skill-md":
			problem = fmt.Sprintf("its type %q is unknown", e.Type)
		case e.Digest == "":
			problem = "it has no digest"
		case !isDigest(e.Digest):
			problem = fmt.Sprintf("its digest %q is not sha256: and 64 hexadecimal digits", e.Digest)
		case err != nil || e.URL == "":
			problem = "its URL is malformed"
		case at.Scheme != base.Scheme:
			problem = "its URL has another scheme than the index"
		}
		if problem != "" {
			s.Problems = append(s.Problems, Problem{tidy.Visible(tidy.Shorten(e.Name, 100)), tidy.Visible(tidy.Shorten(problem, 200))})
			continue
		}
		seen[e.Name] = true
		one.URL = at.String()
		s.Skills = append(s.Skills, one)
	}
	return nil
}

func isDigest(s string) bool {
	hex, ok := strings.CutPrefix(s, "sha256:")
	return ok && len(hex) == 64 && strings.Trim(hex, "0123456789abcdef") == ""
}

// Fetch downloads a skill of the site, verifies its digest, and writes it into the folder to, which
// it makes if it does not exist and which must be empty. SKILL.md is at its top. After an
// error, the folder is empty. All skills of a site together have the limits of one tree.
func (s *Site) Fetch(ctx context.Context, one Listed, to string) error {
	if err := s.fetch(ctx, one, to); err != nil {
		return fmt.Errorf("skill %s: %w", one.Name, err)
	}
	return nil
}

func (s *Site) fetch(ctx context.Context, one Listed, to string) error {
	if !isDigest(one.Digest) {
		return errors.New("it has no digest")
	}
	stage, err := os.MkdirTemp(filepath.Dir(to), ".fetch-*")
	if err != nil {
		return err
	}
	defer os.RemoveAll(stage)
	file := filepath.Join(stage, skill.FileNames[0])
	if err := Download(ctx, one.URL, file, &s.limits); err != nil {
		return err
	}
	if err := (File{URL: one.URL, Digest: one.Digest}).Verify(file); err != nil {
		return err
	}
	if !one.Archive {
		err = unpack.Folder(ctx, stage, to, s.limits.Unpack)
	} else {
		err = unpack.Archive(ctx, file, to, s.limits.Unpack)
	}
	if err != nil {
		return err
	}
	if err := cmp.Or(checkName(to, one.Name), s.count(to)); err != nil {
		return errors.Join(err, os.RemoveAll(to), os.Mkdir(to, 0o700))
	}
	return nil
}

// count adds up what was fetched, and refuses the skill with which it is too much.
func (s *Site) count(dir string) error {
	sum, err := regular.Size(dir)
	if most := s.limits.Unpack.MostBytes(); err == nil && s.written+sum > most {
		err = fmt.Errorf("with it the skills of the site have more than %d bytes", most)
	}
	if err == nil {
		s.written += sum
	}
	return err
}

// checkName checks that a folder is one skill with this name.
func checkName(dir, name string) error {
	for _, base := range skill.FileNames {
		f, err := os.Open(filepath.Join(dir, base))
		if err != nil {
			continue
		}
		defer f.Close()
		got, err := skill.Parse(f, name+"/"+base)
		switch {
		case err != nil:
			return err
		case got.Name != name:
			return fmt.Errorf("its %s says that it is %q", base, got.Name)
		}
		return nil
	}
	return errors.New("its archive has no SKILL.md at the top")
}

// Digest returns "sha256:" and the hash of a file in hexadecimal digits.
func Digest(file string) (string, error) {
	f, err := os.Open(file)
	if err != nil {
		return "", err
	}
	defer f.Close()
	h := sha256.New()
	if _, err := io.Copy(h, f); err != nil {
		return "", err
	}
	return fmt.Sprintf("sha256:%x", h.Sum(nil)), nil
}
