package registries

import (
	"encoding/json"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/repertoire-skills/repertoire/internal/lazyregexp"
)

// repository matches owner/repository on GitHub.
var repository = lazyregexp.New(`^[A-Za-z0-9][A-Za-z0-9-]*/[A-Za-z0-9_][A-Za-z0-9._-]*$`)

// searchSkillsSh asks a registry that speaks the API of skills.sh, which knows repositories and how
// often their skills were installed.
func searchSkillsSh(c *call, text string, limit int) (found, error) {
	var r struct {
		Skills *[]json.RawMessage `json:"skills"`
	}
	if err := c.get("/api/search", url.Values{"q": {queryText(text, maxTerms)}, "limit": {strconv.Itoa(limit)}}, &r); err != nil {
		return found{}, err
	}
	type result struct {
		Name        string `json:"name"`
		Source      string `json:"source"`
		Description string `json:"description"`
		Installs    int    `json:"installs"`
	}
	return offersOf(r.Skills, func(x result) Offer {
		o := Offer{Name: x.Name, Description: x.Description, Installs: x.Installs, Origin: x.Source}
		switch {
		case repository().MatchString(x.Source):
			o.Source, o.Skill = "https://github.com/"+x.Source, x.Name
		case c.mayFetch(x.Source):
			o.Source, o.Skill = x.Source, x.Name
		}
		return o
	})
}

// findSkillsSh finds a skill by its name, or by owner/repository/name.
func findSkillsSh(c *call, name string) ([]Offer, error) {
	last := name[strings.LastIndex(name, "/")+1:]
	f, err := searchSkillsSh(c, last, maxOffers)
	if err != nil {
		return nil, err
	}
	list := slices.DeleteFunc(f.offers, func(o Offer) bool { return o.Name != name && o.Origin+"/"+o.Name != name })
	if len(list) > 1 { // then only the repository tells them apart
		for i := range list {
			list[i].Name = list[i].Origin + "/" + list[i].Name
		}
	}
	return list, nil
}
