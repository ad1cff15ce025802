package registry

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"math"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/repertoire-skills/repertoire/internal/ard"
	"github.com/repertoire-skills/repertoire/search"
	"github.com/repertoire-skills/repertoire/skill"
	"github.com/repertoire-skills/repertoire/usage"
)

// maxFound is how many skills a search ranks for all of its pages.
const maxFound = 200

// hits returns the skills that fit a text, best first. The filter counts before the best are
// chosen.
func (x *Registry) hits(ctx context.Context, v *visit, q *ard.Query) ([]search.Hit, error) {
	if err := check(q.Filter); err != nil {
		return nil, err
	}
	ask := search.Query{Text: q.Text, Limit: maxFound, Agent: v.Agent, Fitting: true, Least: search.WorthReading, Person: true}
	rest := make(ard.Filter)
	some := v.entryOf(&search.Entry{Meta: skill.Meta{Name: "x"}})
	for field, wanted := range q.Filter {
		switch {
		case field == "tags":
			ask.Within = append(ask.Within, search.Rules{Tags: wanted})
		case !slices.Contains(sameForAll[:], field):
			rest[field] = wanted
		case !matches(&some, ard.Filter{field: wanted}):
			return nil, nil
		}
	}
	if len(rest) > 0 {
		names, err := x.names(ctx, v, rest)
		if err != nil || len(names) == 0 {
			return nil, err
		}
		ask.Within = append(ask.Within, search.Rules{Names: names})
	}
	a, err := x.catalog.Search(ctx, ask)
	v.Event.Kind, v.Event.Prompt = usage.Searched, q.Text
	return slices.DeleteFunc(a.Hits, func(h search.Hit) bool { return !installable(&h.Entry) }), err
}

// names returns the names of the skills that a filter lets through. They need no escape as patterns:
// installable names have none of the special characters.
func (x *Registry) names(ctx context.Context, v *visit, f ard.Filter) (names []string, err error) {
	list, err := x.entries(ctx, v)
	for i := range list {
		if e := v.entryOf(&list[i]); matches(&e, f) {
			names = append(names, e.DisplayName)
		}
	}
	return names, err
}

// A page is what a token of a page says: where the page begins, in the answer to which question.
type page struct {
	start int
	of    [8]byte
}

// token returns the text of a page.
func (p page) token() string {
	return base64.RawURLEncoding.EncodeToString(binary.BigEndian.AppendUint32(p.of[:], uint32(p.start)))
}

// pageOf reads a token; "" is the first page. The question must be the same for all pages.
func pageOf(token string, question any) (page, error) {
	text, err := json.Marshal(question)
	if err != nil {
		return page{}, err
	}
	sum := sha256.Sum256(text)
	p := page{of: [8]byte(sum[:8])}
	if token == "" {
		return p, nil
	}
	data, err := base64.RawURLEncoding.DecodeString(token)
	if err != nil || len(data) != 12 || [8]byte(data[:8]) != p.of {
		return p, invalid("pageToken is none of this question: ask for the first page, and change nothing but the token for the next")
	}
	p.start = int(binary.BigEndian.Uint32(data[8:]))
	return p, nil
}

// A fit is a skill with how likely it is wanted.
type fit struct {
	entry       ard.Entry
	probability float64
}

// found returns up to n skills from a place in the hits on, and the place behind them; 0 if there
// are no more. It leaves out skills that cannot be packed.
func (x *Registry) found(ctx context.Context, v *visit, hits []search.Hit, start, n int) (list []fit, next int, err error) {
	for i := min(start, len(hits)); i < len(hits); i++ {
		if len(list) == n {
			return list, i, nil
		}
		e, err := x.whole(ctx, v, &hits[i].Entry)
		if err != nil && (ctx.Err() != nil || !isLeft(err)) {
			return nil, 0, err
		}
		if err == nil {
			list = append(list, fit{e, hits[i].Probability})
			v.Event.Skills = append(v.Event.Skills, usage.Named(hits[i].ID)...)
		}
	}
	return list, 0, nil
}

