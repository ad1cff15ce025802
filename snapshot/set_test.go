package snapshot_test

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"testing"

	"github.com/repertoire-skills/repertoire/internal/must"
	"github.com/repertoire-skills/repertoire/snapshot"
	"github.com/repertoire-skills/repertoire/store"
)

// setOf returns the set of a base with these skills and a delta that replaces rows by other
// skills; no rows mean no delta.
func setOf(t *testing.T, base []document, replaced []int64, delta []document) *snapshot.Set {
	t.Helper()
	encode := func(g store.Generation, info snapshot.Info, docs []document) *snapshot.Snapshot {
		info.Generation = g
		info.Sources = []store.Source{{Label: "home", Priority: 2}, {Label: "work", Priority: 1}}
		data, err := snapshot.Encode(metaOf(t, g, info), each(docs))
		must.Do(t, err)
		s, err := snapshot.New(data)
		must.Do(t, err)
		return s
	}
	snaps := []*snapshot.Snapshot{encode(first, snapshot.Info{}, base)}
	if replaced != nil {
		snaps = append(snaps, encode(second, snapshot.Info{Base: first, Replaced: replaced}, delta))
	}
	s, err := snapshot.NewSet(snaps...)
	must.Do(t, err)
	t.Cleanup(func() { s.Close(nil) })
	return s
}

// example returns a set of a base with five skills, of which the last is shadowed by the one
// before. The delta replaces the second, removes the third and adds one.
func example(t *testing.T) *snapshot.Set {
	base := named(nil, "a", "b", "c", "d", "e")
	base[4].Key, base[4].Name, base[4].ID, base[4].Source, base[4].Hidden = "d", "d", "e", "work", true
	return setOf(t, base, []int64{2, 3, 9}, named([]int64{2, 9}, "b", "bb"))
}

// view reads a set; an error fails the test.
func view(t *testing.T, s *snapshot.Set, f func(v *snapshot.View)) {
	t.Helper()
	must.Do(t, s.Read(func(v *snapshot.View) error { f(v); return nil }))
}

// TestNumbering: the numbers of skills are ordinals in the base, higher ones in the delta,
// and replaced skills are not found.
func TestNumbering(t *testing.T) {
	t.Parallel()
	s := example(t)
	if s.Size() != 5 || s.Offered() != 4 || s.Generation != second || s.Base != first {
		t.Errorf("%d skills, %d offered, generation %v on %v", s.Size(), s.Offered(), s.Generation, s.Base)
	}
	view(t, s, func(v *snapshot.View) {
		got := map[int]string{}
		for i := range v.Scope.In.All() {
			got[i] = fmt.Sprintf("%s %v %d %s", v.ID(i), v.Scope.Offered.Has(i), v.Facts(i).Row, v.Doc(i).Key)
		}
		want := map[int]string{0: "a true 1 a", 3: "d true 4 d", 4: "e false 5 d", 64: "b true 2 b", 65: "bb true 9 bb"}
		if !maps.Equal(got, want) {
			t.Errorf("skills %v, want %v", got, want)
		}
		for row, want := range map[int64]int{1: 0, 2: 64, 3: -1, 5: 4, 9: 65, 77: -1} {
			if i, ok := v.ByRow(row); ok != (want >= 0) || ok && i != want {
				t.Errorf("row %d is skill %d, %v; want %d", row, i, ok, want)
			}
		}
		for key, want := range map[string]int{"a": 0, "b": 64, "bb": 65, "c": -1, "e": -1, "": -1} {
			if i, ok := v.Names().First(key); ok != (want >= 0) || ok && i != want {
				t.Errorf("%q is skill %d, %v; want %d", key, i, ok, want)
			}
		}
		if got := v.Names().Prefixed("b"); !slices.Equal(got, []int{64, 65}) {
			t.Errorf("names that begin with b: %v", got)
		}
		var sorted []int
		for _, l := range v.Names().Sorted(v.Scope.In.AndNot(snapshot.Skills{1 << 3})) {
			sorted = append(sorted, l.I)
		}
		if want := []int{0, 64, 65, 4}; !slices.Equal(sorted, want) {
			t.Errorf("by name %v, want %v", sorted, want)
		}
	})
}

