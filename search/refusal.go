package search

import "errors"

// A Refusal is what a model may know of why it cannot have a skill. It holds nothing that
// is for the owner of the catalog only, such as which file of the configuration says so.
type Refusal struct {
	Held    bool     // the skill is there, and only the user can release it, after a review
	Similar []string // of a skill that is not found: names that the model may have meant
	Known   int      // of a skill that is not found: number of skills in the scope
	Unread  int      // of a skill that is not found: sources that have not been read yet
}

// RefusalOf returns what a model may know of an error about a skill; ok is false if the
// error says neither that the skill is not found nor that it is held back. A disabled skill
// is not found.
func RefusalOf(err error) (r Refusal, ok bool) {
	if held, ok := errors.AsType[*HeldError](err); ok && held.State != Disabled {
		return Refusal{Held: true}, true
	}
	missing, ok := errors.AsType[*NotFoundError](err)
	if !ok {
		return Refusal{}, false
	}
	return Refusal{Similar: missing.Similar, Known: missing.Known, Unread: missing.Unread}, true
}
