package cli

import (
	"cmp"
	"context"
	"strconv"
	"time"

	"github.com/spf13/pflag"

	"github.com/repertoire-skills/repertoire"
	"github.com/repertoire-skills/repertoire/agent"
	"github.com/repertoire-skills/repertoire/internal/discover"
	"github.com/repertoire-skills/repertoire/internal/figures"
)

// registriesFlag adds the flag without which no registry is asked.
func registriesFlag(f *pflag.FlagSet, on *bool) {
	f.BoolVar(on, "registries", false, "ask the registries of your configuration too")
}

// finder returns what finds skills here and in registries.
func (c *catalog) finder() (*discover.Finder, error) {
	settings, err := c.session.settings()
	if err != nil {
		return nil, err
	}
	return discover.New(c.Catalog, &settings)
}

// setFind lets an agent look for skills in registries, if a flag says so.
func (c *catalog) setFind(cfg *agent.Config, on bool) error {
	if !on {
		return nil
	}
	f, err := c.finder()
	if err == nil {
		cfg.Find = f.Tool(cmp.Or(c.session.name, ownName))
	}
	return err
}

// discoverResult is what "search --registries --json" prints.
type discoverResult struct {
	discover.Answer
	TookMS float64 `json:"took_ms"`
}

// runDiscover searches here and in registries.
func runDiscover(ctx context.Context, s *session, c *catalog, q repertoire.Query) error {
	f, err := c.finder()
	if err != nil {
		return err
	}
	start := time.Now()
	a, err := f.Search(ctx, q)
	if err != nil {
		return err
	}
	took := time.Since(start)
	for _, p := range a.Problems() {
		s.note("%s", p)
	}
	if s.json {
		return s.printJSON(discoverResult{a, figures.Milliseconds(took)})
	}
	if len(a.Results) == 0 {
		s.note("nothing fits, neither here nor in a registry; --all lists the nearest skills")
		return nil
	}
	_, marks := terminal(s.stdout)
	if err := s.rows([]string{"NAME", "WANTED", "WHERE", "BY", "VERSION", "INSTALLS", "SCAN", "DESCRIPTION"}, mapped(a.Results, func(r discover.Result) []string {
		wanted, installs := decimals(r.Probability), ""
		if marks {
			wanted = figures.Percent(r.Probability)
		}
		if r.Installs > 0 {
			installs = strconv.Itoa(r.Installs)
		}
		return []string{r.Name, wanted, r.Place(), r.Origin, r.Version, installs, r.Verdict, r.Description}
	})); err != nil {
		return err
	}
	if marks {
		s.note("%d of %d registries answered, %s; \"skills install --from REGISTRY NAME\" installs", a.Answered(), len(a.Registries), figures.Duration(took))
	}
	return nil
}