// TestFrequencies: a term counts once for each current skill; replaced documents do not
// count.
func TestFrequencies(t *testing.T) {
	t.Parallel()
	view(t, example(t), func(v *snapshot.View) {
		got := v.Retriever().Frequencies(v.Retriever().Lookup([]string{"common", "bodyb", "bodyc", "bodybb", "e", "absent", "a"}), 6)
		if want := []int{5, 1, 0, 1, 1, 0}; !slices.Equal(got, want) {
			t.Errorf("frequencies %v, want %v", got, want)
		}
	})
	view(t, setOf(t, named(nil, "a", "b"), nil, nil), func(v *snapshot.View) {
		if got := v.Retriever().Frequencies(v.Retriever().Lookup([]string{"common", "bodyb"}), 2); !slices.Equal(got, []int{2, 1}) {
			t.Errorf("without a delta %v", got)
		}
	})
}

// TestScope: of the skills of a scope, a search finds only the offered ones.
func TestScope(t *testing.T) {
	t.Parallel()
	view(t, example(t), func(v *snapshot.View) {
		without := v.NewScope(v.Scope.In.AndNot(snapshot.Skills{1 << 3}))
		if without.In.Has(3) || !without.Offered.Has(4) || v.In(without).ID(4) != "d" {
			t.Error("a scope without d does not offer the other d")
		}
		all := v.NewScope(v.Scope.In)
		only, other := v.NewScope(snapshot.Skills{0, 1}), v.NewScope(snapshot.Skills{1 << 4})
		for i := range 66 {
			there := slices.Contains([]int{0, 3, 4, 64, 65}, i)
			if all.In.Has(i) != there || all.Offered.Has(i) != (there && i != 4) {
				t.Errorf("skill %d: allowed %v, searched %v", i, all.In.Has(i), all.Offered.Has(i))
			}
			if only.In.Has(i) != (i == 64) || only.Offered.Has(i) != (i == 64) {
				t.Errorf("skill %d in the scope of 64: %v, %v", i, only.In.Has(i), only.Offered.Has(i))
			}
		}
		if all.Visible != 4 || only.Visible != 1 || other.Visible != 1 {
			t.Errorf("%d, %d and %d skills are searched", all.Visible, only.Visible, other.Visible)
		}
		found := func(s *snapshot.Scope, k int) (list []int) {
			for _, h := range v.Retriever().Search(v.Retriever().Lookup([]string{"common"}), maps.All(map[int]float64{0: 1}), s.Offered, k) {
				list = append(list, h.Doc)
			}
			return list
		}
		got := found(all, 9)
		slices.Sort(got)
		if !slices.Equal(got, []int{0, 3, 64, 65}) || !slices.Equal(found(only, 9), []int{64}) || len(found(all, 2)) != 2 {
			t.Errorf("found %v, %v and %v", got, found(only, 9), found(all, 2))
		}
	})
}

// TestCached: Cached keeps a value, but not an error.
func TestCached(t *testing.T) {
	t.Parallel()
	s := example(t)
	calls := 0
	count := func() (any, error) { calls++; return calls, nil }
	stop := errors.New("stop")
	if _, err := s.Cached("x", func() (any, error) { return nil, stop }); err != stop {
		t.Errorf("error %v", err)
	}
	for range 3 {
		if v, err := s.Cached("x", count); v != 1 || err != nil {
			t.Errorf("note %v, %v", v, err)
		}
	}
}

// TestReadClosed: reading a closed set returns ErrClosed.
func TestReadClosed(t *testing.T) {
	t.Parallel()
	s := example(t)
	must.Do(t, s.Close(nil))
	if err := s.Read(func(*snapshot.View) error { return nil }); !errors.Is(err, snapshot.ErrClosed) {
		t.Errorf("error %v", err)
	}
}

// TestViewErr: after a failed read, Read returns its error, whatever the function returns.
func TestViewErr(t *testing.T) {
	t.Parallel()
	err := example(t).Read(func(v *snapshot.View) error {
		if d := v.Doc(99); d.Name != "" || v.Err() == nil {
			t.Errorf("there is a skill 99: %+v", d)
		}
		return errors.New("nonsense")
	})
	if err == nil || err.Error() == "nonsense" {
		t.Errorf("error %v", err)
	}
}
