package snapshot_test

import (
	"os"
	"path/filepath"
	"reflect"
	"testing"
	"time"

	"github.com/repertoire-skills/repertoire/internal/must"
	"github.com/repertoire-skills/repertoire/snapshot"
	"github.com/repertoire-skills/repertoire/store"
)

// TestCalibration: what is written is read again, by the same catalog and key only, and not
// after any bit of it has changed.
func TestCalibration(t *testing.T) {
	p := newPlace(t, "key")
	want := &snapshot.Calibration{
		Catalog: catalogName, Method: "m", Model: "model", Base: store.Generation{Number: 3, Token: -4}, Skills: 7,
		Demands: map[string]snapshot.Demands{"": {Needless: snapshot.Rising{0, .25, .25, 1}, Unfit: snapshot.Rising{.5}, Near: 2}, "scope": {Needless: snapshot.Rising{}, Unfit: snapshot.Rising{}}}, Contextual: map[string]snapshot.Demands{"": {Needless: snapshot.Rising{.5}, Unfit: snapshot.Rising{.75}}},
		Cosines: [snapshot.Legs]struct{ Mean, Deviation float64 }{{.1, .3}, {-.2, .4}},
	}
	if got := p.Calibration(catalogName); got != nil {
		t.Errorf("before it is written: %v", got)
	}
	must.Do(t, p.WriteCalibration(want))
	if got := p.Calibration(catalogName); !reflect.DeepEqual(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
	if got := p.Calibration("c0ffef"); got != nil {
		t.Errorf("of another catalog: %v", got)
	}
	if got := snapshot.NewDirectory(p.path, "other", weights).Calibration(catalogName); got != nil {
		t.Errorf("of another key: %v", got)
	}
	files, err := filepath.Glob(p.path + ".*.calibration")
	if err != nil || len(files) != 1 {
		t.Fatalf("files %q, %v", files, err)
	}
	data, err := os.ReadFile(files[0])
	must.Do(t, err)
	for i := range data {
		data[i] ^= 1 << (i % 8)
		must.Do(t, os.WriteFile(files[0], data, 0o600))
		if got := p.Calibration(catalogName); got != nil {
			t.Errorf("byte %d is damaged: %v", i, got)
		}
		data[i] ^= 1 << (i % 8)
	}
}

// TestDemandsFalling: demands that are no probabilities in rising order are refused.
func TestDemandsFalling(t *testing.T) {
	for _, d := range []snapshot.Rising{{.5, .25}, {-.5}, {0, 1.5}} {
		text, err := d.MarshalText()
		must.Do(t, err)
		if got := new(snapshot.Rising); got.UnmarshalText(text) == nil {
			t.Errorf("%v is accepted", d)
		}
	}
}

func TestPromptVectors(t *testing.T) {
	p := newPlace(t, "key")
	want := [][]float32{{1, 0, 0}, {0, -1, .5}}
	must.Do(t, p.WritePromptVectors(catalogName, "model and prompts", want))
	if got := p.PromptVectors(catalogName, "model and prompts"); !reflect.DeepEqual(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
	if got := p.PromptVectors(catalogName, "another model"); got != nil {
		t.Errorf("of another model: %v", got)
	}
}

// TestSweepCalibration: a calibration outlives its base, but not its catalog.
func TestSweepCalibration(t *testing.T) {
	p := newPlace(t, "key")
	for _, catalog := range []string{catalogName, "0ther"} {
		must.Do(t, p.WriteCalibration(&snapshot.Calibration{Catalog: catalog}))
		must.Do(t, p.WritePromptVectors(catalog, "k", [][]float32{{1}}))
	}
	p.Sweep(catalogName, snapshot.Files{}, time.Now().Add(48*time.Hour))
	if p.Calibration(catalogName) == nil || p.PromptVectors(catalogName, "k") == nil {
		t.Error("the calibration of the catalog is gone")
	}
	if p.Calibration("0ther") != nil || p.PromptVectors("0ther", "k") != nil {
		t.Error("the calibration of an older catalog is still there")
	}
}
