package bench

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/repertoire-skills/repertoire"
)

// hurry is how long the command "context" checks for changed skills.
const hurry = 2 * time.Millisecond

// glance measures the check for changed skills that the command does without the
// database.
func (m *meter) glance(ctx context.Context) (g lookSpeed, err error) {
	g.Current, g.All = true, true
	var folders []float64
	g.MS, err = m.repeat(func() (float64, error) {
		c, err := openCatalog(ctx, m.root(), m.db("vectors"), deferred)
		if err != nil {
			return 0, err
		}
		var found repertoire.Freshness
		took, _ := timed(func() error { found = c.Owner().Glance(ctx, hurry); return nil })
		g.Current, g.All = g.Current && found.Current, g.All && found.All
		folders = append(folders, float64(found.Looked))
		return took, c.Close()
	})
	g.Folders = int(median(folders))
	return g, err
}

// processes measures the time from exec to exit of the command "context", for a
// prompt that finds something and one that finds nothing, and what a process
// holds that stays. The command ranks from compiled files: only such legs have
// these times. It returns the time of "version".
func (m *meter) processes(ctx context.Context, legs []*openLeg) (floor float64, err error) {
	config := filepath.Join(m.dir, "config.yaml")
	if err := os.WriteFile(config, []byte("embedder: static\n"), 0o600); err != nil {
		return 0, err
	}
	args := []string{"--config", config, "--root", m.root(), "--only-root", "--db", m.db("vectors"), "--quiet", "context"}
	legs = slices.DeleteFunc(slices.Clone(legs), func(l *openLeg) bool { return !l.Compiled })
	version := make([]float64, 2*m.rounds+1)
	cold := make([][2][]float64, len(legs))
	for r := range version {
		for i := range legs {
			for k, prompt := range []string{m.finding, m.empty} {
				took, err := timed(func() error { _, err := m.run(ctx, append(args, prompt)); return err })
				if err != nil {
					return 0, err
				}
				cold[i][k] = append(cold[i][k], took)
			}
		}
		if version[r], err = timed(func() error { _, err := m.run(ctx, []string{"version"}); return err }); err != nil {
			return 0, err
		}
	}
	for i, l := range legs {
		// Leave out the first round, which brings the files into memory.
		l.speed.ColdMS, l.speed.ColdEmptyMS = median(cold[i][0][1:]), median(cold[i][1][1:])
	}
	return median(version[1:]), nil
}
