package main

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"slices"
	"strings"

	"github.com/repertoire-skills/repertoire/embed/contextual"
)

// tensors are the tensors of a safetensors file by name, one row after the other.
type tensors map[string]tensor

type tensor struct {
	shape  []int
	floats []float32
}

// readTensors reads a safetensors file: the length of its header in 8 bytes, the header in JSON,
// then the numbers, of which the header says where each tensor lies.
func readTensors(name string) (tensors, error) {
	data, err := os.ReadFile(name)
	if err != nil {
		return nil, err
	}
	if len(data) < 8 || binary.LittleEndian.Uint64(data) > uint64(len(data)-8) {
		return nil, fmt.Errorf("%s is no safetensors file", name)
	}
	end := 8 + int(binary.LittleEndian.Uint64(data))
	var header map[string]json.RawMessage
	if err := json.Unmarshal(data[8:end], &header); err != nil {
		return nil, fmt.Errorf("%s: header: %w", name, err)
	}
	delete(header, "__metadata__")
	all := make(tensors)
	for key, raw := range header {
		var t struct {
			Type  string `json:"dtype"`
			Shape []int  `json:"shape"`
			Span  [2]int `json:"data_offsets"`
		}
		if err := json.Unmarshal(raw, &t); err != nil {
			return nil, fmt.Errorf("%s: %s: %w", name, key, err)
		}
		if t.Type != "F32" {
			continue // numbers of positions
		}
		if from, to := end+t.Span[0], end+t.Span[1]; from < end || to < from || to > len(data) || (to-from)%4 != 0 {
			return nil, fmt.Errorf("%s: %s lies beyond the end", name, key)
		}
		part := data[end+t.Span[0] : end+t.Span[1]]
		floats := make([]float32, len(part)/4)
		for i := range floats {
			floats[i] = math.Float32frombits(binary.LittleEndian.Uint32(part[4*i:]))
		}
		all[key] = tensor{t.Shape, floats}
	}
	return all, nil
}

// readPieces reads a file with a piece in each line.
func readPieces(name string) ([]string, error) {
	data, err := os.ReadFile(name)
	if err != nil {
		return nil, err
	}
	return strings.Split(string(bytes.TrimRight(data, "\n")), "\n"), nil
}

// model returns the weights of a BERT model with these pieces. It leaves out the pieces that no
// text has.
func (t tensors) model(pieces []string, s shape) (*contextual.Weights, error) {
	const embeddings = "embeddings."
	words := t[embeddings+"word_embeddings.weight"]
	if len(words.shape) != 2 || words.shape[0] != len(pieces) || len(words.floats) != len(pieces)*words.shape[1] {
		return nil, fmt.Errorf("the words are no table of %d pieces", len(pieces))
	}
	hidden := words.shape[1]
	w := &contextual.Weights{Name: s.name, Hidden: hidden, Heads: s.heads, Positions: s.positions, Norm: t.norm(embeddings + "LayerNorm")}
	for i, piece := range pieces {
		if strings.HasPrefix(piece, "[") && strings.HasSuffix(piece, "]") && len(piece) > 2 && !slices.Contains([]string{"[UNK]", "[CLS]", "[SEP]"}, piece) {
			continue
		}
		w.Pieces = append(w.Pieces, piece)
		w.Words = append(w.Words, words.floats[i*hidden:][:hidden]...)
	}
	places, kind := t[embeddings+"position_embeddings.weight"].floats, t[embeddings+"token_type_embeddings.weight"].floats
	if len(places) < s.positions*hidden || len(kind) < hidden {
		return nil, fmt.Errorf("there are no %d positions", s.positions)
	}
	for i, x := range places[:s.positions*hidden] {
		w.Places = append(w.Places, x+kind[i%hidden])
	}
	for n := 0; ; n++ {
		l := fmt.Sprintf("encoder.layer.%d.", n)
		if _, ok := t[l+"output.dense.weight"]; !ok {
			return w, nil
		}
		self := l + "attention.self."
		w.Layers = append(w.Layers, contextual.Layer{
			Attend: t.linear(self+"query", self+"key", self+"value"),
			Join:   t.linear(l + "attention.output.dense"),
			Joined: t.norm(l + "attention.output.LayerNorm"),
			Up:     t.linear(l + "intermediate.dense"),
			Down:   t.linear(l + "output.dense"),
			Out:    t.norm(l + "output.LayerNorm"),
		})
	}
}

func (t tensors) norm(name string) contextual.Norm {
	return contextual.Norm{Weights: t[name+".weight"].floats, Biases: t[name+".bias"].floats}
}

// linear returns one matrix of several with the same inputs.
func (t tensors) linear(names ...string) contextual.Linear {
	l := contextual.Linear{Largest: t["largest."+names[0]].floats}
	for _, name := range names {
		l.Weights = append(l.Weights, t[name+".weight"].floats...)
		l.Biases = append(l.Biases, t[name+".bias"].floats...)
	}
	return l
}
