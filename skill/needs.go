package skill

// Needs is what a skill needs to work.
type Needs struct {
	Skills   []string `json:"skills,omitempty"`   // names of skills
	Either   []string `json:"either,omitempty"`   // each a skill, if the catalog has one of that name, or else a command
	Optional []string `json:"optional,omitempty"` // names of skills, if there are such skills, else nothing
	Commands []string `json:"commands,omitempty"` // all of them
	AnyOf    []string `json:"anyOf,omitempty"`    // at least one of these commands
	Env      []string `json:"env,omitempty"`      // names of environment variables
}
