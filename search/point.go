package search

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/repertoire-skills/repertoire/embed"
	"github.com/repertoire-skills/repertoire/internal/gloss"
	"github.com/repertoire-skills/repertoire/snapshot"
)

// embedderOf returns the embedder whose vectors a set holds; nil means that it holds
// none, or vectors of an unknown embedder.
func (x *ranker) embedderOf(s *snapshot.Set) embed.Embedder {
	for _, e := range []embed.Embedder{x.embedder, x.opts.Fallback} {
		if e != nil && s.Model() != "" && e.Model() == s.Model() {
			return e
		}
	}
	return nil
}

// onScale reports whether the cosines of an embedder are on the scale to which the weights
// were fitted, as they are.
func onScale(e embed.Embedder) bool {
	c, ok := e.(embed.Calibrated)
	return ok && c.Calibrated()
}

// encoderOf returns the contextual encoder if a set holds vectors of it; nil means that it has
// none.
func (x *ranker) encoderOf(s *snapshot.Set) embed.Embedder {
	if e := x.opts.Contextual; e != nil && s.Sentences > 0 && e.Model() == s.Models()[snapshot.Sentences].Name {
		return e
	}
	return nil
}

// Encoder returns the built-in encoder if the catalog ranks with it and it reads a text; else nil.
// Another one may be a server, which has been given names and descriptions, and no files of skills.
func (x *ranker) Encoder(text string) embed.Embedder {
	if e, own := x.opts.Contextual.(embed.Fitted); own && e.Reads(text) {
		return x.opts.Contextual
	}
	return nil
}

// unencoded reports whether the encoder should still embed skills of a set, which whoever follows a
// shared catalog leaves to others.
func (x *ranker) unencoded(s *snapshot.Set) bool {
	return x.opts.Contextual != nil && x.opts.AsOf == nil && s.Compiled && s.Unencoded > 0
}

// embedPrompt starts to embed a prompt, by its reading in English if there is one, and parts of that, with the embedder of a
// set and with the encoder, and returns a function that waits for the vectors until the deadlines: of the prompt,
// then of each part. The legs of a vector that is nil do not rank; the mode says why.
func (x *ranker) embedPrompt(ctx context.Context, s *snapshot.Set, e embed.Embedder, text string, reading *gloss.Reading, parts []string) func() (points []snapshot.Point, mode string) {
	points := make([]snapshot.Point, 1+len(parts))
	if s.Size() == 0 {
		return func() ([]snapshot.Point, string) { return points, modeOf(s, e) }
	}
	english := text
	if reading != nil {
		english = reading.Embeddable()
	}
	by := func(e embed.Embedder) func(context.Context) ([]embed.Vector, error) {
		text := text
		if knowsEnglish(e) {
			text = english
		}
		return func(ctx context.Context) ([]embed.Vector, error) {
			if p, ok := e.(embed.Parted); ok {
				return p.EmbedParts(ctx, text, parts)
			}
			return e.Embed(ctx, embed.Query, append([]string{text}, parts...))
		}
	}
	set := func(space snapshot.Space, vectors []embed.Vector) {
		for i, v := range vectors {
			points[i][space] = v
		}
	}
	var words, sentences func() ([]embed.Vector, error)
	if encoder := x.encoderOf(s); encoder != nil && reads(encoder, english) {
		sentences = start(ctx, "encoder", x.opts.ContextualDeadline, by(encoder))
	}
	switch {
	case e == nil:
	case x.opts.Inline && e == x.embedder:
		words = func() ([]embed.Vector, error) { return by(e)(ctx) }
	default:
		words = start(ctx, "embedder", x.opts.Deadline, by(e))
	}
	return func() ([]snapshot.Point, string) {
		mode, why := modeOf(s, e), ""
		if words != nil {
			vectors, err := words()
			vectors, mode = checkPrompt(s, vectors, len(points), err)
			set(snapshot.Words, vectors)
		}
		if sentences != nil {
			vectors, err := sentences()
			vectors, why = checkSentence(s, vectors, len(points), err)
			set(snapshot.Sentences, vectors)
		} else if x.encoderOf(s) != nil {
			why = ", not contextual (other script)"
		}
		return points, mode + why
	}
}

