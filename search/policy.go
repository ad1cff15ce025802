package search

// A State says why a skill is not offered to anybody.
type State string

// The states.
const (
	Offered     State = ""            // it is offered where it fits
	Disabled    State = "disabled"    // a rule of the configuration disables it
	Untrusted   State = "untrusted"   // its project is not trusted yet, see Policy.Ask
	Changed     State = "changed"     // it is not what was installed, see Policy.Locked
	Unavailable State = "unavailable" // a command that it needs is not there
)

// A Policy says which skills of a catalog are held back from everybody. A skill that is held
// back is in no scope: it shadows nothing, and no answer has it. Only List, Lookup and Why
// say that it is there, and why it is held back. nil means that all skills are offered.
type Policy struct {
	// Disabled are the rules that disable skills; a skill is disabled if one matches.
	Disabled []Ban
	// Ask are labels of sources whose skills are offered only if Trusted has their digest.
	Ask     []string
	Trusted func(digest string) bool
	// Locked returns the digest that the skill in a folder of a source must have to be
	// offered; "" means any. nil means that no skill is locked.
	Locked func(source, dir string) string
	// Lower are labels of sources that are trusted less: their skills rank below equals,
	// and fill at most half of a block in which others are relevant too.
	Lower []string
}

// A Ban disables skills.
type Ban struct {
	Rules
	Within []string // labels of the only sources in which it holds; nil means all
	Place  Place    // where a configuration has it; zero if nobody knows
}
