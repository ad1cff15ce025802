package web

import (
	"context"
	"slices"
	"time"

	"github.com/repertoire-skills/repertoire"
	"github.com/repertoire-skills/repertoire/search"
)

// maxRows bounds the rows of one list on a page.
const maxRows = 200

// lookTime bounds the look at the folders of skills that the page of the state takes.
const lookTime = 50 * time.Millisecond

// A condition is how a catalog stands.
type condition struct {
	Offered, Found int
	Mode           string // what ranking is based on
	File           string // of the catalog; "" for visitors who are not its owner
	Recovered      string // where a damaged catalog was kept; "" means nowhere
	Look           repertoire.Freshness
	Shared         repertoire.Shared // its State is "" if the skills come from folders of this machine
	Trouble        string            // why Shared is not current; "" for visitors who are not the owner
	Missing        int               // texts without a vector of the configured embedder
	Sources        []place
	Held           []heldGroup
	Agents         []viewer
	Shadowed       rows[repertoire.Entry]
}

// A place is a source with skills.
type place struct {
	search.SourceSize
	Kind, Folder string
}

// A heldGroup has the skills that are held back for one reason.
type heldGroup struct {
	Title, Advice string
	Skills        rows[repertoire.Entry]
}

// A viewer is an agent with what it always has.
type viewer struct {
	Name   string
	Skills int // that it sees
	Pinned []repertoire.Entry
	Uses   []string
}

// rows are the first rows of a list, and how many there are in all.
type rows[T any] struct {
	List []T
	All  int
}

// More returns how many rows are left out.
func (r rows[T]) More() int { return r.All - len(r.List) }

func firstRows[T any](list []T) rows[T] { return rows[T]{list[:min(len(list), maxRows)], len(list)} }

// getState shows what is disabled, pinned and stale, and where skills come from.
func (hs *handlers) getState(v *visit) (answer, error) {
	ctx, c := v.Context(), hs.catalog
	d := condition{Look: c.Owner().Glance(ctx, lookTime), Shared: c.Shared()}
	if v.owner {
		d.File, d.Recovered = c.Path(), c.Owner().Recovered()
		if d.Shared.Err != nil {
			d.Trouble = d.Shared.Err.Error()
		}
	}
	var err error
	if d.Offered, d.Found, err = c.Size(ctx); err != nil {
		return answer{}, err
	}
	if d.Mode, err = c.Mode(ctx); err != nil {
		return answer{}, err
	}
	if d.Missing, err = hs.unembedded(ctx); err != nil {
		return answer{}, err
	}
	if d.Sources, err = hs.places(ctx, v.owner); err != nil {
		return answer{}, err
	}
	entries, err := hs.entries(ctx)
	if err != nil {
		return answer{}, err
	}
	d.Held = heldGroups(entries)
	entries, _ = repertoire.SplitLinks(entries)
	d.Shadowed = firstRows(slices.DeleteFunc(entries, func(e repertoire.Entry) bool { return e.ShadowedBy == "" }))
	d.Agents, err = hs.viewers(ctx)
	return answer{data: d}, err
}

// unembedded returns how many texts have no vector of the configured embedder yet. The
// built-in one leaves none out, and a shared catalog that does not answer cannot tell.
func (hs *handlers) unembedded(ctx context.Context) (int, error) {
	e := hs.catalog.Config().Embedder
	if e == nil || e.Model() == "" || hs.stale() {
		return 0, nil
	}
	coverage, err := hs.catalog.Owner().Coverage(ctx, e.Model())
	return coverage.Texts - coverage.Embedded, err
}

// places returns the sources, the one that wins first. Folders are only for the owner.
func (hs *handlers) places(ctx context.Context, owner bool) ([]place, error) {
	sizes, err := hs.catalog.Owner().SourceSizes(ctx)
	if err != nil {
		return nil, err
	}
	var list []place
	for _, size := range sizes {
		p := place{SourceSize: size}
		for _, src := range hs.catalog.Config().Sources {
			if info := src.Info(); info.Label == size.Source {
				p.Kind = info.Kind
				if owner {
					p.Folder = info.Root
				}
			}
		}
		list = append(list, p)
	}
	labels := hs.catalog.Labels()
	slices.SortStableFunc(list, func(a, b place) int { return slices.Index(labels, a.Source) - slices.Index(labels, b.Source) })
	return list, nil
}

// heldGroups returns the skills that are held back by the reason.
func heldGroups(entries []repertoire.Entry) []heldGroup {
	groups := []heldGroup{
		{Title: "Disabled", Advice: "A rule of the configuration disables them. \"skills enable NAME\" removes the rule of a single skill."},
		{Title: "Not trusted yet", Advice: "Their project may be somebody else's. Read them, then run \"skills trust\" in the project."},
		{Title: "Changed since they were installed", Advice: "\"skills update --verify\" shows what has changed, and \"skills update\" installs them again."},
		{Title: "Lacking something that they need", Advice: "Install what is missing, and they are offered again."},
		{Title: "Started only by you", Advice: "Their authors say so. A prompt with /NAME or “the skill NAME” gets them, and a pin has an agent always get them."},
	}
	states := []search.State{search.Disabled, search.Untrusted, search.Changed, search.Unavailable, search.Reserved}
	for i, state := range states {
		groups[i].Skills = firstRows(slices.DeleteFunc(slices.Clone(entries), func(e repertoire.Entry) bool { return e.State != state }))
	}
	return slices.DeleteFunc(groups, func(g heldGroup) bool { return g.Skills.All == 0 })
}

// viewers returns the agents of the configuration.
func (hs *handlers) viewers(ctx context.Context) ([]viewer, error) {
	var list []viewer
	for _, a := range hs.catalog.Config().Agents {
		n, err := hs.catalog.Count(ctx, a)
		if err != nil {
			return nil, err
		}
		pinned, err := hs.catalog.Pinned(ctx, a)
		if err != nil {
			return nil, err
		}
		list = append(list, viewer{a.Name, n, pinned, a.Uses})
	}
	return list, nil
}
