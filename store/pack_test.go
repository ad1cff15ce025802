package store

import (
	"errors"
	"math"
	"slices"
	"testing"

	"github.com/repertoire-skills/repertoire/internal/must"
	"github.com/repertoire-skills/repertoire/internal/testsize"
	"github.com/repertoire-skills/repertoire/skill"
)

func FuzzPack(f *testing.F) {
	f.Add("")
	f.Add("# Title\n\ntext \x00 \xff")
	f.Fuzz(func(t *testing.T, text string) {
		for range 2 { // the second time with what the first left
			data, err := pack([]byte(text))
			must.Do(t, err)
			if got, err := unpack(data); err != nil || string(got) != text {
				t.Errorf("%q became %q, %v", text, got, err)
			}
		}
	})
}

func TestPackVector(t *testing.T) {
	for _, v := range [][]float32{
		{}, {0, 0}, {0, 1, -1, .5, -.001}, {3e38, -3e38}, {1e-30, -2e-30, 0},
	} {
		got, err := UnpackVector(PackVector(v))
		if err != nil || len(got) != len(v) {
			t.Errorf("%v became %v, %v", v, got, err)
			continue
		}
		for i, x := range v {
			if off := math.Abs(float64(got[i] - x)); off > 1.0001/254*float64(max(slices.Max(v), -slices.Min(v))) {
				t.Errorf("%v became %v", v, got)
				break
			}
		}
	}
	if _, err := UnpackVector(make([]byte, 3)); err == nil {
		t.Error("3 bytes are a vector")
	}
}

func FuzzUnpackVector(f *testing.F) {
	f.Add([]byte{})
	f.Add([]byte{1, 2, 3, 4, 5})
	f.Add(PackVector([]float32{1, -2}))
	f.Fuzz(func(t *testing.T, data []byte) {
		v, err := UnpackVector(data)
		if (err == nil) != (len(data) >= 4) {
			t.Fatalf("%d bytes: %v", len(data), err)
		}
		if err == nil && len(PackVector(v)) != len(data) {
			t.Errorf("%x became %x", data, PackVector(v))
		}
	})
}

// FuzzUnpack: a body and problems that Pack did not make are either damage, or values that
// survive packing again.
func FuzzUnpack(f *testing.F) {
	f.Add([]byte("{}\x00body"), []byte("[]"))
	f.Add([]byte(`{"description":1}`+"\x01body"), []byte(`[{"rule":"r","line":3}]`))
	f.Add([]byte("null\x01"), []byte("null"))
	f.Add([]byte("no end"), []byte("{}"))
	f.Fuzz(func(t *testing.T, body, problems []byte) {
		body, err1 := pack(body)
		problems, err2 := pack(problems)
		must.Do(t, errors.Join(err1, err2))
		s := &skill.Skill{Meta: skill.Meta{Description: "d"}}
		if err := Unpack(s, body, problems); err != nil {
			if !errors.Is(err, ErrDamaged) {
				t.Errorf("error %v, want ErrDamaged", err)
			}
			return
		}
		r := Record{Skill: s}
		must.Do(t, r.Pack())
		again := &skill.Skill{Meta: s.Meta}
		err := Unpack(again, r.Body, r.Problems)
		if err != nil || again.Body != s.Body || len(again.Frontmatter) != len(s.Frontmatter) || len(again.Problems) != len(s.Problems) {
			t.Errorf("%+v became %+v, %v", s, again, err)
		}
	})
}

// TestUnpackBounded: a few bytes cannot become gigabytes.
func TestUnpackBounded(t *testing.T) {
	testsize.Long(t)
	for size, want := range map[int]error{maxUnpacked: nil, maxUnpacked + 1: ErrDamaged} {
		packed, err := pack(make([]byte, size))
		must.Do(t, err)
		if terms, err := UnpackTerms(packed); !errors.Is(err, want) || want == nil && len(terms) != size {
			t.Errorf("%d bytes, packed to %d: %d, %v", size, len(packed), len(terms), err)
		}
	}
}
