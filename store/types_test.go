package store_test

import (
	"testing"

	"github.com/repertoire-skills/repertoire/skill"
	"github.com/repertoire-skills/repertoire/store"
)

func TestIDs(t *testing.T) {
	office, top := skill.Meta{Source: "a", Path: "office/pdf/SKILL.md", Name: "pdf"}, skill.Meta{Source: "a", Path: "SKILL.md", Name: "pdf"}
	for _, tt := range []struct {
		e  store.Entry
		id string
	}{
		{store.Entry{Meta: office}, "pdf"},
		{store.Entry{Meta: office, ShadowedBy: 1}, "a/office/pdf"},
		{store.Entry{Meta: top, ShadowedBy: 1}, "a/pdf"},
		{store.Entry{Meta: office, Refused: true}, "a/office/pdf"},
	} {
		tt.e.SetID()
		if got := tt.e.ID; got != tt.id {
			t.Errorf("%+v: ID %q, want %q", tt.e, got, tt.id)
		}
	}
}
