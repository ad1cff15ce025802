package bench

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"iter"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/repertoire-skills/repertoire/internal/evals"
	"github.com/repertoire-skills/repertoire/internal/tidy"
	"github.com/repertoire-skills/repertoire/internal/words"
	"github.com/repertoire-skills/repertoire/skill"
)

// maxLine bounds a line of a data set, in bytes.
const maxLine = 64 << 20

// A Query is one labelled prompt.
type Query struct {
	ID     string
	Text   string
	Kind   string
	Lang   string
	Style  string   // how it is written
	Owner  string   // ID of the skill for which it was written
	Wanted []string // IDs of the skills that it needs
}

// needsNone are the kinds of prompts for which no skill should be offered. "negative" is
// none of them: a prompt that does not need one certain skill may need another.
var needsNone = map[string]bool{"none": true, "no_tool": true, "hard_negative_none": true}

// NeedsNone reports whether the prompt is labelled as one that needs no skill.
func (q *Query) NeedsNone() bool { return len(q.Wanted) == 0 && needsNone[q.Kind] }

// absent is the kind of prompts that ask for work, but for none that a skill of the set is for.
const absent = "absent"

// isAbsent reports whether the prompt is labelled as one for which the set has no skill.
func (q *Query) isAbsent() bool { return len(q.Wanted) == 0 && q.Kind == absent }

// nearMiss reports whether the prompt was written for a skill that it does not need.
func (q *Query) nearMiss() bool {
	return len(q.Wanted) == 0 && q.Owner != "" && !q.NeedsNone() && !q.isAbsent()
}

// A Document is one skill of a corpus.
type Document struct {
	ID    string
	At    string // where it was read, for errors
	Skill *skill.Skill
}

// A Dataset holds labelled prompts and the skills that they are about.
type Dataset struct {
	Name    string
	Queries []Query
	Corpus  iter.Seq2[Document, error] // each use reads it again; it ends at an error
	room    *evals.Room                // in which it is measured, see FromEvals; nil means that Corpus is indexed
	labels  []label                    // for the check that the corpus has these skills
}

// A label is the ID of a wanted skill, and the place where it is labelled, for errors.
type label struct{ skill, at string }

// readSet reads the folder of a data set: queries.jsonl, qrels.tsv and corpus.jsonl, whose
// lines "skills bench --help" describes. If the folder has no corpus.jsonl, readSet uses the
// one in the folder corpus, unless corpus is "". A set without qrels.tsv labels no skill
// as wanted.
func readSet(dir, corpus string) (*Dataset, error) {
	file, err := findCorpus(dir, corpus)
	if err != nil {
		return nil, err
	}
	queries, err := ReadQueries(filepath.Join(dir, "queries.jsonl"))
	if err != nil {
		return nil, err
	}
	d := &Dataset{Name: filepath.Base(filepath.Clean(dir)), Queries: queries, Corpus: documents(file, true)}
	return d, d.readLabels(filepath.Join(dir, "qrels.tsv"))
}

// ReadAll reads the sets in folders, see readSet. A set has the name of its folder, or the
// path if two folders have the same name.
func ReadAll(dirs []string, corpus string) ([]*Dataset, error) {
	var list []*Dataset
	folders := make(map[string]int)
	for _, dir := range dirs {
		folders[filepath.Base(filepath.Clean(dir))]++
	}
	names := make(map[string]bool)
	for _, dir := range dirs {
		d, err := readSet(dir, corpus)
		if err != nil {
			return nil, fmt.Errorf("reading data set: %w", err)
		}
		if folders[d.Name] > 1 {
			d.Name = filepath.ToSlash(filepath.Clean(dir))
		}
		if names[d.Name] {
			return nil, fmt.Errorf("data set %s is given twice", d.Name)
		}
		names[d.Name] = true
		list = append(list, d)
	}
	return list, nil
}

// ReadNone reads prompts that need no skill, whatever their kind. It puts the name of
// the folder before their IDs, because they are measured along with the prompts of a
// set.
func ReadNone(dirs []string) ([]Query, error) {
	var list []Query
	for _, dir := range dirs {
		queries, err := ReadQueries(filepath.Join(dir, "queries.jsonl"))
		if err != nil {
			return nil, fmt.Errorf("reading data set: %w", err)
		}
		for _, q := range queries {
			q.ID = filepath.Base(filepath.Clean(dir)) + "/" + q.ID
			if !q.NeedsNone() {
				q.Kind = "none"
			}
			list = append(list, q)
		}
	}
	return list, nil
}

