// Package discover finds skills beyond this machine: it asks registries, and ranks what they have
// together with the skills that are here, all of them by name and description.
//
// The one rule: what a registry says is one more text to rank, trusted less than what is here. It
// is shown with where it is from, and becomes a skill only if somebody installs it.
package discover

import (
	"cmp"
	"context"
	"os"
	"slices"
	"strings"

	"github.com/repertoire-skills/repertoire"
	"github.com/repertoire-skills/repertoire/internal/config"
	"github.com/repertoire-skills/repertoire/internal/figures"
	"github.com/repertoire-skills/repertoire/internal/origins"
	"github.com/repertoire-skills/repertoire/internal/registries"
	"github.com/repertoire-skills/repertoire/internal/words"
	"github.com/repertoire-skills/repertoire/skill"
)

// A Finder finds skills here and in registries.
type Finder struct {
	Catalog *repertoire.Catalog
	Client  *registries.Client
	Origins *origins.Origins // where the skills that are here were installed from; nil means that nobody knows
}

// New returns the finder of a catalog and of the registries of the settings, of which there must
// be one.
func New(c *repertoire.Catalog, s *config.Settings) (*Finder, error) {
	if len(s.Registries) == 0 {
		return nil, registries.ErrNone
	}
	f := &Finder{Catalog: c, Client: s.RegistryClient()}
	if dir, err := s.InstalledDir(); err == nil {
		home, _ := os.UserHomeDir()            // without one others have no lock
		f.Origins, _ = origins.Read(dir, home) // "skills doctor" says what is wrong with a lock
	}
	return f, nil
}

// A Result is a skill that fits: one of a registry, or one that is here.
type Result struct {
	registries.Offer         // of a registry; of a skill that is only here just name and description
	Here             string  `json:"here,omitempty"`     // ID of this very skill in the catalog; "" means that it is not here
	Namesake         string  `json:"namesake,omitempty"` // ID of another skill of its name that is here
	Probability      float64 `json:"probability"`        // that the text wants it
	Relevant         bool    `json:"relevant"`           // worth offering
	Install          string  `json:"install,omitempty"`  // the arguments of this program that install it
}

// An Answer is what fits a text, best first.
type Answer struct {
	Query      string             `json:"query"`
	Results    []Result           `json:"results"`
	Unfit      int                `json:"unfit"` // how many more were found, but hardly fit
	Registries []registries.Asked `json:"registries"`
}

// mostHere is how many skills that are here take part in the ranking: those that fit best by their
// full text, and others as its background.
const mostHere = 300

// Search asks the registries and ranks what they have with the skills that the agent of the query
// sees here. Only an error of the catalog is one: a registry that fails is told in the answer.
func (f *Finder) Search(ctx context.Context, q repertoire.Query) (Answer, error) {
	q.Limit = cmp.Or(q.Limit, 10)
	asked := make(chan registries.Found, 1)
	go func() { asked <- f.Client.Search(ctx, q.Text, max(q.Limit, 20)) }()
	here, err := f.here(ctx, q)
	found := <-asked
	if err != nil {
		return Answer{}, err
	}
	a := Answer{Query: q.Text, Results: []Result{}, Registries: found.Asked}
	if !q.Person {
		found.Offers = slices.DeleteFunc(found.Offers, func(o registries.Offer) bool { return o.InvokedBy == skill.InvokedByUser })
	}
	candidates := f.candidates(here, found.Offers)
	order, unfit, err := ranked(ctx, candidates, q)
	if err != nil {
		return a, err
	}
	a.Unfit = unfit
	var offers []*registries.Offer
	for _, hit := range order {
		c := candidates[hit.index]
		c.Probability, c.Relevant = figures.Rounded(hit.probability), hit.relevant
		a.Results = append(a.Results, c.Result)
	}
	for i := range a.Results {
		if a.Results[i].Registry != "" {
			offers = append(offers, &a.Results[i].Offer)
		}
	}
	f.Client.Complete(ctx, offers)
	return a, ctx.Err()
}

// here returns the skills that are here and take part.
func (f *Finder) here(ctx context.Context, q repertoire.Query) ([]repertoire.Entry, error) {
	most := q
	most.Limit, most.Fitting, most.Relevant = 50, false, false
	answer, err := f.Catalog.Search(ctx, most)
	if err != nil {
		return nil, err
	}
	all, err := f.Catalog.List(ctx, q.Agent, &repertoire.ListOptions{Person: q.Person})
	if err != nil {
		return nil, err
	}
	var list []repertoire.Entry
	known := make(map[string]bool)
	add := func(e repertoire.Entry) {
		if status, _ := e.Status(); !known[e.ID] && (status == "offered" || status == "reserved") && len(list) < mostHere {
			known[e.ID] = true
			list = append(list, e)
		}
	}
	for _, h := range answer.Hits {
		add(h.Entry)
	}
	for _, e := range all {
		add(e)
	}
	return list, nil
}

// A candidate is a result that is ranked.
type candidate struct {
	Result
	text string // by which it is ranked
}

// candidates returns the skills that are here, and those of registries, each skill once.
func (f *Finder) candidates(here []repertoire.Entry, offers []registries.Offer) []candidate {
	var list []candidate
	byDigest, byName, bySource := make(map[string]int), make(map[string]int), make(map[string]int)
	for i, e := range here {
		list = append(list, candidate{Result{Offer: registries.Offer{Name: e.Name, Description: e.Description, Version: e.Version, InvokedBy: e.InvokedBy}, Here: e.ID}, e.Description})
		byDigest[e.Digest], byName[words.NameKey(e.Name)] = i, i
		if f.Origins != nil {
			if origin, ok := f.Origins.Of(e.Location); ok {
				bySource[sourceKey(origin.From, e.Name)] = i
			}
		}
	}
	for _, o := range offers {
		if i, ok := byDigest[o.Digest]; ok && o.Digest != "" {
			list[i].merge(o)
			continue
		}
		if i, ok := bySource[sourceKey(o.Source, cmp.Or(o.Skill, o.Name))]; ok {
			list[i].merge(o)
			continue
		}
		c := candidate{Result{Offer: o, Install: o.Command()}, cmp.Or(o.Description, strings.ReplaceAll(o.Name, "-", " "))}
		if i, ok := byName[words.NameKey(o.Name)]; ok {
			c.Namesake = list[i].Here
		}
		list = append(list, c)
	}
	return list
}

// sourceKey returns what the same skill of the same source has in common. A source of a registry
// has the name of the skill in it, which may have another one here.
func sourceKey(source, name string) string {
	if _, _, ok := registries.SplitSource(source); ok {
		return source
	}
	return strings.TrimSuffix(strings.TrimPrefix(source, "https://github.com/"), ".git") + " " + name
}

// merge adds what a registry says of a skill that is here. What it is and says of itself stays.
func (c *candidate) merge(o registries.Offer) {
	if c.Registry != "" {
		c.Also = append(c.Also, o.Registry)
		return
	}
	o.Name, o.Description = c.Name, c.Description
	c.Offer = o
}
