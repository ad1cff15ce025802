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
	at := make(map[string]*Entry) // by ID
	for i := range entries {
		if entries[i].ShadowedBy == "" {
			at[entries[i].ID] = &entries[i]
		}
	}
	real := make(regular.Links)
	for _, e := range entries {
		// Hard links are different files: removing one of them does not harm the other.
		winner := at[e.ShadowedBy]
		if winner != nil && filepath.IsAbs(winner.Location) && e.Digest == winner.Digest && real.Real(e.Location) == real.Real(winner.Location) {
			links = append(links, e)
		} else {
			skills = append(skills, e)
		}
	}
	return skills, links
}
