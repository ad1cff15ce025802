package store

import (
	"bytes"
	"compress/flate"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"math"
	"slices"
	"sync"

	"github.com/repertoire-skills/repertoire/skill"
)

// Pack deflates what is long in the record, so that several processors can do it
// before the transaction. Engines keep Body and Problems as they are. The skill
// must not change after it.
func (r *Record) Pack() (err error) {
	if len(r.Skill.Problems) > 0 {
		if r.Problems, err = pack(marshal(r.Skill.Problems)); err != nil {
			return err
		}
	}
	if !r.Refused {
		r.Body, err = packBody(r.Skill)
	}
	return err
}

// marshal returns v as JSON. A value that JSON does not have (.inf) is a reported
// problem of the skill; only the copy of its frontmatter is lost here.
func marshal(v any) []byte {
	data, err := json.Marshal(v)
	if err != nil {
		return []byte("{}")
	}
	return data
}

// packers keeps writers, which are far larger than the texts that they deflate.
var packers = sync.Pool{New: func() any {
	w, err := flate.NewWriter(nil, packLevel)
	if err != nil {
		panic(err) // the level is a constant
	}
	return w
}}

// packLevel is the effort of deflating: the bodies of 20,000 skills take 76 MB
// at 1, 70 MB at 4 and 69 MB at 6, for half of the time more each step. Level 1
// takes a tenth less of the time of indexing than level 4.
const packLevel = flate.BestSpeed

// pack deflates data; SKILL.md files shrink to about 40 %.
func pack(data []byte) ([]byte, error) {
	w := packers.Get().(*flate.Writer)
	defer packers.Put(w)
	b := bytes.NewBuffer(make([]byte, 0, len(data)/2))
	w.Reset(b)
	if _, err := w.Write(data); err != nil {
		return nil, err
	}
	if err := w.Close(); err != nil {
		return nil, err
	}
	return b.Bytes(), nil
}

func unpack(data []byte) ([]byte, error) {
	return io.ReadAll(flate.NewReader(bytes.NewReader(data)))
}

// errPacked says that bytes are not what this package packed.
var errPacked = errors.New("malformed value")

// What stands between the frontmatter as JSON, which has no such bytes, and the
// body. Most descriptions are kept as they are in the frontmatter, and once.
const (
	wholeEnd = 0 // of a whole frontmatter
	shortEnd = 1 // of one without its description
)

// packBody deflates the frontmatter and the body together, because the one repeats
// the words of the other.
func packBody(s *skill.Skill) ([]byte, error) {
	frontmatter, end := s.Frontmatter, byte(wholeEnd)
	if frontmatter["description"] == s.Description {
		frontmatter, end = maps.Clone(frontmatter), shortEnd
		delete(frontmatter, "description")
	}
	return pack(slices.Concat(marshal(frontmatter), []byte{end}, []byte(s.Body)))
}

// Unpack sets the problems, the frontmatter and the body of a skill, whose
// description is set, from what Pack made of them. The body of a refused skill is
// nil.
func Unpack(s *skill.Skill, body, problems []byte) (err error) {
	if s.Problems, err = UnpackProblems(problems); err != nil || body == nil {
		return err
	}
	if err := unpackBody(s, body); err != nil {
		return fmt.Errorf("body of %s: %w: %w", s.Path, ErrDamaged, err)
	}
	return nil
}

// UnpackProblems returns the problems that Pack packed; nil packs none.
func UnpackProblems(packed []byte) ([]skill.Problem, error) {
	if packed == nil {
		return []skill.Problem{}, nil
	}
	data, err := unpack(packed)
	var list []skill.Problem
	if err == nil {
		err = json.Unmarshal(data, &list)
	}
	if err != nil {
		return nil, fmt.Errorf("problems: %w: %w", ErrDamaged, err)
	}
	return list, nil
}

func unpackBody(s *skill.Skill, packed []byte) error {
	text, err := unpack(packed)
	if err != nil {
		return err
	}
	end := bytes.IndexFunc(text, func(r rune) bool { return r <= shortEnd })
	if end < 0 {
		return errPacked
	}
	s.Body = string(text[end+1:])
	err = json.Unmarshal(text[:end], &s.Frontmatter)
	if text[end] == shortEnd && s.Frontmatter != nil {
		s.Frontmatter["description"] = s.Description
	}
	return err
}

// PackVector returns a vector in steps of 1/127 of its largest value: the step
// as a float32 and an int8 for each value. That takes a quarter of the space, and
// turns a vector by less than a hundredth.
func PackVector(v []float32) []byte {
	most := float32(0)
	for _, x := range v {
		most = max(most, x, -x)
	}
	step := most / math.MaxInt8
	data := binary.LittleEndian.AppendUint32(make([]byte, 0, 4+len(v)), math.Float32bits(step))
	for _, x := range v {
		n := int8(0)
		if step > 0 {
			n = int8(math.Round(float64(x / step)))
		}
		data = append(data, byte(n))
	}
	return data
}

// UnpackVector returns what PackVector packed.
func UnpackVector(data []byte) ([]float32, error) {
	if len(data) < 4 {
		return nil, fmt.Errorf("a vector of %d bytes: %w", len(data), ErrDamaged)
	}
	step := math.Float32frombits(binary.LittleEndian.Uint32(data))
	v := make([]float32, len(data)-4)
	for i := range v {
		v[i] = step * float32(int8(data[4+i]))
	}
	return v, nil
}
