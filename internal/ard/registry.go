package ard

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
)

// Paths of a registry, below the base that an entry of the type Registry has as its URL.
const (
	SearchPath  = "/search"  // POST a SearchRequest, and get a SearchResponse
	ExplorePath = "/explore" // POST an ExploreRequest, and get an ExploreResponse
	AgentsPath  = "/agents"  // GET a ListResponse, or below it the Entry with an identifier
)

// Sizes of pages, and bounds of questions.
const (
	searchPage = 10  // results, unless SearchRequest.PageSize says otherwise
	ListPage   = 20  // entries of a list, unless its pageSize says otherwise
	MaxPage    = 100 // results and entries of a page
	maxText    = 64 << 10
	maxFilters = 32   // keys
	maxValues  = 64   // of a key
	maxKey     = 256  // bytes
	maxToken   = 1024 // bytes
	maxFacets  = 16
)

// A Query says what is looked for.
type Query struct {
	Context json.RawMessage `json:"@context,omitempty"`
	Text    string          `json:"text,omitempty"`
	Filter  Filter          `json:"filter,omitempty"`
}

// A Filter holds for each field, such as "type", "tags", "publisher" or "metadata.license", the
// values of which an entry must have one. An entry must meet all fields.
type Filter map[string]Values

// Values are texts; a single one may stand without a list.
type Values []string

// UnmarshalJSON implements json.Unmarshaler.
func (v *Values) UnmarshalJSON(data []byte) error {
	var one string
	if err := json.Unmarshal(data, &one); err == nil && string(data) != "null" {
		*v = Values{one}
		return nil
	}
	var list []*string
	if err := json.Unmarshal(data, &list); err != nil || list == nil || slices.Contains(list, nil) {
		return errors.New("a filter is a text or a list of texts")
	}
	*v = Values{}
	for _, text := range list {
		*v = append(*v, *text)
	}
	return nil
}

// A SearchRequest is what is posted to SearchPath.
type SearchRequest struct {
	Query Query `json:"query"`
	// Federation says how the registry treats others that it knows: "auto" asks them too,
	// "referrals" names them, "none" leaves them out; "" means auto.
	Federation string `json:"federation,omitempty"`
	PageSize   int    `json:"pageSize,omitempty"`  // 0 means 10
	PageToken  string `json:"pageToken,omitempty"` // of the page before; "" means the first page
}

// A Result is an entry that fits. Only its Identifier is certain to be there.
type Result struct {
	Entry
	Score  int    `json:"score"`  // 0 to 100: how well it fits, and nothing about trust
	Source string `json:"source"` // base of the registry that has the whole entry
}

// A SearchResponse holds one page of results, best first.
type SearchResponse struct {
	Results   []Result `json:"results"`
	Referrals []Entry  `json:"referrals,omitempty"` // registries
	PageToken string   `json:"pageToken,omitempty"` // "" means that there is no other page
}

// A ListResponse holds one page of entries, by name.
type ListResponse struct {
	Items     []Entry `json:"items"`
	Total     int     `json:"total"` // on all pages
	PageToken string  `json:"pageToken,omitempty"`
}

// An ExploreRequest asks how many entries there are of each kind.
type ExploreRequest struct {
	Query      Query `json:"query"`
	ResultType struct {
		Facets []Facet `json:"facets"`
	} `json:"resultType"`
}

// A Facet is a field whose values are counted.
type Facet struct {
	Field    string `json:"field"`
	Limit    int    `json:"limit,omitempty"`    // most values; 0 means 20
	MinCount int    `json:"minCount,omitempty"` // values with fewer entries are left out
}

// An ExploreResponse holds the counts by field.
type ExploreResponse struct {
	ResultType string            `json:"resultType"` // "facets"
	Facets     map[string]Counts `json:"facets"`
}

// Counts are the values of a field, the most frequent first.
type Counts struct {
	Buckets    []Bucket `json:"buckets"`
	OtherCount int      `json:"otherCount,omitempty"` // entries with values beyond Facet.Limit
}

// A Bucket is a value with the number of its entries.
type Bucket struct {
	Value string `json:"value"`
	Count int    `json:"count"`
}

// An Error is the answer to a request that failed.
type Error struct {
	Status  int    `json:"-"` // of HTTP
	Code    string `json:"errorCode"`
	Message string `json:"message"`
}

func (e *Error) Error() string { return e.Message }

// NewError returns the error for a status of HTTP.
func NewError(status int, format string, args ...any) *Error {
	code := "INTERNAL_ERROR"
	switch status {
	case http.StatusUnauthorized:
		code = "UNAUTHENTICATED"
	case http.StatusForbidden:
		code = "PERMISSION_DENIED"
	case http.StatusNotFound:
		code = "NOT_FOUND"
	case http.StatusTooManyRequests:
		code = "RATE_LIMIT_EXCEEDED"
	case http.StatusNotImplemented:
		code = "NOT_IMPLEMENTED"
	case http.StatusServiceUnavailable:
		code = "UNAVAILABLE"
	default:
		if status < http.StatusInternalServerError {
			code = "INVALID_ARGUMENT"
		}
	}
	return &Error{status, code, fmt.Sprintf(format, args...)}
}

func invalid(format string, args ...any) *Error {
	return NewError(http.StatusBadRequest, format, args...)
}

