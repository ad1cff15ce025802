package crashtest_test

import (
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"testing"

	"github.com/repertoire-skills/repertoire/internal/atomicfile"
	"github.com/repertoire-skills/repertoire/internal/atomicfile/crashtest"
	"github.com/repertoire-skills/repertoire/internal/must"
)

// folder returns the files of a folder.
func folder(t *testing.T, dir string) map[string][]byte {
	t.Helper()
	list, err := os.ReadDir(dir)
	must.Do(t, err)
	files := make(map[string][]byte)
	for _, e := range list {
		data, err := os.ReadFile(filepath.Join(dir, e.Name()))
		must.Do(t, err)
		files[e.Name()] = data
	}
	return files
}

// TestKilled: what is there after each step is what a process that is killed there leaves.
func TestKilled(t *testing.T) {
	dir := t.TempDir()
	rng := rand.New(rand.NewPCG(3, 4))
	var states []map[string][]byte
	disk := &crashtest.Disk{Before: func(int) error { states = append(states, folder(t, dir)); return nil }}
	for i := range 40 {
		name := filepath.Join(dir, fmt.Sprint(rng.IntN(5)))
		switch rng.IntN(4) {
		case 0:
			if err := disk.Remove(name); err != nil {
				states = states[:len(states)-1] // no step
			}
		case 1:
			f, err := disk.Create(name + "-discarded")
			must.Do(t, err)
			must.Do(t, f.Discard())
		default:
			must.Do(t, atomicfile.Write(disk, name, fmt.Append(nil, "text ", i)))
		}
	}
	for step, want := range append(states, folder(t, dir)) {
		got := disk.After(step, crashtest.Nothing, rng)
		if names := slices.Sorted(maps.Keys(got)); !slices.Equal(names, slices.Sorted(maps.Keys(want))) {
			t.Fatalf("before step %d: %q, want %q", step, names, slices.Sorted(maps.Keys(want)))
		}
		for name, data := range want {
			if len(data) > 0 && !reflect.DeepEqual(got[name], data) { // an empty one may be written to in part
				t.Errorf("before step %d: %s is %q, want %q", step, name, got[name], data)
			}
		}
	}
}

// TestPowerCut: what is synced stays, unless the name is lost; what is not may be lost.
func TestPowerCut(t *testing.T) {
	dir := t.TempDir()
	disk := new(crashtest.Disk)
	f, err := disk.Create(filepath.Join(dir, "temp"))
	must.Do(t, err)
	_, err = f.WriteAt([]byte("synced"), 0)
	must.Do(t, errors.Join(err, f.Sync()))
	_, err = f.WriteAt([]byte(" and not"), 6)
	must.Do(t, errors.Join(err, f.MoveTo(filepath.Join(dir, "file"))))
	seen := make(map[string]map[string]bool)
	for loss := range crashtest.Losses {
		seen[loss.String()] = make(map[string]bool)
		for seed := range uint64(200) {
			for name, data := range disk.After(disk.Len(), loss, rand.New(rand.NewPCG(seed, 0))) {
				seen[loss.String()][fmt.Sprintf("%s %q", name, data)] = true
			}
		}
	}
	for loss, want := range map[crashtest.Loss][]string{
		crashtest.Nothing:  {`file "synced and not"`},
		crashtest.Contents: {`file "synced"`},
		crashtest.Last:     {`file "synced and not"`, `file "synced"`, `file "synced an"`, `file "synced an\x00\x00\x00\x00\x00"`, `temp "synced and not"`},
		crashtest.Any:      {`file "synced and not"`, `file "synced"`, `temp "synced and not"`},
	} {
		for _, state := range want {
			if !seen[loss.String()][state] {
				t.Errorf("%v: %s never occurs", loss, state)
			}
		}
		if loss <= crashtest.Contents && len(seen[loss.String()]) != len(want) {
			t.Errorf("%v: %v", loss, seen[loss.String()])
		}
	}
	if n := len(seen[crashtest.Everything.String()]); n > 0 {
		t.Errorf("%d files are left of nothing", n)
	}
	disk.Before = func(int) error { return os.ErrInvalid }
	if _, err := disk.Create(filepath.Join(dir, "more")); !errors.Is(err, os.ErrInvalid) {
		t.Errorf("a cancelled step returns %v", err)
	}
}