// search serves the skills that fit a question.
func (x *Registry) search(r *http.Request, v *visit) (any, error) {
	req, err := ard.ParseSearchRequest(v.body)
	if err != nil {
		return nil, err
	}
	p, err := pageOf(req.PageToken, req.Query)
	if err != nil {
		return nil, err
	}
	hits, err := x.hits(r.Context(), v, &req.Query)
	if err != nil {
		return nil, err
	}
	list, next, err := x.found(r.Context(), v, hits, p.start, req.PageSize)
	if err != nil {
		return nil, err
	}
	out := ard.SearchResponse{Results: make([]ard.Result, len(list))}
	for i, f := range list {
		out.Results[i] = ard.Result{Entry: f.entry, Score: int(math.Round(100 * f.probability)), Source: v.Base}
	}
	if next > 0 {
		p.start = next
		out.PageToken = p.token()
	}
	return out, nil
}

// explore serves how many skills there are of each kind.
func (x *Registry) explore(r *http.Request, v *visit) (any, error) {
	req, err := ard.ParseExploreRequest(v.body)
	if err != nil {
		return nil, err
	}
	var list []search.Entry
	if strings.TrimSpace(req.Query.Text) == "" {
		if err := check(req.Query.Filter); err != nil {
			return nil, err
		}
		list, err = x.entries(r.Context(), v)
	} else {
		var hits []search.Hit
		hits, err = x.hits(r.Context(), v, &req.Query)
		for i := range hits {
			list = append(list, hits[i].Entry)
		}
	}
	if err != nil {
		return nil, err
	}
	counts := make([]map[string]int, len(req.ResultType.Facets))
	for i, f := range req.ResultType.Facets {
		if err := check(ard.Filter{f.Field: nil}); err != nil {
			return nil, err
		}
		counts[i] = make(map[string]int)
	}
	for i := range list {
		e := v.entryOf(&list[i])
		if !matches(&e, req.Query.Filter) {
			continue
		}
		for n, f := range req.ResultType.Facets {
			has, _ := values(&e, f.Field)
			for _, value := range has {
				counts[n][value]++
			}
		}
	}
	out := ard.ExploreResponse{ResultType: "facets", Facets: make(map[string]ard.Counts)}
	for n, f := range req.ResultType.Facets {
		out.Facets[f.Field] = buckets(counts[n], f)
	}
	return out, nil
}

// buckets orders counts.
func buckets(counts map[string]int, f ard.Facet) ard.Counts {
	out := ard.Counts{Buckets: []ard.Bucket{}}
	for value, n := range counts {
		if n >= f.MinCount {
			out.Buckets = append(out.Buckets, ard.Bucket{Value: value, Count: n})
		}
	}
	slices.SortFunc(out.Buckets, func(a, b ard.Bucket) int {
		return cmp.Or(cmp.Compare(b.Count, a.Count), strings.Compare(a.Value, b.Value))
	})
	for _, b := range out.Buckets[min(f.Limit, len(out.Buckets)):] {
		out.OtherCount += b.Count
	}
	out.Buckets = out.Buckets[:min(f.Limit, len(out.Buckets))]
	return out
}

// list serves all skills by name, page by page.
func (x *Registry) list(r *http.Request, v *visit) (any, error) {
	q := r.URL.Query()
	size, err := number(q, "pageSize", ard.ListPage, ard.MaxPage)
	if err != nil {
		return nil, err
	}
	f, err := parseFilter(q.Get("filter"))
	if err != nil {
		return nil, err
	}
	order := q.Get("orderBy")
	if !slices.Contains([]string{"", "displayName", "displayName ASC", "displayName DESC"}, order) {
		return nil, invalid("orderBy is %q; there are displayName and displayName DESC", order)
	}
	p, err := pageOf(q.Get("pageToken"), []string{q.Get("filter"), order})
	if err != nil {
		return nil, err
	}
	all, err := x.entries(r.Context(), v)
	if err != nil {
		return nil, err
	}
	list := slices.DeleteFunc(all, func(s search.Entry) bool {
		e := v.entryOf(&s)
		return !matches(&e, f)
	})
	if strings.HasSuffix(order, " DESC") {
		slices.Reverse(list)
	}
	from := min(p.start, len(list))
	to := min(from+size, len(list))
	out := ard.ListResponse{Items: make([]ard.Entry, to-from), Total: len(list)}
	for i := range out.Items {
		s := &list[from+i]
		if out.Items[i], err = x.whole(r.Context(), v, s); isLeft(err) { // it counts in the total
			out.Items[i], err = v.entryOf(s), nil
		}
		if err != nil {
			return nil, err
		}
	}
	if to < len(list) {
		p.start = to
		out.PageToken = p.token()
	}
	return out, nil
}

