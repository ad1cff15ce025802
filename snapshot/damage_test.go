package snapshot_test

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"runtime"
	"strings"
	"sync"
	"testing"

	"github.com/repertoire-skills/repertoire/internal/must"
	"github.com/repertoire-skills/repertoire/internal/testsize"
	"github.com/repertoire-skills/repertoire/snapshot"
)

// answers reads a part of everything that a snapshot holds, until the first error.
func answers(path string, prompt []float32) (out []any, err error) {
	s, err := snapshot.Open(path)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	err = s.Read(func(r *snapshot.Reader) error {
		out, err = readSome(r, s.Len(), prompt)
		return err
	})
	return append(out, s.Meta(), s.Len()), err
}

func readSome(r *snapshot.Reader, docs int, prompt []float32) (out []any, err error) {
	keep := func(v any, e error) {
		if e == nil {
			out = append(out, v)
		}
		err = errors.Join(err, e)
	}
	terms, e := r.Lookup(nil, []string{"w1", "w7", "w30", "w200", "w4000", "absent"})
	keep(terms, e)
	hits, e := r.Search(terms, firsts(2200), 30)
	keep(hits, e)
	for i := 0; i < docs; i += 20 {
		d, e := r.Doc(i)
		keep(d, e)
		facts, e := r.Facts(i)
		keep(facts, e)
		head, _, e := r.HeadTerms(nil, i, 3)
		keep(head, e)
		name, _, e := r.HeadTerms(nil, i, 1)
		keep(name, e)
		sketch, e := r.Sketch(i)
		keep(append([]byte{}, sketch...), e) // a copy, because closing the file unmaps the bytes
		ordinal, _, e := r.Ordinal(int64(3*i + 7))
		keep(ordinal, e)
	}
	for _, f := range []func(string) (snapshot.Skills, error){r.Tag, r.Source} {
		for _, name := range []string{"tag 3", "source-2"} {
			set, e := f(name)
			keep(set, e)
		}
	}
	all, e := r.Hidden()
	keep(all, e)
	first, last, e := r.Prefixed("skill-0011")
	keep([]int{first, last}, e)
	if p, e := r.Prompt(snapshot.Words, prompt); e == nil {
		near, e := r.Nearest(p, firsts(2200), 20)
		keep(near, e)
	}
	return out, err
}

// TestDamage: a file with a flipped bit, or a truncated file, gives the same answers as the
// intact one or reports that it is damaged.
func TestDamage(t *testing.T) {
	testsize.Long(t)
	t.Parallel()
	g := newGenerator(11)
	path := write(t, snapshot.Meta{Models: model("test", dim), Weights: weights, Extra: bytes.Repeat([]byte("extra"), 20_000)}, g.documents(2200, 40, dim))
	prompt := g.vector(dim)
	want, err := answers(path, prompt)
	must.Do(t, err)
	intact, err := os.ReadFile(path)
	must.Do(t, err)
	rng := rand.New(rand.NewPCG(1, 2))
	broken := filepath.Join(t.TempDir(), "broken")
	for i := range testsize.Rounds(200, 1000) {
		at := rng.IntN(len(intact))
		data := append([]byte(nil), intact...)
		if i%2 == 0 {
			data = data[:at]
		} else {
			data[at] ^= 1 << rng.IntN(8)
		}
		must.Do(t, os.WriteFile(broken, data, 0o600))
		got, err := answers(broken, prompt)
		switch {
		case err == nil && !reflect.DeepEqual(got, want):
			t.Fatalf("damage at %d changed the answers", at)
		case err == nil && i%2 == 0:
			t.Fatalf("nothing reported that the file was truncated at %d", at)
		case err != nil && (!errors.Is(err, snapshot.ErrDamaged) || !strings.Contains(err.Error(), broken)):
			t.Fatalf("damage at %d: %v", at, err)
		}
	}
}

// TestCutWhileMapped: pages disappear before they are read.
func TestCutWhileMapped(t *testing.T) {
	t.Parallel()
	if runtime.GOOS == "windows" {
		t.Skip("a mapped file cannot be cut")
	}
	path := write(t, snapshot.Meta{Weights: weights}, newGenerator(1).documents(3000, 60, 0))
	s := open(t, path)
	must.Do(t, os.Truncate(path, 0))
	err := s.Read(func(r *snapshot.Reader) error {
		_, err := r.Lookup(nil, []string{"w1"})
		return err
	})
	if !errors.Is(err, snapshot.ErrDamaged) {
		t.Errorf("%v, want %v", err, snapshot.ErrDamaged)
	}
}

// TestPanic: a panic that the mapping did not cause is passed on, and the snapshot is
// released.
func TestPanic(t *testing.T) {
	t.Parallel()
	s := open(t, write(t, snapshot.Meta{}, nil))
	for _, f := range []func(){
		func() { panic("mine") },
		func() { *(*int)(nil) = 1 },
	} {
		func() {
			defer func() {
				if recover() == nil {
					t.Error("the panic was swallowed")
				}
			}()
			err := s.Read(func(*snapshot.Reader) error { f(); return nil })
			t.Errorf("returned %v", err)
		}()
	}
}

// TestClose: a Read that has begun continues; a later Read returns ErrClosed.
func TestClose(t *testing.T) {
	t.Parallel()
	s, err := snapshot.Open(write(t, snapshot.Meta{Weights: weights}, newGenerator(1).documents(100, 30, 0)))
	must.Do(t, err)
	var doc snapshot.Document
	err = s.Read(func(r *snapshot.Reader) error {
		err := s.Read(func(inner *snapshot.Reader) (err error) {
			_, err = inner.Doc(3)
			return err
		})
		if err != nil {
			t.Errorf("nested: %v", err)
		}
		for range 2 {
			if err := s.Close(); err != nil {
				t.Error(err)
			}
		}
		if err := s.Read(func(*snapshot.Reader) error { return nil }); !errors.Is(err, snapshot.ErrClosed) {
			t.Errorf("%v, want %v", err, snapshot.ErrClosed)
		}
		doc, err = r.Doc(3)
		return err
	})
	if err != nil || doc.Key != "skill-000003" {
		t.Errorf("document %+v, %v", doc, err)
	}
	if err := s.Read(func(*snapshot.Reader) error { return nil }); !errors.Is(err, snapshot.ErrClosed) {
		t.Errorf("%v, want %v", err, snapshot.ErrClosed)
	}
}

// TestConcurrent: a snapshot is closed while goroutines read it; each of them stops.
func TestConcurrent(t *testing.T) {
	t.Parallel()
	path := write(t, snapshot.Meta{Weights: weights}, newGenerator(1).documents(500, 30, 0))
	s, err := snapshot.Open(path)
	must.Do(t, err)
	var wg sync.WaitGroup
	for i := range 8 {
		wg.Go(func() {
			var err error
			for j := 0; err == nil; j++ {
				err = s.Read(func(r *snapshot.Reader) error {
					terms, err := r.Lookup(nil, []string{fmt.Sprintf("w%d", j%40)})
					if err == nil {
						_, err = r.Search(terms, s.All(), 10)
					}
					return err
				})
				if i == 0 && j == 200 {
					err = errors.Join(err, s.Close())
				}
			}
			if !errors.Is(err, snapshot.ErrClosed) {
				t.Errorf("%v, want %v", err, snapshot.ErrClosed)
			}
		})
	}
	wg.Wait()
}
