package repertoire

import (
	"cmp"
	"path/filepath"
	"slices"

	"github.com/repertoire-skills/repertoire/index"
	"github.com/repertoire-skills/repertoire/internal/atomicfile"
	"github.com/repertoire-skills/repertoire/internal/config"
	"github.com/repertoire-skills/repertoire/snapshot"
	"github.com/repertoire-skills/repertoire/source"
	"github.com/repertoire-skills/repertoire/store"
	"github.com/repertoire-skills/repertoire/store/sqlite"
)

// A relative is a catalog that has sources in common with a new one.
type relative struct {
	path   string
	shared map[string]source.Info // by label: the sources of the new catalog that it has too
	clones map[string]source.Info // by label: the sources that it has in another folder
	labels int                    // sources with the same label, wherever they are
	others int                    // sources that the new catalog does not have
}

// maxSeeds is how many catalogs are tried as a seed: one may be damaged, or of another
// version of the program.
const maxSeeds = 3

// seeds returns the catalogs from a copy of which that of these sources may start, if it is
// in the default place: those first that share most sources. Among equals a catalog with
// the same labels is first, as of a clone of the same project: skills with the same digests
// need not be read anew.
func seeds(path string, sources []source.Source) []sqlite.Seed {
	var list []relative
	for _, other := range config.Beside(path, sources) {
		if r := relativeOf(other, sources); len(r.shared) > 0 {
			list = append(list, r)
		}
	}
	slices.SortStableFunc(list, func(a, b relative) int {
		return cmp.Or(cmp.Compare(len(b.shared), len(a.shared)), cmp.Compare(b.labels, a.labels), cmp.Compare(a.others, b.others))
	})
	var all []sqlite.Seed
	for _, r := range list[:min(len(list), maxSeeds)] {
		all = append(all, r.seed(path))
	}
	return all
}

// relativeOf compares the sources of the catalog at path with those of a new one.
func relativeOf(path string, sources []source.Source) relative {
	r := relative{path: path, shared: make(map[string]source.Info), clones: make(map[string]source.Info)}
	have, _ := index.Scanned(path) // a catalog that was never complete has nothing to share
	for _, old := range have {
		i := slices.IndexFunc(sources, func(s source.Source) bool { return s.Info().Label == old.Label })
		if i < 0 {
			r.others++
			continue
		}
		r.labels++
		switch now := sources[i].Info(); {
		case now.Root == old.Root && now.Settings == old.Settings:
			r.shared[now.Label] = now
		case now.Root == old.Root: // a copy may have skills that these settings leave out
		case now.Root != "" && old.Root != "":
			r.clones[now.Label] = now
		}
	}
	return r
}

// seed returns what the store must know to copy the catalog to a path.
func (r *relative) seed(to string) sqlite.Seed {
	return sqlite.Seed{
		Path: r.path,
		Keep: func(s store.Source) (store.Source, bool) {
			if now, ok := r.shared[s.Label]; ok {
				s.Priority, s.Apart = now.Priority, now.Apart
				return s, s.Root == now.Root
			}
			now, ok := r.clones[s.Label]
			s.Root, s.Priority, s.Apart = now.Root, now.Priority, now.Apart
			return s, ok
		},
		Copied: func(c sqlite.Copy) {
			l := snapshot.Legacy{
				From: filepath.Clean(r.path), To: to, FromID: c.From, ToID: c.To, Generations: c.Generations, Disk: atomicfile.OS{},
			}
			l.Adopt()
		},
	}
}
