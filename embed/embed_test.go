package embed_test

import (
	"errors"
	"math"
	"testing"

	"github.com/repertoire-skills/repertoire/embed"
	"github.com/repertoire-skills/repertoire/internal/must"
)

func TestUnit(t *testing.T) {
	tests := []struct {
		name string
		in   embed.Vector
	}{
		{"plain", embed.Vector{3, 4}},
		{"negative", embed.Vector{-3, 0, 4, -1}},
		{"unit already", embed.Vector{0, 1}},
		{"squares overflow float32", embed.Vector{3e38, -3e38}},
		{"squares underflow float32", embed.Vector{1e-38, 2e-38}},
		{"one", embed.Vector{-7}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			v := append(embed.Vector(nil), tt.in...)
			must.Do(t, embed.Unit(v))
			if d := embed.Dot(v, v); math.Abs(d-1) > 1e-6 {
				t.Errorf("squared length = %v, want 1", d)
			}
			for i := range v {
				if math.Signbit(float64(v[i])) != math.Signbit(float64(tt.in[i])) {
					t.Errorf("v[%d] = %v changed its sign from %v", i, v[i], tt.in[i])
				}
			}
		})
	}
}

func TestUnitKeepsDirection(t *testing.T) {
	v := embed.Vector{3, 4}
	must.Do(t, embed.Unit(v))
	if v[0] != 0.6 || v[1] != 0.8 {
		t.Errorf("Unit(3, 4) = %v, want 0.6, 0.8", v)
	}
}

func TestUnitRejects(t *testing.T) {
	nan, inf := float32(math.NaN()), float32(math.Inf(1))
	for _, v := range []embed.Vector{nil, {}, {0}, {0, 0, 0}, {1, nan}, {inf, 1}, {-inf, 1}, {inf, -inf}} {
		before := append(embed.Vector(nil), v...)
		if err := embed.Unit(v); !errors.Is(err, embed.ErrVector) {
			t.Errorf("Unit(%v) = %v, want ErrVector", before, err)
		}
		for i := range v {
			if math.Float32bits(v[i]) != math.Float32bits(before[i]) {
				t.Errorf("Unit(%v) changed the vector to %v", before, v)
			}
		}
	}
}

func TestDot(t *testing.T) {
	tests := []struct {
		a, b embed.Vector
		want float64
	}{
		{nil, nil, 0},
		{embed.Vector{1, 0}, embed.Vector{0, 1}, 0},
		{embed.Vector{1, 2, 3}, embed.Vector{4, -5, 6}, 12},
		{embed.Vector{0.6, 0.8}, embed.Vector{-0.6, -0.8}, -1},
	}
	for _, tt := range tests {
		got := embed.Dot(tt.a, tt.b)
		if math.Abs(got-tt.want) > 1e-6 {
			t.Errorf("Dot(%v, %v) = %v, want %v", tt.a, tt.b, got, tt.want)
		}
		if back := embed.Dot(tt.b, tt.a); back != got {
			t.Errorf("Dot(%v, %v) = %v, but %v the other way", tt.a, tt.b, got, back)
		}
	}
}

func BenchmarkDot(b *testing.B) {
	v, w := make(embed.Vector, 384), make(embed.Vector, 384)
	for i := range v {
		v[i], w[i] = float32(i%7)-3, float32(i%5)-2
	}
	for b.Loop() {
		embed.Dot(v, w)
	}
}

func TestNone(t *testing.T) {
	var e embed.Embedder = embed.None{}
	if e.Model() != "" {
		t.Errorf("model %q", e.Model())
	}
	if v, err := e.Embed(t.Context(), embed.Query, []string{"a"}); v != nil || err == nil {
		t.Errorf("Embed = %v, %v", v, err)
	}
}
