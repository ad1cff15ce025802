package config

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/repertoire-skills/repertoire/embed"
	"github.com/repertoire-skills/repertoire/embed/contextual"
	"github.com/repertoire-skills/repertoire/internal/atomicfile"
	"github.com/repertoire-skills/repertoire/internal/regular"
)

// What the built-in encoder is used for, see Settings.Contextual.
const (
	contextualAuto = "auto" // to rank, on machines that are fast enough for it
	contextualOn   = "on"   // to rank, however slow the machine is
	contextualOff  = "off"  // nothing
)

// contextuals returns the values of Settings.Contextual.
func contextuals() []string { return []string{contextualAuto, contextualOn, contextualOff} }

// contextualVariable is the variable that wins over the configured value.
const contextualVariable = "REPERTOIRE_CONTEXTUAL"

// Encoder returns the chosen encoder, embed.None{} if it is off. nil means that the machine
// decides, see EmbeddingBy.
func (s *Settings) Encoder() (embed.Embedder, error) {
	switch s.Contextual {
	case contextualOff:
		return embed.None{}, nil
	case contextualOn:
		e, err := contextual.Default()
		if err != nil {
			return nil, fmt.Errorf("opening the built-in encoder: %w", err)
		}
		return e, nil
	}
	return nil, nil
}

// tooSlow is how long the encoder may take for a prompt of usual length. A hook waits for 80 ms.
const tooSlow = 60 * time.Millisecond

// waitForced is how long a search waits for an encoder that somebody has chosen, however slow the
// machine is: what is always late is of no use.
const waitForced = 500 * time.Millisecond

// usual is a text of 36 pieces.
const usual = "We moved the billing service to the new cluster last night and now the invoices come out twice, can you find out which job is to blame before the customers notice?"

// A pace is how long the built-in encoder takes on this machine. It is measured once, and
// again the next day if it was too slow: the machine may have been busy.
type pace struct {
	Model     string    `json:"model"`
	Processor string    `json:"processor"` // what it computes with
	Took      float64   `json:"took_ms"`   // for a usual text
	Taken     time.Time `json:"taken"`
}

// Embedding returns the Embedding that the settings want with an embedder, as Measured.
func (s *Settings) Embedding(embedder embed.Embedder) (Embedding, error) {
	encoder, err := s.Encoder()
	if err != nil {
		return Embedding{}, err
	}
	e, err := EmbeddingBy(embedder, encoder)
	return e.Measured(), err
}

// Measured returns what this machine can use of e: if nobody has configured the encoder, and it is
// too slow here, which is measured unless it is known, Slow says so, and there is none.
func (e Embedding) Measured() Embedding {
	if own, ok := e.Contextual.(*contextual.Embedder); ok && e.auto {
		if e.Slow = paceOf(own, true).slow(); e.Slow != "" {
			e.Contextual = nil
		}
	}
	return e
}

// slow says that the encoder is too slow; "" if it is not, or if nothing was measured.
func (p pace) slow() string {
	if most := float64(tooSlow.Milliseconds()); p.Took > most {
		return fmt.Sprintf("this machine takes %.0f ms or more for a prompt with it (%s), and %.0f are bearable; \"contextual: on\" in your configuration uses it all the same", p.Took, p.Processor, most)
	}
	return ""
}

// paceOf returns the pace of the encoder; the zero value if it is not known and is not to be
// measured. Without a cache folder it is measured each time.
func paceOf(e *contextual.Embedder, measure bool) (p pace) {
	dir, err := CacheDir()
	name := filepath.Join(dir, "encoder.json")
	now, processor := time.Now().UTC(), contextual.Processor()
	if data, bad := regular.ReadFile(name); err == nil && bad == nil && json.Unmarshal(data, &p) == nil &&
		p.Model == e.Model() && p.Processor == processor && (p.slow() == "" || now.Sub(p.Taken).Abs() < 24*time.Hour) {
		return p
	}
	if !measure {
		return pace{}
	}
	p = pace{e.Model(), processor, millisecondsOf(e), now}
	if data, bad := json.Marshal(p); err == nil && bad == nil && os.MkdirAll(dir, 0o700) == nil {
		_ = atomicfile.Write(atomicfile.OS{}, name, append(data, '\n')) // else the next process measures
	}
	return p
}

// millisecondsOf returns how long a text takes: the better of two times, because the first text has
// to read the weights. Twice as long as is bearable is waited for.
func millisecondsOf(e embed.Embedder) float64 {
	best := 2 * tooSlow
	for range 2 {
		ctx, cancel := context.WithTimeout(context.Background(), best)
		start := time.Now()
		if _, err := e.Embed(ctx, embed.Query, []string{usual}); err == nil {
			best = min(best, time.Since(start))
		}
		cancel()
	}
	return float64(best.Microseconds()) / 1000
}
