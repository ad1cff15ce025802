package snapshot_test

import (
	"fmt"
	"reflect"
	"testing"

	"github.com/repertoire-skills/repertoire/skill"
	"github.com/repertoire-skills/repertoire/snapshot"
)

// TestClaims: phrases are found where the text has them first, also those that begin alike;
// patterns come in the order of their costs.
func TestClaims(t *testing.T) {
	t.Parallel()
	docs := newGenerator(3).documents(6, 5, 0)
	for i := range docs {
		docs[i].Triggers = skill.Triggers{}
	}
	docs[1].Triggers = skill.Triggers{Keywords: []string{"form", "Form filling", "formula", "the"}, Verbs: []string{"fill"}}
	docs[3].Triggers = skill.Triggers{Keywords: []string{"x y z", "filled forms"}, Patterns: []string{`a{9}b{9}`, `\bform`, "(", "z*"}}
	docs[4].Triggers = skill.Triggers{Keywords: []string{"forms"}, Patterns: []string{`q+x`}}
	for _, tt := range []struct {
		text []string
		want []snapshot.Claim
	}{
		{nil, nil},
		{[]string{"formal", "for", "fillet"}, nil},
		{[]string{"a", "form", "form"}, []snapshot.Claim{
			{Doc: 1, Index: 0, Start: 1, Terms: 1, Phrases: 5}, {Doc: 4, Index: 0, Start: 1, Terms: 1, Phrases: 1},
		}},
		{[]string{"form", "fill", "form"}, []snapshot.Claim{
			{Doc: 1, Index: 0, Start: 0, Terms: 1, Phrases: 5}, {Doc: 4, Index: 0, Start: 0, Terms: 1, Phrases: 1},
			{Doc: 1, Index: 1, Start: 0, Terms: 2, Phrases: 5},
			{Doc: 1, Index: 0, Verb: true, Start: 1, Terms: 1, Phrases: 5},
			{Doc: 3, Index: 1, Start: 1, Terms: 2, Phrases: 2},
		}},
		{[]string{"x", "y"}, nil},
		{[]string{"formula", "x", "y", "z", "zz"}, []snapshot.Claim{
			{Doc: 1, Index: 2, Start: 0, Terms: 1, Phrases: 5}, {Doc: 3, Index: 0, Start: 1, Terms: 3, Phrases: 2},
		}},
	} {
		s := open(t, write(t, snapshot.Meta{Weights: weights}, docs))
		read(t, s, func(r *snapshot.Reader) {
			if got, err := r.Claims(tt.text); err != nil || !reflect.DeepEqual(got, tt.want) {
				t.Errorf("%q: %+v, %v; want %+v", tt.text, got, err, tt.want)
			}
			patterns, err := r.Patterns()
			var got []string
			for _, p := range patterns {
				got = append(got, fmt.Sprintf("%d %d %s", p.Doc, p.Index, p.Text))
			}
			if want := []string{"4 0 q+x", `3 1 \bform`, "3 0 a{9}b{9}"}; err != nil || !reflect.DeepEqual(got, want) {
				t.Errorf("patterns %q, %v; want %q", got, err, want)
			}
		})
	}
}
