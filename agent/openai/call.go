package openai

import (
	"encoding/json"
	"strings"
)

// A building is a call that arrives in pieces.
type building struct {
	index    int // -1 means that the server gives none
	id, name string
	args     strings.Builder
}

// arguments returns the arguments until now; no text means none.
func (c *building) arguments() string {
	if s := strings.TrimSpace(c.args.String()); s != "" {
		return s
	}
	return "{}"
}

// call adds a call or a piece of one.
func (b *builder) call(piece wireCall, whole bool) {
	var c *building
	if !whole {
		c = b.continued(&piece)
	}
	if c == nil {
		index := -1
		if piece.Index != nil {
			index = *piece.Index
		}
		c = &building{index: index, id: string(piece.ID)}
		b.calls = append(b.calls, c)
	}
	if name := string(piece.Function.Name); name != c.name { // some servers repeat it
		c.name += name
	}
	if c.id == "" {
		c.id = string(piece.ID)
	}
	c.args.WriteString(string(piece.Function.Arguments))
}

// continued returns the call that a piece continues; nil if the piece begins one. A piece
// without a name always continues a call: some servers make up a new ID for each piece. A
// piece with a name begins one if it has another ID, or if it has none and the call before
// is whole: some servers send whole calls, all with the index 0 or without any.
func (b *builder) continued(piece *wireCall) *building {
	c := b.latest(piece)
	if c == nil || piece.Function.Name == "" {
		return c
	}
	switch {
	case piece.ID != "" && c.id != "" && c.id != string(piece.ID):
		return nil
	case piece.ID == "" && piece.Function.Arguments != "" && json.Valid([]byte(c.args.String())):
		return nil
	case piece.ID == "" && piece.Index == nil:
		return nil
	}
	return c
}

// latest returns the last call with the index of a piece, or else with its ID, or else the
// last; nil if there is none.
func (b *builder) latest(piece *wireCall) *building {
	for i := len(b.calls) - 1; i >= 0; i-- {
		c := b.calls[i]
		switch {
		case piece.Index != nil && c.index == *piece.Index,
			piece.Index == nil && piece.ID != "" && c.id == string(piece.ID),
			piece.Index == nil && (piece.ID == "" || piece.Function.Name == ""):
			return c
		}
	}
	return nil
}
