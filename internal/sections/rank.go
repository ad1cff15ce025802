package sections

import (
	"cmp"
	"context"
	"math"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/repertoire-skills/repertoire/embed"
	"github.com/repertoire-skills/repertoire/embed/static"
	"github.com/repertoire-skills/repertoire/internal/tidy"
	"github.com/repertoire-skills/repertoire/internal/words"
)

// A File is a text that was cut and made ready for questions. It must not be changed. Several
// goroutines may ask about it.
type File struct {
	Sections []Section
	terms    map[string][]posting
	lengths  []float64 // of the sections, in weighted terms
	vectors  []embed.Vector

	mu      sync.Mutex
	encoded map[encoding][]embed.Vector // of the passages of sections that were among the best; guarded by mu
}

// An encoding is what an encoder makes of a section.
type encoding struct {
	model   string
	section int
}

// A posting is how often a section has a term.
type posting struct {
	section int
	weight  float64
}

// Weights of ranking, tuned on two thirds of the skills that the questions of testdata are about.
// The right section was among the first three, of 215 questions about the SKILL.md of a skill and of 30
// about all its files, and of 83 and 20 about other skills, on which nothing was tuned:
//
//	by words alone       .814  .500    .855  .600
//	with the built-in
//	encoder too          .856  .733    .867  .700
//
// Whole sections by the encoder gave .837 and .667 of the tuned ones. More sections or another length of
// passages changed little; sentences instead of lines did not help without the encoder.
const (
	headWeight    = 2.  // of a term in a heading, against one in the text
	vectorWeight  = 1.5 // of the cosine of a section, against BM25 divided by its maximum
	lineWeight    = 2.  // of the cosine of its nearest line
	passageWeight = 4.  // of the cosine of its nearest passage by the encoder
	k1, b         = 1.2, .4
	deep          = 12      // sections whose lines and passages are compared
	alike         = .8      // from this likeness on, two sections are copies
	maxEmbedded   = 8 << 10 // bytes of a section that its vectors are made of
	passageBytes  = 250     // after which a passage ends with its line
	shortest      = 15      // bytes of what has a vector of its own
)

// New cuts a text and makes it ready for questions.
func New(ctx context.Context, path, text string) (*File, error) {
	e, err := static.Default()
	if err != nil {
		return nil, err
	}
	f := &File{Sections: Split(path, text), terms: make(map[string][]posting)}
	var a words.Analyzer
	texts := make([]string, len(f.Sections))
	for i, s := range f.Sections {
		counts, length := make(map[string]float64), 0.
		add := func(text string, weight float64) {
			for _, t := range a.Terms(text) {
				counts[t] += weight
				length += weight
			}
		}
		heads := strings.Join(slices.Concat(s.Trail, s.Also), "\n")
		add(heads, headWeight)
		add(s.Text, 1)
		for t, n := range counts {
			f.terms[t] = append(f.terms[t], posting{i, n})
		}
		f.lengths = append(f.lengths, length)
		texts[i] = heads + "\n" + tidy.Cut(s.Text, maxEmbedded)
	}
	f.vectors, err = e.Embed(ctx, embed.Document, texts)
	return f, err
}

// Bytes is about how much memory the file takes, once all of its passages are encoded.
func (f *File) Bytes() int {
	n := 0
	for i := range f.Sections {
		n += 12*len(f.Sections[i].Text) + 4*len(f.vectors[i]) + 2000
	}
	return n
}

// A Query is a question about files.
type Query struct {
	Text    string
	Limit   int            // most hits
	Encoder embed.Embedder // whose vectors of passages rank beside the words; nil means none
	Wait    time.Duration  // how long the encoder may take before the words alone rank; 0 means no limit
}

// Encoding is a catalog that ranks with an encoder.
type Encoding interface {
	// Encoder returns the encoder to rank what a text asks for; nil means none.
	Encoder(text string) embed.Embedder
}

// A Hit is a section of one of several files.
type Hit struct {
	File    int // index of it
	Section int // index in the sections of the file
	Score   float64
}

// Rank returns the sections of files that have to do with a question, best first. Of sections
// that say nearly the same only the best is there.
func Rank(ctx context.Context, q Query, files []*File) ([]Hit, error) {
	e, err := static.Default()
	if err != nil {
		return nil, err
	}
	v, err := e.Embed(ctx, embed.Query, []string{q.Text})
	if err != nil {
		return nil, err
	}
	var hits []Hit
	scores, most := bm25(q.Text, files)
	for i, f := range files {
		for j := range f.Sections {
			s := vectorWeight * max(embed.Dot(v[0], f.vectors[j]), 0)
			if most > 0 {
				s += scores[i][j] / most
			}
			if s > 0 {
				hits = append(hits, Hit{i, j, s})
			}
		}
	}
	best := func(x, y Hit) int { return cmp.Compare(y.Score, x.Score) }
	slices.SortStableFunc(hits, best)
	top := hits[:min(len(hits), max(deep, q.Limit))]
	for i := range top {
		lines, err := e.Embed(ctx, embed.Document, linesOf(&files[top[i].File].Sections[top[i].Section]))
		if err != nil {
			return nil, err
		}
		closest := 0.
		for _, line := range lines {
			closest = max(closest, embed.Dot(v[0], line))
		}
		top[i].Score += lineWeight * closest
	}
	for i, cosine := range nearest(ctx, &q, files, top) {
		top[i].Score += passageWeight * cosine
	}
	slices.SortStableFunc(top, best)
	return distinct(files, top, q.Limit), ctx.Err()
}

