package access

import (
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"

	"github.com/repertoire-skills/repertoire/store"
)

// An askerError is an error that says what is wrong with a question. It is the only kind of error of
// which those who ask from elsewhere get the text: others may name folders, addresses and users of
// this machine.
type askerError interface {
	error
	ForAsker() string // "" means nothing
}

// A Mistake is an error whose text is meant for whoever asked.
type Mistake string

func (m Mistake) Error() string { return string(m) }

// ForAsker returns the text.
func (m Mistake) ForAsker() string { return string(m) }

// publicText returns the text that a client elsewhere reads instead of an error. internal means that the
// text leaves out the cause.
func publicText(err error) (text string, internal bool) {
	if errors.Is(err, store.ErrUnreachable) {
		return store.ErrUnreachable.Error(), true
	}
	if t, ok := errors.AsType[askerError](err); ok && t.ForAsker() != "" {
		return t.ForAsker(), false
	}
	return "the server cannot answer this now", true
}

// Tell returns the error that an answer has in the place of err. What it keeps back it logs, under
// an id that its text has; about says what was asked.
func Tell(log *slog.Logger, about string, err error) Mistake {
	text, internal := publicText(err)
	if internal {
		id := rand.Text()[:10]
		log.Warn("a request failed", "id", id, "about", about, "error", err)
		text += fmt.Sprintf(" (error %s: the server's log has the cause)", id)
	}
	return Mistake(text)
}
