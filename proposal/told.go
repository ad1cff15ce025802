package proposal

import (
	"reflect"
	"strings"
)

// ForAsker marks an error of a Box as one whose text is for whoever proposes or decides from
// elsewhere: it is about the proposal. Errors of the system and of a database are not: their texts
// name folders of this machine.
func ForAsker(err error) error {
	if err == nil || failed(err) {
		return err
	}
	return told{err}
}

// told is an error with a text for whoever asked.
type told struct{ error }

// ForAsker returns the text.
func (t told) ForAsker() string { return t.Error() }

func (t told) Unwrap() error { return t.error }

// failed reports whether an error holds one that neither this module nor a plain text has made.
func failed(err error) bool {
	t := reflect.TypeOf(err)
	if t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	if from := t.PkgPath(); from != "errors" && from != "fmt" && !strings.HasPrefix(from, "github.com/repertoire-skills/repertoire/") {
		return true
	}
	switch x := err.(type) {
	case interface{ Unwrap() error }:
		return x.Unwrap() != nil && failed(x.Unwrap())
	case interface{ Unwrap() []error }:
		for _, e := range x.Unwrap() {
			if failed(e) {
				return true
			}
		}
	}
	return false
}
