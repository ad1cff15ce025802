package words_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/repertoire-skills/repertoire/internal/words"
)

// TestSpelled: every term of a text comes back once, as a word that is in the text.
func TestSpelled(t *testing.T) {
	const text = "The Invoices' totals: totalling an invoice in getUserName, 数据"
	want := []string{"invoices", "totals", "user", "name", "getusername", "数据"}
	if diff := cmp.Diff(want, words.Spelled(text, words.Terms(text))); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
	if got := words.Spelled(text, []string{"total", "elsewher", ""}); !cmp.Equal(got, []string{"totals"}) {
		t.Errorf("one term: %q", got)
	}
}

// TestTelling: advice names what a task is about.
func TestTelling(t *testing.T) {
	got := words.Telling([]string{"first", "badly", "invoices", "today", "fly", "totals", "a1", "a2", "a3", "a4"})
	if want := []string{"invoices", "fly", "totals", "a1", "a2", "a3"}; !cmp.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}
