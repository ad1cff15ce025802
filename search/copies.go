package search

import (
	"cmp"
	"path"
	"slices"
	"strings"

	"github.com/repertoire-skills/repertoire/internal/words"
	"github.com/repertoire-skills/repertoire/rank"
)

// distinct leaves out copies, and notes them in r. Of each family in the scope one skill stands for
// all, see precedence, also where only its copies were found; a copy outside the scope hides none.
// A skill that the prompt names for certain is never left out.
func (r *retrieval) distinct(scored []rank.Scored) []rank.Scored {
	kept := make([]rank.Scored, 0, len(scored))
	places := make(map[int]int) // in kept, of the members of the families there
	r.copies = make(map[int][]int)
	for _, s := range scored {
		if at, ok := places[s.Key]; ok && !s.Exact {
			join(&kept[at], &s)
			continue
		}
		family := r.family(s.Key)
		if len(family) == 0 {
			kept = append(kept, s)
			continue
		}
		family = append(family, s.Key)
		if first := slices.MinFunc(family, r.precedence); first != s.Key && !s.Exact {
			r.copies[first] = without(family, first)
			if s.Lower && !r.lower.Has(first) {
				continue // its words do not speak for a skill that is trusted more
			}
			s.Key, s.ID, s.Lower = first, r.view.ID(first), r.lower.Has(first)
		}
		r.copies[s.Key] = without(family, s.Key)
		for _, i := range family {
			places[i] = len(kept)
		}
		kept = append(kept, s)
	}
	for _, s := range kept { // of two that the prompt names, neither is left out
		for key, list := range r.copies {
			r.copies[key] = without(list, s.Key)
		}
	}
	return kept
}

// join notes that a copy of a skill was found too. The skill that stays is relevant if either is,
// and its probability is the sum of both: that one or the other is wanted. A copy that is trusted
// less adds nothing.
func join(to, s *rank.Scored) {
	if s.Lower && !to.Lower {
		return
	}
	to.Relevant, to.Probability = to.Relevant || s.Relevant, min(1, to.Probability+s.Probability)
}

// family returns the other skills of a skill's family that are offered in the scope.
func (r *retrieval) family(i int) []int {
	return slices.DeleteFunc(r.view.Family(i), func(j int) bool { return !r.view.Scope.Offered.Has(j) })
}

// precedence orders the skills of a family: the one that is trusted more comes first, whichever
// fits the prompt better, since a fork that repeats the words of its original must not replace it;
// then the one of the first source, the newer version, and the first folder: "pdf" before
// "pdf-fork".
func (r *retrieval) precedence(i, j int) int {
	if a, b := r.lower.Has(i), r.lower.Has(j); a != b {
		if a {
			return 1
		}
		return -1
	}
	a, b := r.view.Doc(i), r.view.Doc(j)
	newer := 0
	if a.Version != "" && b.Version != "" {
		newer = words.CompareVersions(b.Version, a.Version)
	}
	return cmp.Or(r.view.CompareSources(a.Source, b.Source), newer, strings.Compare(path.Dir(a.Path), path.Dir(b.Path)))
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

func without(list []int, i int) []int {
	return slices.DeleteFunc(slices.Clone(list), func(j int) bool { return j == i })
}
