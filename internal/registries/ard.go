package registries

import (
	"cmp"
	"encoding/json"
	"errors"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/repertoire-skills/repertoire/internal/ard"
)

// maxQuestion is how much of a text a registry is asked, in characters.
const maxQuestion = 2000

// searchARD asks a registry of ARD. It asks for referrals, so that this program and not the
// registry decides whom else to ask; one that was referred to is to name no more.
func searchARD(c *call, text string, limit int) (found, error) {
	q := ard.SearchRequest{
		Query:      ard.Query{Text: queryText(text, maxQuestion), Filter: ard.Filter{"type": {ard.SkillZip, ard.SkillGzip, ard.SkillMarkdown}}},
		Federation: "referrals", PageSize: min(limit, ard.MaxPage),
	}
	if c.referrer != "" || c.Alone {
		q.Federation = "none"
	}
	body, err := json.Marshal(q)
	if err != nil {
		return found{}, err
	}
	data, err := c.ask(http.MethodPost, ard.SearchPath, body)
	if err != nil {
		return found{}, err
	}
	r, left, err := ard.ParseSearchResponse(data)
	if err != nil {
		return found{}, &notOneError{what: "it answers " + kindOf(data)}
	}
	f := found{omitted: len(left)}
	for i := range r.Results {
		if e := &r.Results[i].Entry; e.Type == "" || e.IsSkill() {
			f.offers = append(f.offers, c.offerOf(e))
		}
	}
	for _, e := range r.Referrals {
		other := Registry{URL: e.URL, Form: formARD}
		if e.Type == ard.Registry && c.mayFetch(e.URL) && other.Check() == nil {
			f.referrals = append(f.referrals, other)
		}
	}
	return f, nil
}

// offerOf returns an entry as an offer. Its name is the last part of the identifier.
func (c *call) offerOf(e *ard.Entry) Offer {
	publisher, _ := ard.Publisher(e.Identifier)
	o := Offer{
		Name: e.Identifier[strings.LastIndex(e.Identifier, ":")+1:], Description: cmp.Or(e.Description, e.DisplayName), Version: e.Version,
		Updated: date(e.UpdatedAt), Origin: publisher, Digest: e.Meta(ard.SkillDigest), InvokedBy: e.Meta(ard.InvokedBy),
	}
	if c.mayFetch(e.URL) {
		o.Source = c.sourceOf(e.Identifier)
		o.file = file{e.URL, e.Meta(ard.Digest), strings.HasPrefix(e.Type, "text/")}
	}
	return o
}

// date returns the day of a time as RFC 3339 has it.
func date(text string) string {
	day, _, _ := strings.Cut(text, "T")
	return day
}

// findARD finds a skill by its identifier, or by the last part of that.
func findARD(c *call, name string) ([]Offer, error) {
	if _, ok := ard.Publisher(name); ok {
		var e ard.Entry
		err := c.get(ard.AgentsPath+"/"+url.PathEscape(name), nil, &e)
		if err == nil && e.Identifier == name && e.Check() == nil && e.IsSkill() {
			return []Offer{c.offerOf(&e)}, nil
		}
		if _, no := errors.AsType[*notOneError](err); err != nil && !no {
			return nil, err
		}
	}
	last := name[strings.LastIndex(name, ":")+1:]
	f, err := searchARD(c, last, maxOffers)
	if err != nil {
		return nil, err
	}
	list := slices.DeleteFunc(f.offers, func(o Offer) bool {
		_, identifier, _ := SplitSource(o.Source)
		return identifier != name && o.Name != name
	})
	if len(list) > 1 { // then only identifiers tell them apart
		for i := range list {
			if _, identifier, ok := SplitSource(list[i].Source); ok {
				list[i].Name = identifier
			}
		}
	}
	return list, nil
}
