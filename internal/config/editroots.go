package config

import (
	"errors"
	"fmt"
	"net/url"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/repertoire-skills/repertoire/install"
	"github.com/repertoire-skills/repertoire/internal/edit"
	"github.com/repertoire-skills/repertoire/internal/endpoint"
	"github.com/repertoire-skills/repertoire/internal/regular"
	"github.com/repertoire-skills/repertoire/internal/words"
	"github.com/repertoire-skills/repertoire/source"
)

// NewRoot returns the root that a person means by a path or a URL; git says that a URL is
// that of a repository, which otherwise shows by its form.
func NewRoot(address string, git bool) (Root, error) {
	named, err := install.ParseSource(address)
	repository := err == nil && named.Kind == install.Git
	if repository && named.Skill != "" && named.Ref == "" {
		return Root{}, errors.New("a root has all skills of its folder; leave out what follows @")
	}
	isURL := strings.Contains(address, "://")
	if info, err := os.Stat(address); repository && !isURL && (err != nil || !info.IsDir()) {
		if whole := "https://" + address; named.Page != "" || strings.HasPrefix(whole, named.Origin) { // host and path
			return Root{Git: whole}, checkGit(whole)
		} else if git && strings.HasPrefix(named.Origin, "https://") { // owner/repo
			return Root{Git: named.Origin, Ref: named.Ref, Sub: named.Sub}, nil
		}
	}
	switch {
	case git || looksLikeGit(address) || isURL && repository && named.Page != "":
		return Root{Git: address}, checkGit(address)
	case isURL:
		return Root{URL: address}, checkURL(address)
	}
	abs, err := filepath.Abs(address)
	return Root{Path: abs}, err
}

// hosts are sites on which owner/repository is a repository.
var hosts = [...]string{"github.com", "gitlab.com", "bitbucket.org", "codeberg.org"}

// looksLikeGit reports whether an address is plainly that of a repository.
func looksLikeGit(address string) bool {
	scheme, rest, ok := strings.Cut(address, "://")
	switch {
	case !ok:
		return strings.Contains(address, "@") && sshAddress().MatchString(address)
	case slices.Contains([]string{"ssh", "git", "file"}, scheme), strings.HasSuffix(rest, ".git"):
		return true
	}
	u, err := url.Parse(address)
	return err == nil && slices.Contains(hosts[:], u.Hostname()) && strings.Count(strings.Trim(u.Path, "/"), "/") == 1 && path.Ext(u.Path) == ""
}

// AddRoot adds a root after those of the file, and returns its label; done is false if the
// file has it already.
func (e *Editor) AddRoot(r Root) (label string, done bool, err error) {
	s, err := e.settings()
	if err != nil {
		return "", false, err
	}
	labels, err := s.rootLabels()
	if err != nil {
		return "", false, err
	}
	for i, old := range s.Roots {
		if sameRoot(old, r) {
			return labels[i], false, nil
		}
		if r.Label != "" && words.SameName(labels[i], r.Label) {
			return "", false, &Error{old.Place.File, old.Place.Line, fmt.Errorf("label %q is that of another root; choose another one", r.Label)}
		}
	}
	if err := e.add([]string{"roots"}, itemOf(r)); err != nil {
		return "", false, err
	}
	if s, err = e.settings(); err == nil {
		labels, err = s.rootLabels()
	}
	if err != nil {
		return "", false, err
	}
	return labels[len(labels)-1], true, nil
}

// sameRoot reports whether two roots have the same skills.
func sameRoot(a, b Root) bool {
	if a.Elsewhere() || b.Elsewhere() {
		return a.Git == b.Git && a.URL == b.URL && a.Ref == b.Ref && a.Sub == b.Sub
	}
	return regular.Real(a.Path) == regular.Real(b.Path)
}