// number returns a number of a question; otherwise is its value if it is not there.
func number(q url.Values, name string, otherwise, most int) (int, error) {
	text := q.Get(name)
	if text == "" {
		return otherwise, nil
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < 1 || n > most {
		return 0, invalid("%s is %q; it may be 1 to %d", name, text, most)
	}
	return n, nil
}

// maxFilter bounds the filter of a list, in bytes.
const maxFilter = 2048

// parseFilter reads the filter of a list: FIELD = 'VALUE,VALUE' AND ….
func parseFilter(text string) (ard.Filter, error) {
	if len(text) > maxFilter {
		return nil, invalid("filter has %d bytes; it may have %d", len(text), maxFilter)
	}
	f := make(ard.Filter)
	for text = strings.TrimSpace(text); text != ""; {
		field, rest, ok := strings.Cut(text, "=")
		rest = strings.TrimSpace(rest)
		if !ok || rest == "" {
			return nil, badFilter()
		}
		var value string
		if quote := rest[:1]; quote == "'" || quote == `"` {
			if value, rest, ok = strings.Cut(rest[1:], quote); !ok {
				return nil, badFilter()
			}
		} else {
			value, rest, _ = strings.Cut(rest, " ")
		}
		if field = strings.TrimSpace(field); field == "publisherId" {
			field = "publisher"
		}
		for _, one := range strings.Split(value, ",") {
			f[field] = append(f[field], strings.TrimSpace(one))
		}
		if rest = strings.TrimSpace(rest); rest == "" {
			break
		}
		and, after, ok := strings.Cut(rest, " ")
		if !ok || !strings.EqualFold(and, "AND") {
			return nil, badFilter()
		}
		text = strings.TrimSpace(after)
	}
	return f, check(f)
}

func badFilter() error {
	return invalid("filter is not of the form FIELD = 'VALUE,VALUE' AND FIELD = 'VALUE'")
}

// maxQuestion bounds a question in a URL, in bytes, and mostFound how many skills find returns.
const (
	maxQuestion = 4096
	mostFound   = 100
)

// A foundSkill is a skill as "npx skills find" reads it. Clients print "npx skills add
// SOURCE@NAME", and sort by installs.
type foundSkill struct {
	ID       string `json:"id"`
	Name     string `json:"name"`
	Source   string `json:"source"`
	Installs int    `json:"installs"` // nobody counts them
}

type foundSkills struct {
	Query  string       `json:"query"`
	Skills []foundSkill `json:"skills"`
	Count  int          `json:"count"`
}

// find serves the skills that fit a question, as skills.sh does.
func (x *Registry) find(r *http.Request, v *visit) (any, error) {
	q := r.URL.Query()
	limit, err := number(q, "limit", 10, mostFound)
	if err != nil {
		return nil, err
	}
	text := strings.TrimSpace(q.Get("q"))
	switch {
	case text == "":
		return nil, invalid("q is missing: it says what is looked for")
	case len(text) > maxQuestion:
		return nil, invalid("q has %d bytes; it may have %d", len(text), maxQuestion)
	}
	out := foundSkills{Query: text, Skills: []foundSkill{}}
	if q.Get("owner") != "" { // of a repository on GitHub: no skill of this server is from one
		return out, nil
	}
	hits, err := x.hits(r.Context(), v, &ard.Query{Text: text})
	if err != nil {
		return nil, err
	}
	list, _, err := x.found(r.Context(), v, hits, 0, limit)
	for _, f := range list {
		name := f.entry.DisplayName
		out.Skills = append(out.Skills, foundSkill{ID: name, Name: name, Source: v.Base + skillPath + name})
	}
	out.Count = len(out.Skills)
	return out, err
}
