package access

import (
	"context"
	"errors"
	"testing"
)

// lost is a Checker that cannot tell.
type lost struct{ err error }

func (l lost) Check(context.Context, string) (Caller, error) { return Caller{}, l.err }

func TestAny(t *testing.T) {
	gone := errors.New("the issuer does not answer")
	for _, test := range []struct {
		name   string
		of     []Checker
		secret string
		want   error
	}{
		{"none", nil, "a", ErrUnknown},
		{"first", []Checker{Single("a"), Single("b")}, "a", nil},
		{"second", []Checker{Single("a"), Single("b")}, "b", nil},
		{"unknown", []Checker{Single("a"), Single("b")}, "c", ErrUnknown},
		{"empty", []Checker{Single("a")}, "", ErrUnknown},
		{"uncertain", []Checker{lost{gone}, Single("b")}, "c", gone},
		{"known all the same", []Checker{lost{gone}, Single("b")}, "b", nil},
	} {
		t.Run(test.name, func(t *testing.T) {
			if _, err := Any(test.of...).Check(t.Context(), test.secret); !errors.Is(err, test.want) {
				t.Errorf("got %v, want %v", err, test.want)
			}
		})
	}
}

func TestOpenWhile(t *testing.T) {
	open := true
	c := OpenWhile(func() bool { return open }, Single("a"))
	if got, err := c.Check(t.Context(), ""); got != (Caller{}) || err != nil {
		t.Errorf("open: %+v, %v", got, err)
	}
	open = false
	if _, err := c.Check(t.Context(), ""); !errors.Is(err, ErrUnknown) {
		t.Errorf("closed: %v", err)
	}
	if _, err := c.Check(t.Context(), "a"); err != nil {
		t.Error(err)
	}
}