// itemOf returns a root as it is written in the file.
func itemOf(r Root) any {
	var fields edit.Object
	add := func(key, text string) {
		if text != "" {
			fields = append(fields, edit.Member{Key: key, Value: text})
		}
	}
	if !r.Elsewhere() {
		add("path", short(r.Path))
	}
	add("git", r.Git)
	add("url", r.URL)
	add("ref", r.Ref)
	add("path", r.Sub)
	add("label", r.Label)
	add("fetch", r.Fetch)
	if r.Trusted {
		fields = append(fields, edit.Member{Key: "trusted", Value: true})
	}
	if !r.Elsewhere() && r.Label == "" {
		return short(r.Path)
	}
	return fields
}

// RemoveRoot removes the root with a label, a path or a URL, and returns it.
func (e *Editor) RemoveRoot(name string) (Root, error) {
	s, err := e.settings()
	if err != nil {
		return Root{}, err
	}
	labels, err := s.rootLabels()
	if err != nil {
		return Root{}, err
	}
	found := -1
	var known []string
	for i, r := range s.Roots {
		known = append(known, labels[i])
		abs, err := filepath.Abs(name)
		if labels[i] != name && r.Git != name && r.URL != name && (r.Elsewhere() || err != nil || regular.Real(r.Path) != regular.Real(abs)) {
			continue
		}
		if found >= 0 && labels[i] != labels[found] {
			return Root{}, fmt.Errorf("%s has several roots %q; name one by its label: %s or %s", e.File, name, labels[found], labels[i])
		}
		found = i
	}
	if found < 0 {
		return Root{}, fmt.Errorf("%s has no root %q%s", e.File, name, words.Suggest(name, known))
	}
	r := s.Roots[found]
	r.Label = labels[found]
	return r, e.removeAt([]string{"roots"}, found, r.Place.Line)
}

// rootLabels returns the labels that the roots have as sources, in their order; "" for a
// root that leads to the folder of an earlier one.
func (s *Settings) rootLabels() ([]string, error) {
	roots, err := s.rootsByPath()
	if err != nil {
		return nil, err
	}
	search, err := s.search("", roots)
	if err != nil {
		return nil, err
	}
	places, _ := source.Discover(source.Search{Roots: search.Roots, Project: search.Project, Elsewhere: search.Elsewhere, NoBundled: true}) // missing folders have labels too
	labels := make([]string, len(s.Roots))
	for i, r := range s.Roots {
		abs, err := filepath.Abs(r.Path)
		if err != nil {
			return nil, err
		}
		for _, p := range places {
			if p.Path == abs && r.Label == "" {
				labels[i] = p.Label
			} else if p.Path == abs {
				labels[i] = r.Label
			}
		}
	}
	return labels, nil
}

// A ShownRoot is a root that holds, with its origin.
type ShownRoot struct {
	Label   string `json:"label"`
	Path    string `json:"path"`
	From    string `json:"from,omitempty"` // URL; "" means that it is on this machine
	Ref     string `json:"ref,omitempty"`
	Trusted bool   `json:"trusted"`
	Missing bool   `json:"missing,omitempty"` // there is no folder, or it has not been fetched yet
	Origin  string `json:"origin"`
	Place   string `json:"place,omitempty"`
}

// ShowRoots returns the roots that hold; of those that are trusted the first wins. It shows no password.
func ShowRoots(s Settings) ([]ShownRoot, error) {
	labels, err := s.rootLabels()
	if err != nil {
		return nil, err
	}
	list := []ShownRoot{}
	for i, origin := range (&parser{settings: &s}).shownRoots() {
		r := s.Roots[i]
		info, err := os.Stat(r.Path)
		list = append(list, ShownRoot{
			Label: labels[i], Path: r.Path, From: endpoint.Shown(r.Git + r.URL), Ref: r.Ref, Trusted: r.Trusted || !r.Elsewhere(),
			Missing: err != nil || !info.IsDir(), Origin: origin.Origin, Place: origin.Place,
		})
	}
	return list, nil
}
