package main

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime"
	"sync"

	"github.com/repertoire-skills/repertoire/embed"
	"github.com/repertoire-skills/repertoire/embed/contextual"
)

// A memory embeds each text once, on all processors: the encoder takes some 10 ms for a text,
// the catalogs share most of their skills, and all are asked the same prompts.
type memory struct {
	*contextual.Embedder
	file *os.File // what it knows, for the next run; nil means that nothing is kept

	mu    sync.Mutex
	known map[[sha256.Size]byte]embed.Vector
}

// newMemory returns a memory for a model in a file. It keeps the vectors in a second file; ""
// means in none. Vectors of several models may be in one file.
func newMemory(model, file string) (*memory, error) {
	data, err := os.ReadFile(model)
	if err != nil {
		return nil, err
	}
	m := &memory{known: make(map[[sha256.Size]byte]embed.Vector)}
	if m.Embedder, err = contextual.New(string(data)); err != nil {
		return nil, fmt.Errorf("%s: %w", model, err)
	}
	if file == "" {
		return m, nil
	}
	if m.file, err = os.OpenFile(file, os.O_RDWR|os.O_CREATE, 0o666); err != nil {
		return nil, err
	}
	return m, m.read()
}

// read reads the file up to the last whole vector, after which the next ones are written.
func (m *memory) read() error {
	all, err := io.ReadAll(m.file)
	if err != nil {
		return err
	}
	size := sha256.Size + 4*m.Dim()
	whole := len(all) / size * size
	for at := 0; at < whole; at += size {
		v := make(embed.Vector, m.Dim())
		if _, err := binary.Decode(all[at+sha256.Size:], binary.LittleEndian, v); err != nil {
			return err
		}
		m.known[[sha256.Size]byte(all[at:])] = v
	}
	_, err = m.file.Seek(int64(whole), io.SeekStart)
	return err
}

// Embed implements embed.Embedder.
func (m *memory) Embed(ctx context.Context, kind embed.Kind, texts []string) ([]embed.Vector, error) {
	vectors, errs := make([]embed.Vector, len(texts)), make([]error, len(texts))
	var all sync.WaitGroup
	slots := make(chan struct{}, runtime.GOMAXPROCS(0))
	for i, text := range texts {
		slots <- struct{}{}
		all.Go(func() {
			defer func() { <-slots }()
			vectors[i], errs[i] = m.embed(ctx, kind, text)
		})
	}
	all.Wait()
	if err := errors.Join(errs...); err != nil {
		return nil, err
	}
	return vectors, nil
}

// learn embeds queries all at once, on all processors.
func (m *memory) learn(ctx context.Context, queries []string) error {
	_, err := m.Embed(ctx, embed.Query, queries)
	return err
}

// vector returns the vector of a query that was learned.
func (m *memory) vector(query string) embed.Vector { return m.known[m.key(embed.Query, query)] }

func (m *memory) key(kind embed.Kind, text string) [sha256.Size]byte {
	return sha256.Sum256(fmt.Appendf(nil, "%s\n%d\n%s", m.Model(), kind, text))
}

// embed returns the vector of a text, which it remembers.
func (m *memory) embed(ctx context.Context, kind embed.Kind, text string) (embed.Vector, error) {
	key := m.key(kind, text)
	m.mu.Lock()
	v := m.known[key]
	m.mu.Unlock()
	if v != nil {
		return v, nil
	}
	list, err := m.Embedder.Embed(ctx, kind, []string{text})
	if err != nil {
		return nil, err
	}
	v = list[0]
	m.mu.Lock()
	defer m.mu.Unlock()
	m.known[key] = v
	if m.file == nil {
		return v, nil
	}
	record, err := binary.Append(key[:], binary.LittleEndian, v)
	if err == nil {
		_, err = m.file.Write(record)
	}
	return v, err
}
