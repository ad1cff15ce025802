package status

import (
	"strings"

	"github.com/repertoire-skills/repertoire/source"
)

// A Step is the command that is most useful next.
type Step struct {
	Command string `json:"command"` // without the name of the program
	Why     string `json:"why"`     // a clause that says what the command does
}

// New reports whether nothing is set up and there is no skill but those that are compiled in.
func (s *Status) New() bool {
	for _, c := range s.Clients {
		if c.SetUp() {
			return false
		}
	}
	return s.Catalog.State != Broken && s.Catalog.Store == "" && s.own() == 0
}

// own returns how many skills there are besides those that are compiled in.
func (s *Status) own() (n int) {
	for _, src := range s.Sources {
		if src.Kind != source.KindBundled {
			n += src.Skills
		}
	}
	return n
}

// next returns the most useful command: what keeps everything from working comes first.
func (s *Status) next() Step {
	var idle []string // clients that are not set up
	set, served := false, false
	for _, c := range s.Clients {
		set, served = set || c.SetUp(), served || c.Server != ""
		if !c.SetUp() {
			idle = append(idle, c.Client)
		}
	}
	switch {
	case s.Catalog.State == Broken:
		return Step{"doctor", "says what is wrong, and what to do"}
	case s.Catalog.Store != "" && s.Catalog.State == Missing:
		return Step{"index", "copies the shared catalog; until then no prompt gets a skill"}
	case s.own() == 0 && s.Catalog.Store != "":
		return Step{"list", "shows what the shared catalog has"}
	case s.own() == 0 && !served:
		return Step{"install OWNER/REPOSITORY", "gets skills"}
	case !set:
		return Step{"setup", "connects your clients"}
	case s.Catalog.State == Missing:
		return Step{"index", "reads your skills; until then no prompt gets one"}
	case s.Verdict.Next != "" && (s.Verdict.Unseen > 0 || s.Verdict.Setup > 0):
		why := "mends what comes first"
		if strings.HasPrefix(s.Verdict.Next, "doctor") {
			why = "says more about what is wrong"
		}
		return Step{s.Verdict.Next, why}
	case len(idle) > 0:
		return Step{"setup " + strings.Join(idle, " "), "connects the rest of your clients"}
	case s.Waiting > 0:
		return Step{"proposals", "shows the proposed changes that wait for you"}
	}
	return Step{"try PROMPT", "shows what a prompt gets"}
}
