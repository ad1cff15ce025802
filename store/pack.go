package store

import (
	"bytes"
	"compress/flate"
	"encoding/binary"
	"fmt"
	"io"
	"math"
)

// A packer deflates texts; SKILL.md files shrink to about 40 %. It keeps its
// writer, which is far larger than they are.
type packer struct{ w *flate.Writer }

func (p *packer) pack(s string) ([]byte, error) {
	var b bytes.Buffer
	if p.w == nil {
		w, err := flate.NewWriter(nil, flate.BestSpeed)
		if err != nil {
			return nil, err
		}
		p.w = w
	}
	p.w.Reset(&b)
	if _, err := io.WriteString(p.w, s); err != nil {
		return nil, err
	}
	if err := p.w.Close(); err != nil {
		return nil, err
	}
	return b.Bytes(), nil
}

func unpack(data []byte) (string, error) {
	text, err := io.ReadAll(flate.NewReader(bytes.NewReader(data)))
	return string(text), err
}

func packVector(v []float32) []byte {
	data := make([]byte, 0, 4*len(v))
	for _, x := range v {
		data = binary.LittleEndian.AppendUint32(data, math.Float32bits(x))
	}
	return data
}

func unpackVector(data []byte) ([]float32, error) {
	if len(data)%4 != 0 {
		return nil, fmt.Errorf("a vector of %d bytes", len(data))
	}
	v := make([]float32, len(data)/4)
	for i := range v {
		v[i] = math.Float32frombits(binary.LittleEndian.Uint32(data[4*i:]))
	}
	return v, nil
}
