package search_test

import (
	"strings"
	"testing"

	"github.com/repertoire-skills/repertoire/search"
)

func TestFilter(t *testing.T) {
	var entries []search.Entry
	for _, of := range []string{"a bread baking", "a cake baking,sweet", "b pie sweet"} {
		part := strings.Fields(of)
		e := search.Entry{}
		e.Source, e.ID, e.Tags = part[0], part[1], strings.Split(part[2], ",")
		entries = append(entries, e)
	}
	tests := []struct{ source, tag, want, err string }{
		{"", "", "bread cake pie", ""},
		{"A", "", "bread cake", ""},
		{"", "Sweet", "cake pie", ""},
		{"a", "sweet", "cake", ""},
		{"c", "", "", `no skill with source "c"; there are: a, b`},
		{"", "bakign", "", `no skill with tag "bakign"; there are: baking`},
		{"b", "savoury", "", `no skill with tag "savoury"; there are: sweet`},
	}
	for _, tt := range tests {
		kept, err := search.Filter(entries, tt.source, tt.tag)
		var ids []string
		for _, e := range kept {
			ids = append(ids, e.ID)
		}
		if got := strings.Join(ids, " "); got != tt.want || (err == nil) != (tt.err == "") || err != nil && err.Error() != tt.err {
			t.Errorf("source %q, tag %q: %s, error %v; want %s, error %s", tt.source, tt.tag, got, err, tt.want, tt.err)
		}
	}
	if _, err := search.Filter([]search.Entry{{}}, "", "x"); err == nil || err.Error() != "no skill has a tag" {
		t.Errorf("without tags: %v", err)
	}
}
