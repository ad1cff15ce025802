package snapshot

import (
	"bytes"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"hash/crc32"
	"math"

	"github.com/repertoire-skills/repertoire/internal/atomicfile"
	"github.com/repertoire-skills/repertoire/internal/regular"
	"github.com/repertoire-skills/repertoire/store"
)

// A Calibration is what prompts that should get no offer have shown about a set: how high
// their demands are there. It belongs to the base of the set. While no calibration of a
// newer base is there, the old one holds for that too, see Fits.
type Calibration struct {
	Catalog string           // see store.State
	Method  string           // identifies the prompts and how they were ranked
	Model   string           // made the vectors of the set; "" means there were none
	Base    store.Generation // of the base of the set
	Skills  int              // number of offered skills in the set
	// The contextual encoder of the set with what it was fitted to, "" for none, and how many
	// skills it had embedded.
	Encoder   string
	Sentences int
	// Demands and Contextual hold the demands by scope, "" is the whole set: without and with the
	// vectors of the encoder, which may be late for a prompt.
	Demands, Contextual map[string]Demands
	// Cosines describes those of the prompts with the vectors of the skills. Zero means that
	// nothing was measured.
	Cosines [Legs]struct{ Mean, Deviation float64 }
}

// Demands are those that prompts reach in one scope.
type Demands struct {
	Needless Rising // of prompts that need no skill
	Unfit    Rising // of prompts that need one which is not in the set
	Near     int    // how many were left out of Unfit, because a skill of the set may fit
}

// Rising are probabilities in rising order.
type Rising []float32

// MarshalText encodes the probabilities as their bits.
func (d Rising) MarshalText() ([]byte, error) {
	b, err := binary.Append(nil, binary.LittleEndian, []float32(d))
	return base64.StdEncoding.AppendEncode(nil, b), err
}

// UnmarshalText decodes the probabilities, which must be in rising order.
func (d *Rising) UnmarshalText(text []byte) error {
	b, err := base64.StdEncoding.DecodeString(string(text))
	if err != nil {
		return err
	}
	*d = make(Rising, len(b)/4)
	last := float32(0)
	for i := range *d {
		x := math.Float32frombits(binary.LittleEndian.Uint32(b[4*i:]))
		if !(x >= last && x <= 1) {
			return fmt.Errorf("demand %d is %v after %v", i, x, last)
		}
		(*d)[i], last = x, x
	}
	return nil
}

// BaseGeneration returns the generation of the base of the set.
func (s *Set) BaseGeneration() store.Generation { return s.segments[0].Meta().Generation }

// Fits reports whether the calibration holds for a set, but for Contextual: whether it is of
// the same model, and the set still has about as many skills.
func (c *Calibration) Fits(s *Set) bool {
	return c.Model == s.Model() && c.near(c.Skills, s.Offered())
}

// FitsEncoder reports whether Contextual holds for a set that Fits: whether it is of this
// encoder, which has embedded about as many skills.
func (c *Calibration) FitsEncoder(s *Set, encoder string) bool {
	return c.Encoder == encoder && c.near(c.Sentences, s.Sentences)
}

// near reports whether two numbers of skills are about the same. In a small catalog each skill
// counts: what four skills show hardly holds for five.
func (c *Calibration) near(a, b int) bool { return max(a, b)-min(a, b) <= c.Skills/5 }

// keyed returns the path of a file of which there is one for each catalog and key.
func (d *Directory) keyed(catalog, suffix string) string {
	return fmt.Sprintf("%s.%s-%s%s", d.path, plain(catalog), d.key, suffix)
}

// Calibration returns the calibration of the catalog; nil means that there is none, or that
// it is damaged. Who calibrates replaces it.
func (d *Directory) Calibration(catalog string) *Calibration {
	data, err := readSummed(d.keyed(catalog, calibrationSuffix))
	c := new(Calibration)
	if err != nil || json.Unmarshal(data, c) != nil || c.Catalog != catalog {
		return nil
	}
	return c
}

// WriteCalibration replaces the calibration of a catalog.
func (d *Directory) WriteCalibration(c *Calibration) error {
	data, err := json.Marshal(c)
	if err != nil {
		return err
	}
	return writeSummed(d.Disk, d.keyed(c.Catalog, calibrationSuffix), data)
}

// PromptVectors returns the vectors of some prompts, which a server has made and
// WritePromptVectors has kept; nil means that there are none. key identifies the prompts
// and the model.
func (d *Directory) PromptVectors(catalog, key string) [][]float32 {
	data, err := readSummed(d.keyed(catalog, promptSuffix))
	rest, ok := bytes.CutPrefix(data, []byte(key+"\n"))
	if err != nil || !ok || len(rest) < 4 {
		return nil
	}
	n := int(binary.LittleEndian.Uint32(rest))
	rest = rest[4:]
	if n == 0 || len(rest)%(4*n) != 0 {
		return nil
	}
	vectors := make([][]float32, n)
	for i := range vectors {
		v := make([]float32, len(rest)/4/n)
		if _, err := binary.Decode(rest[4*len(v)*i:], binary.LittleEndian, v); err != nil {
			return nil
		}
		vectors[i] = v
	}
	return vectors
}

// WritePromptVectors keeps the vectors of some prompts, which have one dimension.
func (d *Directory) WritePromptVectors(catalog, key string, vectors [][]float32) error {
	data := binary.LittleEndian.AppendUint32([]byte(key+"\n"), uint32(len(vectors)))
	for _, v := range vectors {
		var err error
		if data, err = binary.Append(data, binary.LittleEndian, v); err != nil {
			return err
		}
	}
	return writeSummed(d.Disk, d.keyed(catalog, promptSuffix), data)
}

// writeSummed writes a file that begins with the CRC-32 of its data: a power cut may leave
// a part of it.
func writeSummed(disk atomicfile.Disk, path string, data []byte) error {
	if err := regular.Check(path); err != nil {
		return err
	}
	sum := binary.LittleEndian.AppendUint32(nil, crc32.ChecksumIEEE(data))
	return atomicfile.Write(disk, path, append(sum, data...))
}

// readSummed returns the data of a file that writeSummed wrote.
func readSummed(path string) ([]byte, error) {
	data, err := regular.ReadFile(path)
	if err != nil {
		return nil, err
	}
	if len(data) < 4 || binary.LittleEndian.Uint32(data) != crc32.ChecksumIEEE(data[4:]) {
		return nil, fmt.Errorf("%s: %w", path, ErrDamaged)
	}
	return data[4:], nil
}
