package main

import (
	"bytes"
	"context"
	"encoding/binary"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/repertoire-skills/repertoire/embed"
	"github.com/repertoire-skills/repertoire/embed/contextual"
	"github.com/repertoire-skills/repertoire/internal/must"
)

const vocabulary = "[PAD]\n[unused0]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\na\n##b\n"

// file is a safetensors file under way.
type file struct {
	header map[string]any
	data   []byte
}

// add adds a tensor of small numbers that differ.
func (f *file) add(name string, shape ...int) {
	n, from := 1, len(f.data)
	for _, d := range shape {
		n *= d
	}
	for i := range n {
		f.data, _ = binary.Append(f.data, binary.LittleEndian, float32(i*7%13-6)/16)
	}
	f.header[name] = map[string]any{"dtype": "F32", "shape": shape, "data_offsets": []int{from, len(f.data)}}
}

func (f *file) bytes(t *testing.T) string {
	header, err := json.Marshal(f.header)
	must.Do(t, err)
	b, err := binary.Append(nil, binary.LittleEndian, uint64(len(header)))
	must.Do(t, err)
	return string(append(append(b, header...), f.data...))
}

func smallFile() *file {
	const h, inner = 32, 64
	f := &file{header: map[string]any{"__metadata__": map[string]string{"format": "pt"}}}
	matrix := func(name string, n, m int) {
		f.add(name+".weight", m, n)
		f.add(name+".bias", m)
		f.add("largest."+name, n)
	}
	norm := func(name string) { f.add(name+".weight", h); f.add(name+".bias", h) }
	f.add("embeddings.word_embeddings.weight", strings.Count(vocabulary, "\n"), h)
	f.add("embeddings.position_embeddings.weight", 16, h)
	f.add("embeddings.token_type_embeddings.weight", 2, h)
	norm("embeddings.LayerNorm")
	for _, part := range []string{"query", "key", "value"} {
		matrix("encoder.layer.0.attention.self."+part, h, h)
	}
	matrix("encoder.layer.0.attention.output.dense", h, h)
	norm("encoder.layer.0.attention.output.LayerNorm")
	matrix("encoder.layer.0.intermediate.dense", h, inner)
	matrix("encoder.layer.0.output.dense", inner, h)
	norm("encoder.layer.0.output.LayerNorm")
	return f
}

func TestRun(t *testing.T) {
	dir := t.TempDir()
	weights, pieces, out := filepath.Join(dir, "w"), filepath.Join(dir, "vocab.txt"), filepath.Join(dir, "model.bin")
	must.Write(t, weights, smallFile().bytes(t))
	must.Write(t, pieces, vocabulary)
	var stderr bytes.Buffer
	args := []string{"--weights", weights, "--vocabulary", pieces, "--out", out, "--heads", "1", "--positions", "8", "--name", "tiny"}
	if code := run(args, &stderr); code != 0 {
		t.Fatalf("exit status %d: %s", code, &stderr)
	}
	e, err := contextual.New(must.Read(t, out))
	must.Do(t, err)
	v, err := e.Embed(context.Background(), embed.Query, []string{"a", "ab", "a b"})
	must.Do(t, err)
	if !strings.HasPrefix(e.Model(), "contextual tiny ") || len(v[0]) != 32 || embed.Dot(v[0], v[1]) > .99999 {
		t.Errorf("model %q gives %d numbers, and nearly the same for two texts", e.Model(), len(v[0]))
	}
}

func TestBroken(t *testing.T) {
	dir := t.TempDir()
	weights, pieces := filepath.Join(dir, "w"), filepath.Join(dir, "vocab.txt")
	must.Write(t, pieces, vocabulary)
	without := func(name string) string {
		f := smallFile()
		delete(f.header, name)
		return f.bytes(t)
	}
	for _, c := range []struct{ data, want string }{
		{"short", "no safetensors file"},
		{"\x02\x00\x00\x00\x00\x00\x00\x00[]", "header"},
		{without("embeddings.word_embeddings.weight"), "no table of 8 pieces"},
		{without("embeddings.token_type_embeddings.weight"), "no 8 positions"},
		{without("encoder.layer.0.output.LayerNorm.bias"), "0 numbers, want 32"},
		{without("encoder.layer.0.attention.self.key.weight"), "for a matrix from 32 to 96"},
		{smallFile().bytes(t)[:3000], "lies beyond the end"},
	} {
		must.Write(t, weights, c.data)
		var stderr bytes.Buffer
		code := run([]string{"--weights", weights, "--vocabulary", pieces, "--out", filepath.Join(dir, "x"), "--heads", "1", "--positions", "8"}, &stderr)
		if code != 1 || !strings.Contains(stderr.String(), c.want) {
			t.Errorf("exit status %d: %s; want %q", code, &stderr, c.want)
		}
	}
	if _, err := os.Stat(filepath.Join(dir, "x")); err == nil {
		t.Error("a model was written in spite of an error")
	}
	for _, args := range [][]string{nil, {"--weights", "a"}, {"--wrong"}} {
		if code := run(args, new(bytes.Buffer)); code != 2 {
			t.Errorf("%v: exit status %d, want 2", args, code)
		}
	}
}
