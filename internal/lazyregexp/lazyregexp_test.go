package lazyregexp_test

import (
	"testing"

	"github.com/repertoire-skills/repertoire/internal/lazyregexp"
)

func TestNew(t *testing.T) {
	word := lazyregexp.New(`^\w+$`)
	first := word()
	if !first.MatchString("skill") || first.MatchString("a skill") || word() != first {
		t.Error("the pattern is not compiled once, as it is")
	}
	malformed := lazyregexp.New("(")
	defer func() {
		if recover() == nil {
			t.Error("a malformed pattern does not panic when it is used")
		}
	}()
	malformed()
}
