package search

import (
	"cmp"
	"path"
	"slices"
	"strings"

	"github.com/repertoire-skills/repertoire/internal/words"
	"github.com/repertoire-skills/repertoire/rank"
	"github.com/repertoire-skills/repertoire/snapshot"
)

// A family is a skill and its copies.
type family struct {
	members []int // those in the scope, see ordered
	at      int   // in a list of scored skills, where one of them stands for all; -1 if none does yet
}

// distinct leaves out copies, and notes them in r. Of each family in the scope one skill stands for
// all, see ordered, also where only its copies were found; a copy outside the scope hides none.
// A skill that the prompt names for certain is never left out.
func (r *retrieval) distinct(scored []rank.Scored) []rank.Scored {
	kept := make([]rank.Scored, 0, len(scored))
	families := r.families(scored)
	r.copies = make(map[int][]int)
	var stay snapshot.Skills // of several that the prompt names, none is left out
	for _, s := range scored {
		f := families[s.Key]
		if f == nil {
			kept = append(kept, s)
			continue
		}
		if f.at >= 0 && !s.Exact {
			continue
		}
		if first := f.members[0]; first != s.Key && !s.Exact {
			r.copies[first] = f.members
			if s.Lower && !r.lower.Has(first) {
				continue // its words do not speak for a skill that is trusted more
			}
			s.Key, s.ID, s.Lower = first, r.view.ID(first), r.lower.Has(first)
		}
		r.copies[s.Key], f.at = f.members, len(kept)
		stay.Add(s.Key)
		kept = append(kept, s)
	}
	for key, members := range r.copies {
		r.copies[key] = slices.DeleteFunc(slices.Clone(members), func(i int) bool { return i == key || stay.Has(i) })
	}
	return kept
}

// families returns the families of scored skills that have copies in the scope, by skill.
func (r *retrieval) families(scored []rank.Scored) map[int]*family {
	var keys snapshot.Skills
	for i := range scored {
		keys.Add(scored[i].Key)
	}
	members := make(map[int][]int) // whatever the scope, by family
	for i, number := range r.view.Families() {
		if keys.Has(i) {
			members[number] = nil
		}
	}
	if len(members) == 0 {
		return nil
	}
	for i, number := range r.view.Families() {
		if list, ok := members[number]; ok {
			members[number] = append(list, i)
		}
	}
	found := make(map[int]*family)
	for number, all := range members {
		list := slices.DeleteFunc(slices.Clone(r.ordered(number, all)), func(i int) bool { return !r.view.Scope.Offered.Has(i) })
		if len(list) < 2 {
			continue
		}
		f := &family{list, -1}
		for _, i := range list {
			if keys.Has(i) {
				found[i] = f
			}
		}
	}
	return found
}

// ordered returns the skills of a family, the one that stands for it first. Trust counts most, however
// well the others fit the prompt: a fork that repeats the words of its original must not replace it. Then
// come the first source, the newer version, and the first folder: "pdf" before "pdf-fork".
func (r *retrieval) ordered(number int, skills []int) []int {
	type key struct {
		*trust
		family int
	}
	order, _ := remember(r.view.Set, mostFamilies, key{r.trust, number}, func() ([]int, error) {
		list := make([]snapshot.Listed, len(skills))
		for n, i := range skills {
			list[n] = snapshot.Listed{Document: r.view.Doc(i), I: i}
		}
		slices.SortStableFunc(list, func(a, b snapshot.Listed) int {
			newer := 0
			if a.Version != "" && b.Version != "" {
				newer = words.CompareVersions(b.Version, a.Version)
			}
			return cmp.Or(r.trust.of(a.I)-r.trust.of(b.I), r.view.CompareSources(a.Source, b.Source), newer, strings.Compare(path.Dir(a.Path), path.Dir(b.Path)))
		})
		order := make([]int, len(list))
		for n := range list {
			order[n] = list[n].I
		}
		return order, r.view.Err()
	})
	return order // nil if a read has failed, which the view notes
}

// copiesOf returns the copies of skill i that were left out.
func (r *retrieval) copiesOf(i int) []Entry {
	var list []Entry
	for _, j := range r.copies[i] {
		list = append(list, entryOf(r.view, j))
	}
	return list
}

// copyOf returns the skill that stands for skill i; ok is false if i stands for itself.
func (r *retrieval) copyOf(i int) (kept int, ok bool) {
	for k, list := range r.copies {
		if slices.Contains(list, i) {
			return k, true
		}
	}
	return 0, false
}
