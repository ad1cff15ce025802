package repertoire

import (
	"fmt"

	"github.com/repertoire-skills/repertoire/internal/config"
	"github.com/repertoire-skills/repertoire/internal/trust"
)

// policyOf returns the policy of some settings; nil means that nothing is held back. It calls
// warn, which may be nil, if it cannot know what the user trusts: then nothing is trusted.
func policyOf(s *config.Settings, warn func(error)) *Policy {
	p := s.Policy()
	if p == nil || len(p.Ask) == 0 {
		return p
	}
	state, err := config.StateDir()
	if err == nil {
		f := trust.Open(state)
		p.Trusted, p.Version = f.Trusted, f.Version
		_, err = f.List()
	}
	if err != nil && warn != nil {
		warn(fmt.Errorf("reading which skills are trusted: %w", err))
	}
	return p
}
