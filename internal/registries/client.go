package registries

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/repertoire-skills/repertoire/install/remote"
	"github.com/repertoire-skills/repertoire/internal/endpoint"
	"github.com/repertoire-skills/repertoire/internal/words"
)

// Options are what a Client may be told. nil means all zero values.
type Options struct {
	Cache    string           // folder for answers; "" means that none is kept
	Deadline time.Duration    // of a search; 0 means 4 s
	Now      func() time.Time // nil means time.Now
}

// A Client asks registries. Several goroutines may use it.
type Client struct {
	registries []Registry
	deadline   time.Duration
	now        func() time.Time
	http       http.Client
	abroad     http.Client // for registries to which others refer
	cache      cache
}

// New returns a client of registries, which Registry.Check has checked.
func New(list []Registry, o *Options) *Client {
	opts := *cmp.Or(o, new(Options))
	if opts.Now == nil {
		opts.Now = time.Now
	}
	t := http.DefaultTransport.(*http.Transport).Clone()
	t.MaxResponseHeaderBytes = 64 << 10
	return &Client{registries: list, deadline: cmp.Or(opts.Deadline, 4*time.Second), now: opts.Now,
		http: endpoint.Client(&http.Client{Transport: t}), abroad: endpoint.Client(&http.Client{Transport: endpoint.Abroad(t, "")}), cache: cache{opts.Cache, opts.Now}}
}

// An Asked says what became of the question to one registry.
type Asked struct {
	Name    string    `json:"name"`
	URL     string    `json:"url"`
	Via     string    `json:"via,omitempty"`   // the registry that has referred to it
	Offers  int       `json:"offers"`          // how many skills it has named
	Omitted int       `json:"omitted"`         // how many of its entries were malformed
	AsOf    time.Time `json:"as_of,omitzero"`  // it could not be asked, and this is its answer of then
	Error   string    `json:"error,omitempty"` // why it has no part in the answer; words of the registry may stand in it
	Brief   string    `json:"-"`               // Error without these words, for models
}

// found is what one registry has answered.
type found struct {
	offers    []Offer
	omitted   int
	referrals []Registry
}

// Found is what registries have for a text.
type Found struct {
	Offers []Offer // each skill once; those of a registry in its order
	Asked  []Asked // the configured ones in their order, then those that they referred to
}

// maxReferrals is how many other registries are asked because one refers to them.
const maxReferrals = 3

// Search asks all registries at once, and once those to which they refer. What has not been
// answered by the deadline has no part in the answer.
func (c *Client) Search(ctx context.Context, text string, limit int) Found {
	ctx, cancel := context.WithTimeout(ctx, c.deadline)
	defer cancel()
	first := c.searchAll(ctx, c.registries, text, limit, false)
	known := make(map[string]bool)
	for _, r := range c.registries {
		known[r.URL] = true
	}
	var others []Registry
	for i, a := range first {
		if c.registries[i].Alone {
			continue
		}
		for _, r := range a.referrals[:min(len(a.referrals), maxReferrals)] {
			if r.referrer = c.registries[i].Name; !known[r.URL] {
				known[r.URL], others = true, append(others, r)
			}
		}
	}
	var all Found
	merged := make(map[string]int)
	for _, a := range append(first, c.searchAll(ctx, others, text, limit, false)...) {
		all.Asked = append(all.Asked, a.Asked)
		for _, o := range a.offers {
			key := o.key()
			if i, ok := merged[key]; ok && key != "" {
				all.Offers[i].join(&o)
				continue
			}
			merged[key] = len(all.Offers)
			all.Offers = append(all.Offers, o)
		}
	}
	return all
}

// Check asks all registries at once, also if an answer is kept, and returns the errors by name.
func (c *Client) Check(ctx context.Context) map[string]error {
	failed := make(map[string]error)
	for _, a := range c.searchAll(ctx, c.registries, "skills", 1, true) {
		if a.Error != "" {
			failed[a.Name] = errors.New(a.Error)
		}
	}
	return failed
}

// join adds what another registry says of the same skill.
func (o *Offer) join(other *Offer) {
	if other.Registry != o.Registry && !slices.Contains(o.Also, other.Registry) {
		o.Also = append(o.Also, other.Registry)
	}
	o.Description, o.Version = cmp.Or(o.Description, other.Description), cmp.Or(o.Version, other.Version)
	o.Verdict, o.Installs = cmp.Or(o.Verdict, other.Verdict), max(o.Installs, other.Installs)
	if o.Source == "" {
		o.Source, o.Skill, o.file = other.Source, other.Skill, other.file
	}
}

// An answer is what one registry has answered, and what became of the question.
type answer struct {
	Asked
	found
}

// searchAll asks registries at once.
func (c *Client) searchAll(ctx context.Context, list []Registry, text string, limit int, anew bool) []answer {
	answers := make([]answer, len(list))
	var all sync.WaitGroup
	for i := range list {
		all.Go(func() { answers[i] = c.search(ctx, &list[i], text, limit, anew) })
	}
	all.Wait()
	return answers
}

