package repertoire

import "path/filepath"

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
	for _, e := range entries {
		if winner := at[e.ShadowedBy]; winner != "" && sameFile(e.Location, winner) {
			links = append(links, e)
		} else {
			skills = append(skills, e)
		}
	}
	return skills, links
}

// sameFile reports whether two paths lead to the same file through symbolic links. Hard links
// are different files: removing one of them does not harm the other.
func sameFile(a, b string) bool {
	one, err := filepath.EvalSymlinks(a)
	if err != nil {
		return false // perhaps it is not on disk
	}
	other, err := filepath.EvalSymlinks(b)
	return err == nil && one == other
}
