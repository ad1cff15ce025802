package repertoire

import (
	"path/filepath"

	"github.com/repertoire-skills/repertoire/internal/regular"
)

// SplitLinks divides the entries of List into skills and links. A link is a shadowed copy whose
// folder is, through symbolic links, the folder of the skill that shadows it: tools such as
// "npx skills" keep a skill in one folder and link it into the folders of all clients. An agent
// that sees only the source of the link is offered the skill there.
func SplitLinks(entries []Entry) (skills, links []Entry) {
	at := make(map[string]string) // locations by ID
	for _, e := range entries {
		if e.ShadowedBy == "" {
			at[e.ID] = e.Location
		}
	}
	real := make(regular.Links)
	for _, e := range entries {
		// Hard links are different files: removing one of them does not harm the other.
		if winner := at[e.ShadowedBy]; filepath.IsAbs(winner) && real.Real(e.Location) == real.Real(winner) {
			links = append(links, e)
		} else {
			skills = append(skills, e)
		}
	}
	return skills, links
}
