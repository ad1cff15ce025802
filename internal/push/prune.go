package push

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/repertoire-skills/repertoire/index"
	"github.com/repertoire-skills/repertoire/source"
	"github.com/repertoire-skills/repertoire/store"
)

// prune removes sources that are not in the list, in one transaction. It returns them, and those
// that stay because they may be another's.
func (p *pusher) prune(ctx context.Context, list []source.Source) (pruned []Source, left []Left, err error) {
	err = p.store.Join(ctx, func(st store.Store) error {
		pruned, left = nil, nil
		sources, err := st.Sources(ctx)
		if err != nil {
			return err
		}
		for _, src := range sources {
			if slices.ContainsFunc(list, func(s source.Source) bool { return s.Info().Label == src.Label }) {
				continue
			}
			known, err := st.Known(ctx, src.Row, nil)
			if err != nil {
				return err
			}
			switch why := p.stays(src); {
			case why == "":
				one := Source{Pruned: true}
				one.report(index.Report{Source: src.Label, Removed: len(known), Complete: true})
				one.compare(known, nil)
				pruned = append(pruned, one)
			case p.Prune:
				left = append(left, Left{src.Label, len(known), why})
			}
		}
		if p.DryRun || len(pruned) == 0 {
			return errUndo
		}
		for _, one := range pruned {
			if err := index.New(st, nil, nil).Forget(ctx, one.Source); err != nil {
				return err
			}
		}
		return nil
	})
	if errors.Is(err, errUndo) {
		err = nil
	}
	return pruned, left, err
}

// stays says why a source that is not pushed must not be removed; "" if it may be: somebody has
// named it, or a repository that is pushed has its folder under another label, or has it no more.
func (p *pusher) stays(src store.Source) string {
	var same []Origin
	for _, own := range p.Origins {
		if own.Repository != "" && own.Repository == src.Repository {
			same = append(same, own)
		}
	}
	switch {
	case slices.Contains(p.Remove, src.Label) || slices.ContainsFunc(same, func(own Origin) bool { return own.ID == src.Origin }):
		return ""
	case src.Repository == "":
		return "from a repository that is not known"
	case len(same) == 0:
		return "from another repository or machine"
	case slices.ContainsFunc(same, func(own Origin) bool { return p.mayHold(own, src.Origin) }):
		return "from a folder that this repository may still have"
	}
	return ""
}

// mayHold reports whether the repository of an origin may still have the folder with an ID.
func (p *pusher) mayHold(own Origin, id string) bool {
	key := checkout{own.Repository, own.checkout}
	ids, seen := p.folders[key]
	if !seen {
		ids = own.folders()
		p.folders[key] = ids
	}
	return ids == nil || ids[id]
}

// Removable returns what the catalog has of the sources that Remove names. It fails if it has none
// of a label, or if one of them is pushed.
func (o *Options) Removable(ctx context.Context, r store.Reader, pushed []source.Source) ([]Left, error) {
	var list []Left
	sources, err := r.Sources(ctx)
	if err != nil {
		return nil, err
	}
	for _, label := range o.Remove {
		i := slices.IndexFunc(sources, func(s store.Source) bool { return s.Label == label })
		if i < 0 {
			return nil, fmt.Errorf("the catalog has no root %s", label)
		}
		if slices.ContainsFunc(pushed, func(s source.Source) bool { return s.Info().Label == label }) {
			return nil, fmt.Errorf("%s is to be pushed and to be removed; leave it out of one", label)
		}
		known, err := r.Known(ctx, sources[i].Row, nil)
		if err != nil {
			return nil, err
		}
		list = append(list, Left{label, len(known), ""})
	}
	return list, nil
}