// Sample returns up to n prompts that need a skill and up to n that need none, in the
// order of the set; 0 means no limit. It leaves out prompts that are labelled neither
// way.
func (d *Dataset) Sample(n int, seed uint64) []Query {
	random := rand.New(rand.NewPCG(seed, 2))
	wanting := sample(random, d.where(func(q *Query) bool { return len(q.Wanted) > 0 }), n)
	return d.at(append(wanting, sample(random, d.where((*Query).NeedsNone), n)...))
}

// nearMisses returns up to n prompts for which one skill would be noise, in the order of
// the set; 0 means no limit. Another skill may fit them.
func (d *Dataset) nearMisses(n int, seed uint64) []Query {
	return d.at(sample(rand.New(rand.NewPCG(seed, 4)), d.where((*Query).nearMiss), n))
}

// absent returns up to n prompts for which the set has no skill, in its order; 0 means no limit.
func (d *Dataset) absent(n int, seed uint64) []Query {
	return d.at(sample(rand.New(rand.NewPCG(seed, 5)), d.where((*Query).isAbsent), n))
}

// where returns the places of the prompts for which is returns true.
func (d *Dataset) where(is func(*Query) bool) (at []int) {
	for i := range d.Queries {
		if is(&d.Queries[i]) {
			at = append(at, i)
		}
	}
	return at
}

// at returns the prompts at some places, in the order of the set.
func (d *Dataset) at(places []int) []Query {
	slices.Sort(places)
	list := make([]Query, len(places))
	for k, i := range places {
		list[k] = d.Queries[i]
	}
	return list
}

func sample(random *rand.Rand, list []int, n int) []int {
	if n <= 0 || n >= len(list) {
		return list
	}
	random.Shuffle(len(list), func(i, j int) { list[i], list[j] = list[j], list[i] })
	return list[:n]
}

func findCorpus(dir, other string) (string, error) {
	for _, folder := range []string{dir, other} {
		if folder == "" {
			continue
		}
		file := filepath.Join(folder, "corpus.jsonl")
		if _, err := os.Stat(file); err == nil || !errors.Is(err, fs.ErrNotExist) {
			return file, err
		}
	}
	if other != "" {
		return "", fmt.Errorf("neither %s nor %s has a corpus.jsonl", dir, other)
	}
	return "", fmt.Errorf("%s has no corpus.jsonl; name a folder that has one with --corpus", dir)
}

// ReadQueries reads a queries.jsonl, without labels.
func ReadQueries(file string) ([]Query, error) {
	var list []Query
	seen := make(map[string]bool)
	for l, err := range lines(file) {
		if err != nil {
			return nil, err
		}
		var q struct {
			ID, Query, Kind, Lang, Style string
			Owner                        string `json:"owner_skill"`
		}
		if err := json.Unmarshal(l.text, &q); err != nil {
			return nil, fmt.Errorf("%s: %w", l.at(), err)
		}
		switch {
		case q.ID == "" || strings.TrimSpace(q.Query) == "":
			return nil, fmt.Errorf("%s: id and query are needed", l.at())
		case seen[q.ID]:
			return nil, fmt.Errorf("%s: a second query %q", l.at(), q.ID)
		}
		seen[q.ID] = true
		list = append(list, Query{ID: q.ID, Text: q.Query, Kind: q.Kind, Lang: q.Lang, Style: q.Style, Owner: q.Owner})
	}
	return list, nil
}

// readLabels reads lines of query ID, skill ID and relevance. A relevance of 0 means
// that the skill is not wanted.
func (d *Dataset) readLabels(file string) error {
	byID := make(map[string]*Query)
	for i := range d.Queries {
		byID[d.Queries[i].ID] = &d.Queries[i]
	}
	for l, err := range lines(file) {
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		if err != nil {
			return err
		}
		fields := strings.Split(strings.TrimSuffix(string(l.text), "\r"), "\t")
		if l.number == 1 {
			if !slices.Equal(fields, []string{"query-id", "skill-id", "relevance"}) {
				return fmt.Errorf(`%s: the header must be "query-id skill-id relevance", separated by tabs`, l.at())
			}
			continue
		}
		if len(fields) != 3 {
			return fmt.Errorf("%s: %d fields, want 3 that are separated by tabs", l.at(), len(fields))
		}
		if err := d.label(byID[fields[0]], fields, l.at()); err != nil {
			return err
		}
	}
	return nil
}

