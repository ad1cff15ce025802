package detect

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/repertoire-skills/repertoire/embed"
)

// What is timed. In 20,101 published skills a text of the catalog has 420 words on average,
// in parts of 130.
const (
	rounds    = 5
	patience  = 10 * time.Second // after which no further round begins
	batchSize = 16
	partWords = 130
	textWords = 420
)

// A Timing says how fast a model is.
type Timing struct {
	First  time.Duration // of the first vector: the server may have to load the model
	Prompt time.Duration // of one prompt; median of the rounds
	Batch  time.Duration // of a batch; median of the rounds
	Size   int           // texts in a batch
	Rounds int
	Dim    int // of the vectors
}

// Time times a model: the first vector, then up to five rounds of a prompt and a batch, no
// two of which are the same. A slow model gets fewer rounds.
func (c Choice) Time(ctx context.Context) (Timing, error) {
	e, err := c.Embedder()
	if err != nil {
		return Timing{}, err
	}
	t := Timing{Size: batchSize}
	timed := func(kind embed.Kind, texts []string) time.Duration {
		start := time.Now()
		vs, failed := e.Embed(ctx, kind, texts)
		if failed != nil {
			err = failed
		} else {
			t.Dim = len(vs[0])
		}
		return time.Since(start)
	}
	start := time.Now()
	t.First = timed(embed.Query, prompts(rounds))
	var prompt, batch []time.Duration
	for t.Rounds < rounds && err == nil && (t.Rounds == 0 || time.Since(start) < patience) {
		prompt = append(prompt, timed(embed.Query, prompts(t.Rounds)))
		batch = append(batch, timed(embed.Document, parts(t.Rounds)))
		t.Rounds++
	}
	if err != nil {
		return Timing{}, fmt.Errorf("timing %s on %s: %w", c.Name, c.Address, err)
	}
	t.Prompt, t.Batch = median(prompt), median(batch)
	return t, nil
}

// Estimate returns how long a number of texts of a catalog will take.
func (t Timing) Estimate(texts int) time.Duration {
	return time.Duration(float64(t.Batch) * float64(texts) * textWords / (batchSize * partWords))
}

// median returns the middle of at least one duration.
func median(list []time.Duration) time.Duration {
	slices.Sort(list)
	return list[len(list)/2]
}

// prompts returns the prompt of a round. Servers cache what they have seen.
func prompts(round int) []string {
	what := []string{"two PDF files", "the logs of a crashed pod", "a slow SQL query", "an invoice in a mail", "old git branches", "a chart"}
	return []string{"What is the best way to deal with " + what[round%len(what)] + "? Please keep it short."}
}

// parts returns the batch of a round: texts as long as the usual parts of a skill.
func parts(round int) []string {
	vocabulary := strings.Fields("read the file first and check each column before you change it then write a summary with the " +
		"name of every table that has no owner run the tests again and report what failed where and what to do next")
	list := make([]string, batchSize)
	for i := range list {
		text := make([]string, partWords)
		for j := range text {
			text[j] = vocabulary[(j*(i+2)+i+7*round)%len(vocabulary)]
		}
		list[i] = strings.Join(text, " ")
	}
	return list
}
