package sections

import (
	"cmp"
	"context"
	"math"
	"slices"
	"strings"

	"github.com/repertoire-skills/repertoire/embed"
	"github.com/repertoire-skills/repertoire/embed/static"
	"github.com/repertoire-skills/repertoire/internal/tidy"
	"github.com/repertoire-skills/repertoire/internal/words"
)

// A File is a text that was cut and made ready for questions. It must not be changed.
type File struct {
	Sections []Section
	terms    map[string][]posting
	lengths  []float64 // of the sections, in weighted terms
	vectors  []embed.Vector
}

// A posting is how often a section has a term.
type posting struct {
	section int
	weight  float64
}

// Weights of ranking, tuned on two thirds of the skills that the questions of testdata are about:
// the right section was among the first three for .823 of 215 questions, and for .831 of 83 about
// other skills. Without the nearest line it was .79.
const (
	headWeight   = 2.  // of a term in a heading, against one in the text
	vectorWeight = 1.5 // of the cosine of a section, against BM25 divided by its maximum
	lineWeight   = 2.  // of the cosine of its nearest line
	k1, b        = 1.2, .4
	deep         = 8       // sections whose lines are compared
	alike        = .8      // from this likeness on, two sections are copies
	maxEmbedded  = 8 << 10 // bytes of a section that its vector is made of
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

// Bytes is about how much memory the file takes.
func (f *File) Bytes() int {
	n := 0
	for i := range f.Sections {
		n += 4*len(f.Sections[i].Text) + 4*len(f.vectors[i]) + 200
	}
	return n
}

// A Hit is a section of one of several files.
type Hit struct {
	File    int // index of it
	Section int // index in the sections of the file
	Score   float64
}

// Rank returns the sections of files that have to do with a question, best first, at most limit.
// Of sections that say nearly the same only the best is there.
func Rank(ctx context.Context, question string, files []*File, limit int) ([]Hit, error) {
	e, err := static.Default()
	if err != nil {
		return nil, err
	}
	v, err := e.Embed(ctx, embed.Query, []string{question})
	if err != nil {
		return nil, err
	}
	var hits []Hit
	scores, most := bm25(question, files)
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
	top := hits[:min(len(hits), max(deep, limit))]
	for i := range top {
		lines, err := e.Embed(ctx, embed.Document, linesOf(&files[top[i].File].Sections[top[i].Section]))
		if err != nil {
			return nil, err
		}
		nearest := 0.
		for _, line := range lines {
			nearest = max(nearest, embed.Dot(v[0], line))
		}
		top[i].Score += lineWeight * nearest
	}
	slices.SortStableFunc(top, best)
	return distinct(files, top, limit), nil
}

// linesOf returns the lines of a section that say something: a vector of all of a section blurs
// what a single line is about.
func linesOf(s *Section) (list []string) {
	const shortest = 15 // bytes
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
