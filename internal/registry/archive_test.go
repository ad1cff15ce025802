package registry

import (
	"testing"

	"github.com/repertoire-skills/repertoire/internal/wellknown"
)

// TestArchiveReaders: an archive counts once, for one of those who read it now.
func TestArchiveReaders(t *testing.T) {
	held := make(map[string]int)
	reader := func(name string) *visit {
		return &visit{Visit: Visit{Hold: func(n int) func() { held[name] += n; return func() { held[name] -= n } }}}
	}
	a := &archive{Packed: wellknown.Packed{Zip: make([]byte, 7)}}
	expect := func(ann, bob, cleo int) {
		t.Helper()
		if held["ann"] != ann || held["bob"] != bob || held["cleo"] != cleo {
			t.Errorf("%v, want %d, %d, %d", held, ann, bob, cleo)
		}
	}
	ann, bob, cleo := a.use(reader("ann")), a.use(reader("bob")), a.use(reader("cleo"))
	expect(7, 0, 0)
	bob()
	expect(7, 0, 0)
	ann()
	expect(0, 0, 7)
	cleo()
	expect(0, 0, 0)
	a.use(reader("bob"))()
	expect(0, 0, 0)
}