// fits reports whether there are so many vectors, all of a dimension but those of parts that were not read.
func fits(vectors []embed.Vector, n, dim int) bool {
	return len(vectors) == n && len(vectors[0]) == dim && !slices.ContainsFunc(vectors, func(v embed.Vector) bool { return v != nil && len(v) != dim })
}

// knowsEnglish reports whether an embedder knows hardly any language but English, as those that are built in. Servers know
// others.
func knowsEnglish(e embed.Embedder) bool {
	_, own := e.(embed.Fitted)
	return own || onScale(e)
}

// reads reports whether the vector of a text by an encoder means anything.
func reads(e embed.Embedder, text string) bool {
	f, ok := e.(embed.Fitted)
	return !ok || f.Reads(text)
}

// checkSentence turns the answer of the encoder into n vectors and what it adds to the mode.
func checkSentence(s *snapshot.Set, vectors []embed.Vector, n int, err error) ([]embed.Vector, string) {
	switch {
	case errors.Is(err, context.DeadlineExceeded):
		return nil, ", encoder late"
	case err != nil || !fits(vectors, n, s.Models()[snapshot.Sentences].Dim):
		return nil, ", encoder failed"
	}
	return vectors, contextualMode(s)
}

// contextualMode is what the mode says of a set with vectors of the encoder.
func contextualMode(s *snapshot.Set) string {
	if s.Sentences < s.Size() {
		return fmt.Sprintf(", contextual for %d of %d skills", s.Sentences, s.Size())
	}
	return ", contextual"
}

// Usual reports whether a mode is what everybody expects: all legs, and nothing that is late.
func Usual(mode string) bool { return mode == "hybrid" || mode == "hybrid, contextual" }

// Mode returns what the current set allows ranking to be based on, see Ranking. It asks no
// embedder: only an answer tells that one is slow.
func (x *ranker) Mode(ctx context.Context) (string, error) {
	set, err := x.scopes.sets.Current(ctx)
	if err != nil {
		return "", err
	}
	mode := modeOf(set, x.embedderOf(set))
	if x.encoderOf(set) != nil {
		mode += contextualMode(set)
	}
	return mode, nil
}

// modeOf returns the mode of answers from a set if its embedder answers.
func modeOf(s *snapshot.Set, e embed.Embedder) string {
	if e != nil && s.Size() == 0 { // the last skill is gone; its vectors may still be there
		return "text (no vectors yet)"
	}
	return s.Mode
}

// start runs f in a goroutine, and returns a function that waits for its result. At the
// deadline that function returns an error, even if f ignores its context.
func start[T any](ctx context.Context, who string, deadline time.Duration, f func(context.Context) (T, error)) (wait func() (T, error)) {
	ctx, cancel := context.WithTimeout(ctx, deadline)
	type result struct {
		value T
		err   error
	}
	done := make(chan result, 1) // the sender never waits, even when nobody listens any more
	go func() {
		value, err := f(ctx)
		done <- result{value, err}
	}()
	return func() (T, error) {
		defer cancel()
		var r result
		select {
		case r = <-done:
		case <-ctx.Done():
			r.err = ctx.Err()
		}
		if r.err != nil && ctx.Err() != nil {
			r.err = fmt.Errorf("the %s did not answer within %v: %w", who, deadline, ctx.Err())
		}
		return r.value, r.err
	}
}

// checkPrompt turns the answer of the embedder into n vectors and the mode.
func checkPrompt(s *snapshot.Set, vectors []embed.Vector, n int, err error) ([]embed.Vector, string) {
	switch {
	case errors.Is(err, context.DeadlineExceeded):
		return nil, "text (embedder timed out)"
	case err != nil:
		return nil, "text (embedder failed)"
	case !fits(vectors, n, s.Dim()):
		return nil, "text (embedder answered with another dimension)"
	}
	return vectors, s.Mode
}