func (c *Client) search(ctx context.Context, r *Registry, text string, limit int, anew bool) answer {
	a := answer{Asked: Asked{Name: r.Name, URL: r.URL, Via: r.referrer}}
	one := call{ctx: ctx, client: c, Registry: r, anew: anew}
	got, err := protocols()[r.Form].search(&one, text, min(limit, maxOffers))
	if err != nil {
		a.Error, a.Brief = err.Error(), briefly(err)
		return a
	}
	one.keep()
	a.referrals, a.AsOf, a.Omitted = got.referrals, one.asOf, got.omitted
	for _, o := range got.offers {
		if o.Registry = r.Name; !o.clean() || len(a.offers) == maxOffers {
			a.Omitted++
			continue
		}
		a.offers = append(a.offers, o)
	}
	a.Offers = len(a.offers)
	return a
}

// Complete adds to offers what a search does not say, such as the verdict of a scan, as far as the
// registries answer within the deadline.
func (c *Client) Complete(ctx context.Context, offers []*Offer) {
	ctx, cancel := context.WithTimeout(ctx, c.deadline/2)
	defer cancel()
	var all sync.WaitGroup
	for _, o := range offers {
		i := slices.IndexFunc(c.registries, func(r Registry) bool { return r.Name == o.Registry })
		if i < 0 || protocols()[c.registries[i].Form].complete == nil {
			continue
		}
		all.Go(func() {
			one := call{ctx: ctx, client: c, Registry: &c.registries[i]}
			protocols()[one.Form].complete(&one, o)
			one.keep()
			o.clean()
		})
	}
	all.Wait()
}

// Find returns what a registry has under a name, ready to be installed. registry is the name or
// the URL of a configured one.
func (c *Client) Find(ctx context.Context, registry, name string) (Offer, error) {
	i := slices.IndexFunc(c.registries, func(r Registry) bool {
		return r.Name == registry || r.URL == strings.TrimRight(registry, "/")
	})
	if i < 0 {
		return Offer{}, c.unknown(registry)
	}
	r := &c.registries[i]
	const longest = 20 * time.Second
	ctx, cancel := context.WithTimeout(ctx, longest)
	defer cancel()
	one := call{ctx: ctx, client: c, Registry: r, anew: true}
	list, err := protocols()[r.Form].find(&one, name)
	if err != nil {
		return Offer{}, fmt.Errorf("registry %s: %w", r.Name, err)
	}
	one.keep()
	list = slices.DeleteFunc(list, func(o Offer) bool { return !o.clean() })
	switch {
	case len(list) == 0:
		return Offer{}, fmt.Errorf("registry %s has no skill %q", r.Name, name)
	case len(list) > 1:
		var names []string
		for _, o := range list {
			names = append(names, o.Name)
		}
		return Offer{}, fmt.Errorf("registry %s has several skills %q; name one of them: %s", r.Name, name, strings.Join(names, ", "))
	}
	o := list[0]
	o.Registry = r.Name
	switch {
	case o.Verdict == malicious:
		return o, fmt.Errorf("registry %s says itself that %s is malicious", r.Name, o.Name)
	case o.Source == "":
		return o, fmt.Errorf("registry %s does not say where the files of %s are, or they lie where no registry may send anybody", r.Name, o.Name)
	}
	return o, nil
}

// malicious is the verdict with which nothing is installed.
const malicious = "malicious"

// ErrNone says that there is nobody to ask.
var ErrNone = errors.New(`no registry is configured; "skills root add --registry URL" adds one`)

func (c *Client) unknown(registry string) error {
	if len(c.registries) == 0 {
		return ErrNone
	}
	var names []string
	for _, r := range c.registries {
		names = append(names, r.Name)
	}
	return fmt.Errorf("no registry %q is configured%s", endpoint.Shown(registry), words.Suggest(registry, names))
}

// File returns the file of a source of the kind registry, as it is now. Its errors say if its
// registry is not configured any more.
func (c *Client) File(ctx context.Context, source string) (remote.File, error) {
	base, name, ok := SplitSource(source)
	if !ok {
		return remote.File{}, errors.New("this is no source of a registry")
	}
	o, err := c.Find(ctx, base, name)
	if err != nil {
		return remote.File{}, err
	}
	if o.file.url == "" {
		return remote.File{}, fmt.Errorf("registry %s has no file of %s any more", o.Registry, name)
	}
	f := remote.File{URL: o.file.url, Digest: o.file.digest, Plain: o.file.plain, Skill: o.Digest}
	for _, r := range c.registries {
		if r.Name == o.Registry {
			f.Named = r.host()
			if r.sameOrigin(f.URL) {
				f.Key, err = (&call{Registry: &r}).key()
			}
		}
	}
	return f, err
}
