package install

import (
	"cmp"
	"errors"
	"fmt"
	"path"
	"slices"

	"github.com/repertoire-skills/repertoire/internal/words"
)

// choose returns the skills that a request names. It does not install one of several
// skills that nobody has named.
func (r Request) choose(all []found) ([]found, error) {
	slices.SortStableFunc(all, compareFound)
	switch {
	case len(all) == 0:
		return nil, errors.New("no SKILL.md was found in it; name the folder or the repository that has the skills")
	case r.All:
		return all, nil
	case len(r.Skills) > 0:
		return r.named(all)
	case len(all) > 1:
		return nil, fmt.Errorf("it has %d skills: %s; choose some with --skill NAME, or all of them with --all", len(all), list(namesOf(all)))
	}
	return all, nil
}

// named returns the skills with the names, folders or paths in a request.
func (r Request) named(all []found) ([]found, error) {
	var chosen []found
	for _, want := range r.Skills {
		i := slices.IndexFunc(all, func(f found) bool { return f.name == want })
		if i < 0 {
			i = slices.IndexFunc(all, func(f found) bool { return path.Base(f.dir) == want || f.dir == want })
		}
		if i < 0 {
			return nil, fmt.Errorf("it has no skill %q%s", want, words.Suggest(want, namesOf(all)))
		}
		if !slices.ContainsFunc(chosen, func(f found) bool { return f.dir == all[i].dir }) {
			chosen = append(chosen, all[i])
		}
	}
	return chosen, nil
}

// compareFound orders skills by name; of two with one name the first is the one whose folder
// has that name, as everywhere.
func compareFound(a, b found) int {
	named := func(f found) int {
		if path.Base(f.dir) == f.name {
			return 0
		}
		return 1
	}
	return cmp.Or(cmp.Compare(a.name, b.name), named(a)-named(b), cmp.Compare(a.dir, b.dir))
}

func namesOf(all []found) []string {
	names := make([]string, len(all))
	for i, f := range all {
		names[i] = f.name
	}
	return names
}
