package registries

import (
	"cmp"
	"encoding/json"
	"net/url"
	"strconv"
	"time"
)

// maxTerms is how much of a text goes into the address of a question, in characters.
const maxTerms = 300

// searchClawhub asks a registry that speaks the API of clawhub. What the registry itself calls
// suspicious it is told to leave out.
func searchClawhub(c *call, text string, limit int) (found, error) {
	var r struct {
		Results *[]json.RawMessage `json:"results"`
	}
	q := url.Values{"q": {queryText(text, maxTerms)}, "limit": {strconv.Itoa(limit)}, "nonSuspiciousOnly": {"true"}}
	if err := c.get("/api/v1/search", q, &r); err != nil {
		return found{}, err
	}
	type result struct {
		Slug         string `json:"slug"`
		DisplayName  string `json:"displayName"`
		Summary      string `json:"summary"`
		Version      string `json:"version"`
		UpdatedAt    any    `json:"updatedAt"` // milliseconds
		OwnerHandle  string `json:"ownerHandle"`
		Downloads    int    `json:"downloads"`
		IsSuspicious bool   `json:"isSuspicious"`
	}
	return offersOf(r.Results, func(x result) Offer {
		o := Offer{Name: x.Slug, Description: cmp.Or(x.Summary, x.DisplayName), Version: x.Version, Updated: day(x.UpdatedAt),
			Installs: x.Downloads, Origin: x.OwnerHandle}
		if x.IsSuspicious {
			o.Verdict = "suspicious"
		}
		c.clawhubFile(&o)
		return o
	})
}

// offersOf makes offers of the elements of a list, each for itself: a malformed one is counted, and
// the others stay. nil is no answer of the form.
func offersOf[T any](list *[]json.RawMessage, offer func(T) Offer) (f found, err error) {
	if list == nil {
		return f, &notOneError{what: "it answers JSON of another form"}
	}
	for _, data := range *list {
		var x T
		if json.Unmarshal(data, &x) != nil {
			f.omitted++
			continue
		}
		f.offers = append(f.offers, offer(x))
	}
	return f, nil
}

// clawhubFile says where the archive of an offer is.
func (c *call) clawhubFile(o *Offer) {
	q := url.Values{"slug": {o.Name}}
	if o.Version != "" {
		q.Set("version", o.Version)
	}
	o.Source, o.file = c.sourceOf(o.Name), file{url: c.URL + "/api/v1/download?" + q.Encode()}
}

// day returns the date of a time in milliseconds; "" if it is none.
func day(ms any) string {
	n, ok := ms.(float64)
	if !ok || n <= 0 || n > 1e14 {
		return ""
	}
	return time.UnixMilli(int64(n)).UTC().Format(time.DateOnly)
}

// findClawhub returns the newest version of a skill, with the verdict of its scan.
func findClawhub(c *call, slug string) ([]Offer, error) {
	var r struct {
		Skill *struct {
			Slug    string `json:"slug"`
			Summary string `json:"summary"`
			Stats   struct {
				Downloads int `json:"downloads"`
			} `json:"stats"`
			UpdatedAt any `json:"updatedAt"`
		} `json:"skill"`
		LatestVersion struct {
			Version string `json:"version"`
		} `json:"latestVersion"`
		Owner struct {
			Handle string `json:"handle"`
		} `json:"owner"`
		Moderation struct {
			Blocked bool `json:"isMalwareBlocked"`
		} `json:"moderation"`
	}
	if err := c.get("/api/v1/skills/"+url.PathEscape(slug), nil, &r); err != nil {
		if isGone(err) {
			return nil, nil
		}
		return nil, err
	}
	if r.Skill == nil || r.Skill.Slug == "" {
		return nil, &notOneError{what: "it answers JSON of another form"}
	}
	o := Offer{Name: r.Skill.Slug, Description: r.Skill.Summary, Version: r.LatestVersion.Version, Updated: day(r.Skill.UpdatedAt),
		Installs: r.Skill.Stats.Downloads, Origin: r.Owner.Handle}
	c.clawhubFile(&o)
	completeClawhub(c, &o)
	if r.Moderation.Blocked {
		o.Verdict = malicious
	}
	return []Offer{o}, nil
}

// completeClawhub adds the verdict of the scan of a skill, if there is one.
func completeClawhub(c *call, o *Offer) {
	var r struct {
		Security struct {
			Status        string `json:"status"`
			HasScanResult bool   `json:"hasScanResult"`
		} `json:"security"`
		Moderation struct {
			Verdict string `json:"verdict"`
		} `json:"moderation"`
	}
	if c.get("/api/v1/skills/"+url.PathEscape(o.Name)+"/scan", nil, &r) != nil {
		return // no verdict is said to be none
	}
	if r.Security.HasScanResult {
		o.Verdict = r.Security.Status
	}
	if r.Moderation.Verdict == malicious {
		o.Verdict = malicious
	}
}
