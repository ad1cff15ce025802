package cache_test

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/repertoire-skills/repertoire/internal/must"
	"github.com/repertoire-skills/repertoire/store/cache"
)

// open returns a cache in a temp folder, and its path.
func open(t *testing.T) (*cache.Cache, string) {
	path := filepath.Join(t.TempDir(), "deep", "vectors.db")
	c := cache.New(path)
	t.Cleanup(func() { c.Close() })
	return c, path
}

func put(t *testing.T, c *cache.Cache, model string, texts ...string) {
	t.Helper()
	var hashes, vectors [][]byte
	for _, text := range texts {
		hashes, vectors = append(hashes, []byte(text)), append(vectors, []byte(model+" of "+text))
	}
	must.Do(t, c.PutVectors(t.Context(), model, hashes, vectors))
}

// has returns which of the texts the cache knows, and fails if a vector is another one.
func has(t *testing.T, c *cache.Cache, model string, texts ...string) string {
	t.Helper()
	var hashes [][]byte
	for _, text := range texts {
		hashes = append(hashes, []byte(text))
	}
	found, err := c.Vectors(t.Context(), model, hashes)
	must.Do(t, err)
	var known []string
	for _, text := range texts {
		vector, ok := found[text]
		if ok {
			known = append(known, text)
		}
		if ok && string(vector) != model+" of "+text {
			t.Errorf("the vector of %q by %s is %q", text, model, vector)
		}
	}
	return strings.Join(known, " ")
}

func TestVectors(t *testing.T) {
	c, path := open(t)
	if _, err := os.Stat(filepath.Dir(path)); err == nil {
		t.Error("a file was made before anybody asked")
	}
	if got := has(t, c, "m", "pdf"); got != "" {
		t.Errorf("an empty cache has %q", got)
	}
	put(t, c, "m", "pdf", "csv")
	put(t, c, "n", "csv", "csv", "xls")
	for range 2 {
		if got := has(t, c, "m", "pdf", "csv", "xls"); got != "pdf csv" {
			t.Errorf("of model m it has %q", got)
		}
		if got := has(t, c, "n", "pdf", "csv", "xls"); got != "csv xls" {
			t.Errorf("of model n it has %q", got)
		}
		if err := c.Close(); err != nil { // the next call opens it again
			t.Error(err)
		}
	}
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("others may read it: %v, %v", info.Mode(), err)
	}
}

// TestEvict: what was not used for longest goes when there is no room.
func TestEvict(t *testing.T) {
	c, path := open(t)
	day := time.Unix(0, 0)
	c.SetLimits(400<<10, func() time.Time { return day })
	big := func(from, to int) {
		t.Helper()
		var hashes, vectors [][]byte
		for i := from; i < to; i++ {
			hashes, vectors = append(hashes, fmt.Append(nil, i)), append(vectors, bytes.Repeat([]byte{byte(i)}, 2000))
		}
		must.Do(t, c.PutVectors(t.Context(), "m", hashes, vectors))
	}
	known := func(i int) bool {
		t.Helper()
		found, err := c.Vectors(t.Context(), "m", [][]byte{fmt.Append(nil, i)})
		must.Do(t, err)
		return len(found) == 1
	}
	big(0, 100)
	day = day.AddDate(0, 0, 1)
	big(100, 150)
	if !known(0) { // and it is in use from now on
		t.Fatal("a vector went although there was room")
	}
	day = day.AddDate(0, 0, 1)
	big(150, 190)
	if !known(0) || !known(149) || !known(189) {
		t.Error("vectors that were used went before others")
	}
	if known(1) {
		t.Error("nothing went")
	}
	for i := 200; i < 2000; i += 100 {
		big(i, i+100)
	}
	if info, err := os.Stat(path); err != nil || info.Size() > 800<<10 {
		t.Errorf("the file has %d bytes where 400 KiB are allowed and a transaction adds 200 KiB: %v", info.Size(), err)
	}
}

// TestTwo: two that use one file at once lose nothing.
func TestTwo(t *testing.T) {
	_, path := open(t)
	var all sync.WaitGroup
	for w := range 4 {
		all.Go(func() {
			c := cache.New(path)
			defer c.Close()
			for i := range 25 {
				put(t, c, "m", fmt.Sprint(w, "-", i))
				has(t, c, "m", fmt.Sprint(w, "-", i), "0-0")
			}
		})
	}
	all.Wait()
	c := cache.New(path)
	defer c.Close()
	for w := range 4 {
		for i := range 25 {
			if text := fmt.Sprint(w, "-", i); has(t, c, "m", text) == "" {
				t.Errorf("%s is lost", text)
			}
		}
	}
}

// TestDamaged: a damaged file, and one of another version, is made anew; another program's
// database and a link stay as they are.
func TestDamaged(t *testing.T) {
	good := func(t *testing.T) []byte {
		c, path := open(t)
		put(t, c, "m", "pdf")
		c.Close()
		data, err := os.ReadFile(path)
		must.Do(t, err)
		return data
	}(t)
	version := bytes.Clone(good)
	version[63] = 9 // user_version
	other := bytes.Clone(good)
	other[70] = 9 // application_id
	for _, tt := range []struct {
		name string
		data []byte
		anew bool
	}{
		{"noise", bytes.Repeat([]byte("noise "), 4000), true},
		{"cut", good[:len(good)/2], true},
		{"another version", version, true},
		{"another program's", other, false},
		{"empty", nil, true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			c, path := open(t)
			must.Do(t, os.MkdirAll(filepath.Dir(path), 0o700))
			must.Do(t, os.WriteFile(path, tt.data, 0o600))
			if tt.anew {
				put(t, c, "m", "csv")
				if got := has(t, c, "m", "csv", "pdf"); got != "csv" {
					t.Errorf("it has %q", got)
				}
				return
			}
			if err := c.PutVectors(t.Context(), "m", [][]byte{{1}}, [][]byte{{1}}); err == nil || !strings.Contains(err.Error(), path) {
				t.Errorf("error %v", err)
			}
			c.Close()
			if now, err := os.ReadFile(path); err != nil || !bytes.Equal(now, tt.data) {
				t.Errorf("the file was changed: %v", err)
			}
		})
	}
}

// TestSpecial: what is no regular file is not opened.
func TestSpecial(t *testing.T) {
	path := filepath.Join(t.TempDir(), "vectors.db")
	must.Do(t, os.Mkdir(path, 0o700))
	c := cache.New(path)
	defer c.Close()
	if _, err := c.Vectors(t.Context(), "m", [][]byte{{1}}); err == nil {
		t.Error("a folder was opened")
	}
}
