package push

import (
	"cmp"
	"fmt"
	"path/filepath"
	"slices"

	"github.com/repertoire-skills/repertoire/internal/config"
	"github.com/repertoire-skills/repertoire/internal/tidy"
	"github.com/repertoire-skills/repertoire/source"
	"github.com/repertoire-skills/repertoire/store/cache"
)

// From returns the sources that settings say to push, for a project in dir: the roots. It sets
// their origins, and the embedders as a catalog has them, because a base counts only for the
// same ones. warn gets what cannot be used and stops nothing.
func (o *Options) From(s *config.Settings, dir string, warn func(error)) ([]source.Source, error) {
	configured, err := s.Embedder.New()
	if err != nil {
		return nil, fmt.Errorf("configuring embedder: %w", err)
	}
	e, err := s.Embedding(configured)
	if err != nil {
		return nil, err
	}
	o.Embedder, o.Inline, o.Fallback, o.Contextual = e.Embedder, e.Inline, e.Fallback, e.Contextual
	if e.Slow != "" && warn != nil {
		warn(fmt.Errorf("the encoder is not used: %s", e.Slow))
	}
	if path := config.VectorCache(); path != "" { // without one each push embeds what is new
		o.Cache, o.Memory = cache.New(path), filepath.Join(filepath.Dir(path), "pushed")
	}
	all, err := s.Sources(dir, warn)
	if err != nil {
		return nil, err
	}
	sources := slices.DeleteFunc(all, func(src source.Source) bool { return src.Info().Kind != source.KindRoot })
	o.Origins = make(map[string]Origin)
	for _, src := range sources {
		place := Place{Dir: src.Info().Root}
		for _, r := range s.Remotes() {
			if r.Label == src.Info().Label {
				place.Remote, place.Sub = cmp.Or(r.Git, r.URL, r.File), r.Folder()
			}
		}
		if o.Origins[src.Info().Label], err = place.Origin(config.StateDir); err != nil {
			return nil, err
		}
	}
	return sources, nil
}

// Label gives a label to the only root that settings say to push.
func Label(s *config.Settings, label string) error {
	if label == "" || tidy.Clean(label) != label {
		return fmt.Errorf("--label %q names nothing", label)
	}
	var own []int
	for i, r := range s.Roots {
		if r.Project == "" {
			own = append(own, i)
		}
	}
	if len(own) != 1 {
		return fmt.Errorf("--label names one root, but there are %d; push one alone with --only-root --root FOLDER, or give labels in your configuration", len(own))
	}
	s.Roots[own[0]].Label = label
	return nil
}
