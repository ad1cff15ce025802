package snapshot_test

import (
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

	"github.com/repertoire-skills/repertoire/snapshot"
)

// answers reads some of everything that a snapshot knows, until an error.
func answers(path string, prompt []float32) (out []any, err error) {
	s, err := snapshot.Open(path)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	keep := func(v any, e error) {
		if e == nil {
			out = append(out, v)
		}
		err = errors.Join(err, e)
	}
	terms, e := s.Lookup([]string{"w1", "w7", "w30", "w200", "w4000", "absent"})
	keep(terms, e)
	hits, e := s.Search(terms, nil, 30)
	keep(hits, e)
	for i := 0; i < s.Len(); i += 20 {
		d, e := s.Doc(i)
		keep(d, e)
		head, e := s.HeadTerms(nil, i)
		keep(head, e)
		name, e := s.NameTerms(nil, i)
		keep(name, e)
	}
	for _, f := range []func(string) (snapshot.Bitmap, bool, error){s.Tag, s.Source} {
		for _, name := range []string{"tag 3", "source-2"} {
			set, _, e := f(name)
			keep(set, e)
		}
	}
	if p, e := s.Prompt(prompt); e == nil {
		near, e := p.Nearest(nil, 20)
		keep(near, e)
	}
	return out, err
}

// TestDamage: a file with a bit flipped, or cut, answers as the intact one or
// says that it is damaged.
func TestDamage(t *testing.T) {
	g := newGenerator(11)
	path := write(t, snapshot.Meta{Model: "test", Dim: dim, Weights: weights}, g.documents(2200, 40, dim))
	prompt := g.vector(dim)
	want, err := answers(path, prompt)
	if err != nil {
		t.Fatal(err)
	}
	intact, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	rng := rand.New(rand.NewPCG(1, 2))
	rounds := 1000
	if testing.Short() {
		rounds = 100
	}
	broken := filepath.Join(t.TempDir(), "broken")
	for i := range rounds {
		at := rng.IntN(len(intact))
		data := append([]byte(nil), intact...)
		if i%2 == 0 {
			data = data[:at]
		} else {
			data[at] ^= 1 << rng.IntN(8)
		}
		if err := os.WriteFile(broken, data, 0o600); err != nil {
			t.Fatal(err)
		}
		got, err := answers(broken, prompt)
		switch {
		case err == nil && !reflect.DeepEqual(got, want):
			t.Fatalf("damage at %d changed the answers", at)
		case err == nil && i%2 == 0:
			t.Fatalf("nobody saw that the file was cut at %d", at)
		case err != nil && (!errors.Is(err, snapshot.ErrDamaged) || !strings.Contains(err.Error(), broken)):
			t.Fatalf("damage at %d: %v", at, err)
		}
	}
}

// TestCutWhileMapped: the pages are gone when they are read.
func TestCutWhileMapped(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("a mapped file cannot be cut")
	}
	path := write(t, snapshot.Meta{Weights: weights}, newGenerator(1).documents(3000, 60, 0))
	s := open(t, path)
	if err := os.Truncate(path, 0); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Lookup([]string{"w1"}); !errors.Is(err, snapshot.ErrDamaged) {
		t.Errorf("%v, want %v", err, snapshot.ErrDamaged)
	}
}

// TestClose: whoever has acquired a snapshot may use it; the others are told.
func TestClose(t *testing.T) {
	path := write(t, snapshot.Meta{Weights: weights}, newGenerator(1).documents(100, 30, 0))
	s, err := snapshot.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	if !s.Acquire() {
		t.Fatal("an open snapshot cannot be acquired")
	}
	for range 2 {
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
	}
	doc, err := s.Doc(3)
	if err != nil {
		t.Fatal(err)
	}
	if s.Acquire() {
		t.Error("acquired after it was closed")
	}
	if err := s.Release(); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Doc(3); !errors.Is(err, snapshot.ErrClosed) {
		t.Errorf("%v, want %v", err, snapshot.ErrClosed)
	}
	if doc.Key != "skill-000003" {
		t.Errorf("a document changed to %+v", doc)
	}
}

// TestConcurrent: a snapshot is closed under its readers, who stop one by one.
func TestConcurrent(t *testing.T) {
	path := write(t, snapshot.Meta{Weights: weights}, newGenerator(1).documents(500, 30, 0))
	s, err := snapshot.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	for i := range 8 {
		wg.Go(func() {
			for j := 0; s.Acquire(); j++ {
				terms, err := s.Lookup([]string{fmt.Sprintf("w%d", j%40)})
				if err == nil {
					_, err = s.Search(terms, nil, 10)
				}
				if err := errors.Join(err, s.Release()); err != nil {
					t.Error(err)
				}
				if i == 0 && j == 200 {
					if err := s.Close(); err != nil {
						t.Error(err)
					}
				}
			}
		})
	}
	wg.Wait()
	if _, err := s.Doc(0); !errors.Is(err, snapshot.ErrClosed) {
		t.Errorf("%v, want %v: somebody holds it still", err, snapshot.ErrClosed)
	}
}
