// Package contextual embeds texts with a transformer of BERT's shape: each piece of a text looks
// at all others, so that the vector says what the text means and not only which words it has.
// Its one rule: the vector of a text is the same, to the bit, on every processor.
package contextual

import (
	"context"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/repertoire-skills/repertoire/embed"
	"github.com/repertoire-skills/repertoire/internal/turns"
)

// An Embedder embeds with one model. Several goroutines may use it at once; as many texts as
// there are processors are under way, and others wait. Clients of a server (see turns.WithClient) get
// their turns fairly, and one of them leaves a processor to the others.
type Embedder struct {
	m          *model
	processors int
	turns      *turns.Gate
	idle       sync.Pool // of *pass

	extras string // see SetExtras; "" means none
}

// New returns an embedder for a model that Encode made. It reads no rows and no weights of
// matrices; data must not change while the embedder is in use.
func New(data string) (*Embedder, error) {
	m, err := open(data)
	if err != nil {
		return nil, err
	}
	n := runtime.GOMAXPROCS(0)
	e := &Embedder{m: m, processors: n, turns: turns.New(int64(n), max(1, int64(n-1)))}
	e.idle.New = func() any { return newPass(m) }
	return e, nil
}

// Model identifies the model by its name and a digest of its weights.
func (e *Embedder) Model() string { return e.m.name }

// Dim returns the dimension of the vectors.
func (e *Embedder) Dim() int { return e.m.hidden }

// Processor names the instructions that it computes with, such as "AVX-512 VNNI".
func Processor() string { return chosen.name }

// Embed implements embed.Embedder. It treats queries and documents alike, takes as many processors
// as there are texts, and looks at the context before each layer of each text.
func (e *Embedder) Embed(ctx context.Context, _ embed.Kind, texts []string) ([]embed.Vector, error) {
	vectors, errs := make([]embed.Vector, len(texts)), make([]error, len(texts))
	each := e.processors / max(1, len(texts)) // 0 is as good as 1
	var next atomic.Int64
	work := func() {
		for i := int(next.Add(1)) - 1; i < len(texts); i = int(next.Add(1)) - 1 {
			list, err := e.embed(ctx, texts[i], nil, each)
			if errs[i] = err; err != nil {
				next.Store(int64(len(texts)))
				return
			}
			vectors[i] = list[0]
		}
	}
	var others sync.WaitGroup
	for range min(e.processors, len(texts)) - 1 {
		others.Go(work)
	}
	work()
	others.Wait()
	if i := slices.IndexFunc(errs, func(err error) bool { return err != nil }); i >= 0 {
		return vectors[:i], errs[i] // those before were begun before
	}
	return vectors, nil
}

// EmbedParts implements embed.Parted. It costs no more than the text alone. A part of a text that is
// longer than the model reads may be one of which it reads nothing.
func (e *Embedder) EmbedParts(ctx context.Context, text string, parts []string) ([]embed.Vector, error) {
	return e.embed(ctx, text, parts, e.processors)
}

// embed embeds a text and parts of it, on so many processors if they are free.
func (e *Embedder) embed(ctx context.Context, text string, parts []string, most int) ([]embed.Vector, error) {
	turn, err := e.turns.Enter(ctx, turns.Client(ctx), 1)
	if err != nil {
		return nil, err
	}
	defer turn.Leave()
	p := e.idle.Get().(*pass)
	defer e.idle.Put(p)
	pieces := e.m.split(text, e.m.positions)
	processors := 1
	for processors < min(most, 4, len(pieces)/rowUnit) {
		turn, ok := e.turns.Try(turns.Client(ctx), 1)
		if !ok {
			break
		}
		defer turn.Leave()
		processors++
	}
	if err := p.run(ctx, pieces, processors); err != nil {
		return nil, err
	}
	vectors := make([]embed.Vector, 1+len(parts))
	vectors[0], err = p.mean(0, len(pieces))
	from := 0
	for i := 0; i < len(parts) && err == nil; i++ {
		part := e.m.split(parts[i], e.m.positions)
		part = part[1 : len(part)-1]
		if at := indexOf(pieces[from:], part); at >= 0 && len(part) > 0 {
			vectors[1+i], err = p.mean(from+at, len(part))
			from += at + len(part)
		}
	}
	if err != nil {
		return nil, err
	}
	return vectors, nil
}

// indexOf returns where part begins in list; -1 if it is not there.
func indexOf(list, part []int) int {
	for at := range len(list) - len(part) + 1 {
		if slices.Equal(list[at:at+len(part)], part) {
			return at
		}
	}
	return -1
}
