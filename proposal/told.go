package proposal

import "fmt"

// A refusal is an error about what was asked of a Box. Its text is for whoever asked, also from
// elsewhere; that of other errors is not, because it may name folders of this machine.
type refusal struct{ error }

// refuse returns a refusal with a text as fmt.Errorf makes it.
func refuse(format string, args ...any) error { return refusal{fmt.Errorf(format, args...)} }

// ForAsker returns the text.
func (r refusal) ForAsker() string { return r.Error() }

func (r refusal) Unwrap() error { return r.error }

// ForAsker returns the text.
func (e *DiffError) ForAsker() string { return e.Error() }

// ForAsker returns the text.
func (e *ConflictError) ForAsker() string { return e.Error() }