// ParseSearchRequest reads a SearchRequest, and sets what may be left out. Its errors are *Error.
func ParseSearchRequest(data []byte) (r SearchRequest, err error) {
	if err := strictly(data, &r); err != nil {
		return r, err
	}
	switch {
	case strings.TrimSpace(r.Query.Text) == "":
		return r, invalid("query.text is missing: it says what is looked for")
	case r.PageSize < 0 || r.PageSize > MaxPage:
		return r, invalid("pageSize is %d; it may be 1 to %d", r.PageSize, MaxPage)
	case len(r.PageToken) > maxToken:
		return r, invalid("pageToken is too long to be one of this registry")
	case !slices.Contains([]string{"", "auto", "referrals", "none"}, r.Federation):
		return r, invalid("federation is %s; there are auto, referrals and none", shown(r.Federation))
	}
	if r.PageSize == 0 {
		r.PageSize = searchPage
	}
	return r, r.Query.check()
}

// ParseExploreRequest reads an ExploreRequest. Its errors are *Error.
func ParseExploreRequest(data []byte) (r ExploreRequest, err error) {
	if err := strictly(data, &r); err != nil {
		return r, err
	}
	if n := len(r.ResultType.Facets); n == 0 || n > maxFacets {
		return r, invalid("resultType.facets has %d fields; it may have 1 to %d", n, maxFacets)
	}
	for i := range r.ResultType.Facets {
		f := &r.ResultType.Facets[i]
		if f.Field == "" || len(f.Field) > maxKey || f.Limit < 0 || f.MinCount < 0 {
			return r, invalid("facet %d needs a field, and its limit and minCount are not negative", i+1)
		}
		if f.Limit == 0 {
			f.Limit = 20
		}
	}
	return r, r.Query.check()
}

// check returns what is wrong with a query.
func (q *Query) check() error {
	if len(q.Text) > maxText {
		return invalid("query.text has %d bytes; it may have %d", len(q.Text), maxText)
	}
	if len(q.Filter) > maxFilters {
		return invalid("query.filter has %d fields; it may have %d", len(q.Filter), maxFilters)
	}
	for key, values := range q.Filter {
		if key == "" || len(key) > maxKey || len(values) > maxValues {
			return invalid("query.filter.%s: a field has a name of at most %d bytes, and at most %d values", shown(key), maxKey, maxValues)
		}
	}
	return nil
}

// strictly reads one JSON object that has no other fields than the specification names.
func strictly(data []byte, v any) error {
	d := json.NewDecoder(bytes.NewReader(data))
	d.DisallowUnknownFields()
	err := d.Decode(v)
	if err == nil {
		if _, more := d.Token(); more != io.EOF {
			err = errors.New("there is more behind the object")
		}
	}
	if wrong, ok := errors.AsType[*json.UnmarshalTypeError](err); ok {
		err = fmt.Errorf("%s cannot be a %s", cmp.Or(wrong.Field, "the request"), wrong.Value)
	}
	if err != nil {
		return invalid("the request is not what the specification of ARD says: %s", strings.TrimPrefix(err.Error(), "json: "))
	}
	return nil
}

// maxListed is how many results and referrals of an answer are read: more than a page may have.
const maxListed = 3 * MaxPage

// maxEntry is how many bytes an entry in an answer of a registry may have.
const maxEntry = 256 << 10

// ParseSearchResponse reads what a registry has found. Results without a well-formed identifier, or
// with both url and data, are left out, with a *EntryError for each. A list that is longer than
// any page ends the reading: what stands behind it is left out too.
func ParseSearchResponse(data []byte) (r SearchResponse, left []error, err error) {
	if len(data) > MaxManifest {
		return r, nil, fmt.Errorf("the answer has more than %d bytes", MaxManifest)
	}
	results := false
	err = eachMember(data, map[string]func(*json.Decoder) error{
		"results": func(d *json.Decoder) error {
			r.Results = []Result{}
			err := eachElement(d, func(i int, text json.RawMessage) error {
				var x Result
				if i == maxListed {
					return errEnough
				}
				if err := x.read(text); err != nil {
					left = append(left, &EntryError{i, x.Identifier, err})
				} else {
					r.Results = append(r.Results, x)
				}
				return nil
			})
			results = !errors.Is(err, errNull)
			return err
		},
		"referrals": func(d *json.Decoder) error {
			return eachElement(d, func(i int, text json.RawMessage) error {
				var e Entry
				if i == maxListed {
					return errEnough
				}
				if len(text) <= maxEntry && decode(text, &e) == nil && e.Check() == nil {
					r.Referrals = append(r.Referrals, e)
				}
				return nil
			})
		},
		"pageToken": func(d *json.Decoder) error { return d.Decode(&r.PageToken) },
	})
	switch {
	case err != nil || !results:
		return SearchResponse{}, nil, errors.New("this is no answer of an ARD registry: it is no JSON object with a list of results")
	case len(r.PageToken) > maxToken:
		return SearchResponse{}, nil, errors.New("pageToken is too long")
	}
	return r, left, nil
}

// read reads one result.
func (x *Result) read(data []byte) error {
	if len(data) > maxEntry {
		return fmt.Errorf("it has more than %d bytes", maxEntry)
	}
	if err := decode(data, x); err != nil {
		return err
	}
	if _, ok := Publisher(x.Identifier); !ok {
		return errors.New("identifier is not of the form urn:air:DOMAIN:…:NAME")
	}
	if x.URL != "" && len(x.Data) > 0 {
		return errors.New("it has both url and data")
	}
	x.Score = min(max(x.Score, 0), 100)
	return x.checkRest()
}