// nearest returns the cosine of the passage of each hit that is nearest to the question by the
// encoder; nil if there is no encoder, or if it fails or is late. What it has encoded by then is kept
// for the next question.
func nearest(ctx context.Context, q *Query, files []*File, hits []Hit) []float64 {
	if q.Encoder == nil || len(hits) < 2 {
		return nil
	}
	if q.Wait > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, q.Wait)
		defer cancel()
	}
	v, err := q.Encoder.Embed(ctx, embed.Query, []string{q.Text})
	if err != nil {
		return nil
	}
	list := make([]float64, len(hits))
	for i, h := range hits {
		passages, err := files[h.File].encode(ctx, h.Section, q.Encoder)
		if err != nil {
			return nil
		}
		for _, p := range passages {
			list[i] = max(list[i], embed.Dot(v[0], p))
		}
	}
	return list
}

// encode returns the vectors of the passages of a section.
func (f *File) encode(ctx context.Context, section int, e embed.Embedder) ([]embed.Vector, error) {
	key := encoding{e.Model(), section}
	f.mu.Lock()
	list, ok := f.encoded[key]
	f.mu.Unlock()
	if ok {
		return list, nil
	}
	list, err := e.Embed(ctx, embed.Document, passagesOf(&f.Sections[section]))
	if err != nil {
		return nil, err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.encoded == nil {
		f.encoded = make(map[encoding][]embed.Vector)
	}
	f.encoded[key] = list
	return list, nil
}

// passagesOf returns a section in pieces of a few lines, each below the headings: an encoder sees what
// a sentence is about, and less so what a page is about.
func passagesOf(s *Section) (list []string) {
	heads := strings.Join(s.Trail, " ") + ". "
	var b strings.Builder
	end := func() {
		if b.Len() > shortest {
			list = append(list, heads+b.String())
		}
		b.Reset()
	}
	for line := range strings.Lines(tidy.Cut(s.Text, maxEmbedded)) {
		line = strings.TrimSpace(line)
		if line == "" || strings.HasPrefix(line, "- ") || strings.HasPrefix(line, "|") {
			end() // a paragraph, a point or a row
		}
		if b.WriteString(line + " "); b.Len() > passageBytes {
			end()
		}
	}
	end()
	return list
}

// linesOf returns the lines of a section that say something: a vector of all of a section blurs
// what a single line is about.
func linesOf(s *Section) (list []string) {
	for line := range strings.Lines(tidy.Cut(s.Text, maxEmbedded)) {
		if len(line) > shortest {
			list = append(list, line)
		}
	}
	return list
}

// bm25 returns the score of each section of each file, and the highest.
func bm25(question string, files []*File) (scores [][]float64, most float64) {
	terms := words.Terms(question)
	slices.Sort(terms)
	terms = slices.Compact(terms)
	n, length := 0., 0.
	for _, f := range files {
		scores = append(scores, make([]float64, len(f.Sections)))
		for _, l := range f.lengths {
			n, length = n+1, length+l
		}
	}
	for _, t := range terms {
		df := 0.
		for _, f := range files {
			df += float64(len(f.terms[t]))
		}
		idf := math.Log(1 + (n-df+.5)/(df+.5))
		for i, f := range files {
			for _, p := range f.terms[t] {
				scores[i][p.section] += idf * p.weight * (k1 + 1) / (p.weight + k1*(1-b+b*f.lengths[p.section]*n/length))
				most = max(most, scores[i][p.section])
			}
		}
	}
	return scores, most
}

// distinct returns the first hits that are not nearly the same as one before.
func distinct(files []*File, hits []Hit, limit int) []Hit {
	var list []Hit
	var seen []words.Sketch
	for _, h := range hits {
		if len(list) == limit {
			break
		}
		sketch := words.NewSketch(files[h.File].Sections[h.Section].Text)
		if !slices.ContainsFunc(seen, func(s words.Sketch) bool {
			return s.Same(sketch) || !s.TooFew() && !sketch.TooFew() && s.Likeness(sketch) >= alike
		}) {
			list, seen = append(list, h), append(seen, sketch)
		}
	}
	return list
}
