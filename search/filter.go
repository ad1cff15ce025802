package search

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/repertoire-skills/repertoire/internal/words"
)

// Filter returns the entries from the source with this label and with this tag,
// without regard to case; "" means any. A label or a tag that no entry has is an
// error that lists those that there are.
func Filter(entries []Entry, source, tag string) ([]Entry, error) {
	entries, err := keep(entries, "source", source, func(e Entry) []string { return []string{e.Source} })
	if err != nil {
		return nil, err
	}
	return keep(entries, "tag", tag, func(e Entry) []string { return e.Tags })
}

// keep returns the entries for which of returns a text like want.
func keep(entries []Entry, kind, want string, of func(Entry) []string) ([]Entry, error) {
	if want == "" {
		return entries, nil
	}
	var kept []Entry
	var known []string
	for _, e := range entries {
		known = append(known, of(e)...)
		if slices.ContainsFunc(of(e), func(s string) bool { return strings.EqualFold(s, want) }) {
			kept = append(kept, e)
		}
	}
	if len(kept) > 0 {
		return kept, nil
	}
	slices.Sort(known)
	known = slices.Compact(known)
	if similar := words.Similar(want, known); len(similar) > 0 {
		known = similar
	}
	if len(known) == 0 {
		return nil, errors.New("no skill has a " + kind)
	}
	return nil, fmt.Errorf("no skill with %s %q; %s", kind, want, words.ThereAre(known))
}
