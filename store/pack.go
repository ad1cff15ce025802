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

// Pack sets Body and Problems, which engines store as they are. PutSkill calls Pack if
// the caller did not; calling it before the transaction lets several processors share
// the work. The skill must not change afterwards.
func (r *Record) Pack() (err error) {
	if len(r.Skill.Problems) > 0 {
		if r.Problems, err = pack(marshal(r.Skill.Problems)); err != nil {
			return err
		}
	}
	if r.Refused {
		return nil
	}
	if r.Body, err = packBody(r.Skill); err != nil {
		return err
	}
	r.PackedTerms, err = pack(r.Terms)
	return err
}

// UnpackTerms returns the terms that Pack deflated.
func UnpackTerms(packed []byte) (skill.Terms, error) {
	data, err := unpack(packed)
	if err != nil {
		return nil, fmt.Errorf("terms: %w: %w", ErrDamaged, err)
	}
	return data, nil
}

// marshal returns v as JSON, or {} if JSON cannot express a value (.inf). Such a value
// is a reported problem of the skill, so only the copy of its frontmatter is lost.
func marshal(v any) []byte {
	data, err := json.Marshal(v)
	if err != nil {
		return []byte("{}")
	}
	return data
}

// packers reuses writers, because a writer takes far more memory than the text that it
// compresses.
var packers = sync.Pool{New: func() any {
	w, err := flate.NewWriter(nil, packLevel)
	if err != nil {
		panic(err) // the level is a constant
	}
	return w
}}

// packLevel is the compression level. The bodies of 20,000 skills take 76 MB at level 1,
// 70 MB at 4 and 69 MB at 6; each of these steps makes compression half as slow again.
const packLevel = 4

// pack compresses data; SKILL.md files shrink to about 40 %.
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

// maxUnpacked bounds what is unpacked, so that damaged data cannot ask for gigabytes. It has
// room for each character of the largest SKILL.md as JSON, several times.
const maxUnpacked = 16 * skill.MaxFile

func unpack(packed []byte) ([]byte, error) {
	data, err := io.ReadAll(io.LimitReader(flate.NewReader(bytes.NewReader(packed)), maxUnpacked+1))
	if err == nil && len(data) > maxUnpacked {
		return nil, errPacked
	}
	return data, err
}

// errPacked means that this package did not pack the bytes.
var errPacked = errors.New("malformed value")

// One of these bytes, which JSON text never contains, separates the frontmatter from the
// body. Most skills have the same description as their frontmatter; it is stored once.
const (
	wholeEnd = 0 // the frontmatter is complete
	shortEnd = 1 // the frontmatter lacks its description
)

// packBody compresses the frontmatter and the body together, because the body repeats the
// words of the frontmatter.
func packBody(s *skill.Skill) ([]byte, error) {
	frontmatter, end := s.Frontmatter, byte(wholeEnd)
	if frontmatter["description"] == s.Description {
		frontmatter, end = maps.Clone(frontmatter), shortEnd
		delete(frontmatter, "description")
	}
	return pack(slices.Concat(marshal(frontmatter), []byte{end}, []byte(s.Body)))
}

// Unpack sets the problems, the frontmatter and the body of a skill from the Body
// and Problems of its record. The description of s must be set. A nil body means a
// refused skill.
func Unpack(s *skill.Skill, body, problems []byte) (err error) {
	if s.Problems, err = UnpackProblems(problems); err != nil || body == nil {
		return err
	}
	if err := unpackBody(s, body); err != nil {
		return fmt.Errorf("body of %s: %w: %w", s.Path, ErrDamaged, err)
	}
	return nil
}

// UnpackProblems returns the problems that Pack packed; nil means no problems.
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

// PackVector rounds the values of a vector to multiples of a step, 1/127 of the largest
// value. It returns the step as a float32, then an int8 for each value. That takes a
// quarter of the space and turns the vector by less than a hundredth.
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