func (d *Dataset) label(q *Query, fields []string, at string) error {
	relevance, err := strconv.Atoi(fields[2])
	switch {
	case err != nil || relevance < 0:
		return fmt.Errorf("%s: relevance %q is no number from 0", at, fields[2])
	case q == nil:
		return fmt.Errorf("%s: no query %q", at, fields[0])
	case relevance > 0 && !slices.Contains(q.Wanted, fields[1]):
		q.Wanted = append(q.Wanted, fields[1])
		d.labels = append(d.labels, label{fields[1], at})
	}
	return nil
}

// ReadCorpus reads a corpus.jsonl, gzipped if its name ends in .gz, line by line,
// because it may be larger than memory. It ends at an error. A skill without an id gets
// its line number as ID.
func ReadCorpus(file string) iter.Seq2[Document, error] {
	return documents(file, false)
}

// documents is ReadCorpus. With needID a skill without an id is an error, because labels
// name skills by ID.
func documents(file string, needID bool) iter.Seq2[Document, error] {
	return func(yield func(Document, error) bool) {
		for l, err := range lines(file) {
			var d Document
			if err == nil {
				d, err = document(l, needID)
			}
			if !yield(d, err) || err != nil {
				return
			}
		}
	}
}

func document(l line, needID bool) (Document, error) {
	var d struct {
		ID, Name, Description, Body string
		Tags, Examples              []string
		Triggers                    skill.Triggers
	}
	if err := json.Unmarshal(l.text, &d); err != nil {
		return Document{}, fmt.Errorf("%s: %w", l.at(), err)
	}
	if d.ID == "" && !needID {
		d.ID = fmt.Sprintf("line %d", l.number)
	}
	if d.ID == "" || strings.TrimSpace(d.Name) == "" {
		return Document{}, fmt.Errorf("%s: id and name are needed", l.at())
	}
	body := tidy.Clean(d.Body)
	meta := skill.Meta{
		Name:        tidy.Line(d.Name),
		Description: tidy.First(strings.TrimSpace(tidy.Clean(d.Description)), skill.MaxDescription),
		Tags:        d.Tags,
		Triggers:    d.Triggers,
		Tokens:      words.Tokens(body),
		Digest:      fmt.Sprintf("sha256:%x", sha256.Sum256(l.text)),
	}
	for _, e := range d.Examples {
		meta.AddExample(e)
	}
	return Document{ID: d.ID, At: l.at(), Skill: &skill.Skill{Meta: meta, Body: body}}, nil
}

// ReadLines calls f with each line of a file of JSON lines, gzipped if its name ends in
// .gz.
func ReadLines[T any](file string, f func(T)) error {
	for l, err := range lines(file) {
		if err != nil {
			return err
		}
		var value T
		if err := json.Unmarshal(l.text, &value); err != nil {
			return fmt.Errorf("%s: %w", l.at(), err)
		}
		f(value)
	}
	return nil
}

// A line of a file, without its end.
type line struct {
	file   string
	number int
	text   []byte // valid until the next one is read
}

func (l line) at() string { return fmt.Sprintf("%s:%d", l.file, l.number) }

// lines reads the lines of a file that are not empty, through gzip if its name
// ends in .gz.
func lines(file string) iter.Seq2[line, error] {
	return func(yield func(line, error) bool) {
		f, err := os.Open(file)
		if err != nil {
			yield(line{}, err)
			return
		}
		defer f.Close()
		l := line{file: file}
		r := io.Reader(f)
		if strings.HasSuffix(file, ".gz") {
			if r, err = gzip.NewReader(f); err != nil {
				yield(l, fmt.Errorf("%s: %w", file, err))
				return
			}
		}
		in := bufio.NewScanner(r)
		in.Buffer(nil, maxLine)
		for in.Scan() {
			l.number++
			if l.text = in.Bytes(); len(bytes.TrimSpace(l.text)) > 0 && !yield(l, nil) {
				return
			}
		}
		if err := in.Err(); err != nil {
			l.number++
			yield(line{}, fmt.Errorf("%s: %w", l.at(), err))
		}
	}
}
