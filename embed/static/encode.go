package static

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"slices"
)

// Weights are a trained model before encoding.
type Weights struct {
	Name    string    // short name of the training
	Dim     int       // dimension of the vectors
	Words   []string  // lower-cased, without duplicates
	Vectors []float32 // Dim numbers for each of Words, then for each bucket
}

// Encode returns the model in the format that New reads. It quantises numbers to 4 bits,
// with a scale for each vector. That has no measurable effect, because the errors of the
// words in a text cancel out.
func Encode(w Weights) ([]byte, error) {
	if w.Dim < 1 || w.Dim%dimUnit != 0 || len(w.Vectors)%w.Dim != 0 || len(w.Vectors) <= len(w.Words)*w.Dim {
		return nil, fmt.Errorf("encoding model: %d numbers are not vectors of a dimension that is a multiple of %d (%d) for %d words and some buckets", len(w.Vectors), dimUnit, w.Dim, len(w.Words))
	}
	if len(w.Name) == 0 || len(w.Name) > 1<<8 {
		return nil, errors.New("encoding model: its name must have 1 to 256 bytes")
	}
	order, err := byHash(w.Words)
	if err != nil {
		return nil, err
	}
	rows := len(w.Vectors) / w.Dim
	for b := len(w.Words); b < rows; b++ {
		order = append(order, hashed{row: b})
	}
	var body bytes.Buffer
	body.WriteString(w.Name)
	body.Write(make([]byte, padded(len(w.Name))-len(w.Name)))
	writeIndex(&body, order[:len(w.Words)])
	if err := writeRows(&body, w, order); err != nil {
		return nil, err
	}
	digest := sha256.Sum256(body.Bytes())
	var out bytes.Buffer
	out.WriteString(magic)
	for _, n := range []int{w.Dim, len(w.Words), rows - len(w.Words), len(w.Name)} {
		write32(&out, uint32(n))
	}
	out.Write(digest[:8])
	out.Write(body.Bytes())
	return out.Bytes(), nil
}

// hashed is a row of the weights with the hash of its word.
type hashed struct {
	hash uint64
	row  int
}

// byHash returns the words sorted by their hashes.
func byHash(words []string) ([]hashed, error) {
	list := make([]hashed, len(words))
	for i, word := range words {
		list[i] = hashed{Hash([]byte(word)), i}
	}
	slices.SortFunc(list, func(a, b hashed) int { return cmp.Compare(a.hash, b.hash) })
	for i := 1; i < len(list); i++ {
		if list[i].hash>>16 == list[i-1].hash>>16 {
			return nil, fmt.Errorf("encoding model: %q and %q have the same hash; leave one out", words[list[i-1].row], words[list[i].row])
		}
	}
	return list, nil
}

// writeIndex writes, for every prefix of a hash, the number of words with a lower prefix;
// then the hashes.
func writeIndex(b *bytes.Buffer, words []hashed) {
	next := 0
	for prefix := range 1<<prefixBits + 1 {
		for next < len(words) && words[next].hash>>(64-prefixBits) < uint64(prefix) {
			next++
		}
		write32(b, uint32(next))
	}
	for _, w := range words {
		write32(b, uint32(w.hash>>16))
	}
}

// writeRows writes the scales and then the quantised vectors, in the given order.
func writeRows(b *bytes.Buffer, w Weights, order []hashed) error {
	quantised, scales, most := make([]byte, 0, len(order)*w.Dim/2), make([]float64, 0, len(order)), 0.
	for _, o := range order {
		v := w.Vectors[o.row*w.Dim:][:w.Dim]
		largest := 0.0
		for _, x := range v {
			largest = max(largest, math.Abs(float64(x)))
		}
		if math.IsNaN(largest) || math.IsInf(largest, 0) {
			return fmt.Errorf("encoding model: row %d is not finite", o.row)
		}
		scale := bestScale(v, largest)
		scales, most = append(scales, scale), max(most, scale)
		for i := 0; i < w.Dim; i += 2 {
			quantised = append(quantised, byte(level(v[i], scale)+offset4)|byte(level(v[i+1], scale)+offset4)<<4)
		}
	}
	shorter := 1. // a power of 2 changes no digit
	for most*shorter >= maxScale {
		shorter /= 2
	}
	for _, scale := range scales {
		write32(b, math.Float32bits(float32(scale*shorter)))
	}
	b.Write(quantised)
	return nil
}

// bestScale returns the scale that makes the quantised vector nearest to v; largest is
// v's greatest absolute number. Clipping a few large numbers makes the others more exact.
func bestScale(v []float32, largest float64) float64 {
	best, least := 0.0, math.Inf(1)
	for share := 20; share >= 10; share-- {
		scale := largest / maxLevel * float64(share) / 20
		sum := 0.0
		for _, x := range v {
			d := float64(x) - float64(level(x, scale))*scale
			sum += d * d
		}
		if sum < least {
			best, least = scale, sum
		}
	}
	return best
}

// level returns the multiple of scale that is nearest to x, from -8 to 7.
func level(x float32, scale float64) int {
	if scale == 0 {
		return 0
	}
	return int(min(max(math.RoundToEven(float64(x)/scale), -offset4), maxLevel))
}

func write32(b *bytes.Buffer, x uint32) {
	b.Write(binary.LittleEndian.AppendUint32(nil, x))
}
