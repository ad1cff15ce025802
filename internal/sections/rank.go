package sections

import (
	"cmp"
	"context"
	"errors"
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

	mu       sync.Mutex
	passages map[encoding]embed.Vector // of those that were compared; guarded by mu
}

// An encoding is what an encoder makes of a passage.
type encoding struct{ model, passage string }

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
//	encoder too          .870  .767    .892  .700
//
// With all passages of the sections it was .874 and .833 of the tuned ones, in five times the time. More
// sections or another length of passages changed little; the headings as a passage of their own, the second
// passage beside the first, and sentences instead of lines did not help what was kept aside.
const (
	headWeight    = 2.  // of a term in a heading, against one in the text
	vectorWeight  = 1.5 // of the cosine of a section, against BM25 divided by its maximum
	lineWeight    = 2.  // of the cosine of its nearest line
	passageWeight = 8.  // of the cosine of its nearest passage by the encoder
	k1, b         = 1.2, .4
	deep          = 16      // sections whose lines and passages are compared
	passagesEach  = 3       // passages of a section that the encoder may read: the nearest by word vectors
	promising     = 4.      // of their cosine, beside the score of the section, to choose the ones that it reads
	maxEncoded    = 24      // passages that it reads
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

// Rank returns the sections of files that have to do with a question, best first, and what that
// is based on, in the words of search.Answer's mode. Of sections that say nearly the same only
// the best is there.
func Rank(ctx context.Context, q Query, files []*File) (_ []Hit, mode string, err error) {
	e, err := static.Default()
	if err != nil {
		return nil, "", err
	}
	v, err := e.Embed(ctx, embed.Query, []string{q.Text})
	if err != nil {
		return nil, "", err
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
	var passages []passage // that may hold the answer
	for i := range top {
		s := &files[top[i].File].Sections[top[i].Section]
		lines, err := ranked(ctx, e, v[0], linesOf(s))
		if err != nil {
			return nil, "", err
		}
		if len(lines) > 0 {
			top[i].Score += lineWeight * max(lines[0].score, 0)
		}
		if q.Encoder == nil {
			continue
		}
		list, err := ranked(ctx, e, v[0], passagesOf(s))
		if err != nil {
			return nil, "", err
		}
		for _, p := range list[:min(len(list), passagesEach)] {
			passages = append(passages, passage{i, p.text, top[i].Score + promising*p.score})
		}
	}
	mode = "hybrid"
	if q.Encoder != nil && len(top) > 1 {
		slices.SortStableFunc(passages, func(x, y passage) int { return cmp.Compare(y.score, x.score) })
		cosines, err := nearest(ctx, &q, files, top, passages[:min(len(passages), maxEncoded)])
		switch {
		case errors.Is(err, context.DeadlineExceeded):
			mode += ", encoder late"
		case err != nil:
			mode += ", encoder failed"
		default:
			mode += ", contextual"
		}
		for i, cosine := range cosines {
			top[i].Score += passageWeight * cosine
		}
	}
	slices.SortStableFunc(top, best)
	return distinct(files, top, q.Limit), mode, ctx.Err()
}

// A passage is a piece of a hit, and its score.
type passage struct {
	hit   int
	text  string
	score float64
}

// ranked returns texts, with their cosines to a vector as scores, the nearest first.
func ranked(ctx context.Context, e embed.Embedder, v embed.Vector, texts []string) ([]passage, error) {
	vectors, err := e.Embed(ctx, embed.Document, texts)
	list := make([]passage, len(vectors))
	for i := range vectors {
		list[i] = passage{text: texts[i], score: embed.Dot(v, vectors[i])}
	}
	slices.SortStableFunc(list, func(x, y passage) int { return cmp.Compare(y.score, x.score) })
	return list, err
}

// nearest returns the cosine to the question, by the encoder, of the nearest passage of each hit; for a hit
// without passages, the lowest of all. If the encoder fails or is late, what it has encoded by then is kept for
// the next question.
func nearest(ctx context.Context, q *Query, files []*File, hits []Hit, passages []passage) ([]float64, error) {
	if q.Wait > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, q.Wait)
		defer cancel()
	}
	v, err := q.Encoder.Embed(ctx, embed.Query, []string{q.Text})
	if err != nil {
		return nil, err
	}
	fileOf := func(p passage) *File { return files[hits[p.hit].File] }
	var missing []passage
	var texts []string
	for _, p := range passages {
		if fileOf(p).vectorOf(q.Encoder, p.text) == nil {
			missing, texts = append(missing, p), append(texts, p.text)
		}
	}
	vectors, err := q.Encoder.Embed(ctx, embed.Document, texts)
	for i, v := range vectors {
		fileOf(missing[i]).keep(q.Encoder, texts[i], v)
	}
	if err != nil {
		return nil, err
	}
	list, lowest := make([]float64, len(hits)), 1.
	for _, p := range passages {
		cosine := max(embed.Dot(v[0], fileOf(p).vectorOf(q.Encoder, p.text)), 0)
		list[p.hit], lowest = max(list[p.hit], cosine), min(lowest, cosine)
	}
	for i := range list {
		list[i] = max(list[i], lowest)
	}
	return list, nil
}

// vectorOf returns the vector of a passage if it is kept, else nil.
func (f *File) vectorOf(e embed.Embedder, passage string) embed.Vector {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.passages[encoding{e.Model(), passage}]
}

// keep keeps the vector of a passage.
func (f *File) keep(e embed.Embedder, passage string, v embed.Vector) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.passages == nil {
		f.passages = make(map[encoding]embed.Vector)
	}
	f.passages[encoding{e.Model(), passage}] = v
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
