// Command bleve indexes and asks the same skills with the library of that name.
package main

import (
	"encoding/json"
	"io"
	"io/fs"
	"log"
	"os"
	"path/filepath"
	"strings"

	"github.com/blevesearch/bleve/v2"
	"github.com/blevesearch/bleve/v2/analysis/lang/en"

	"github.com/repertoire-skills/repertoire/bench/peers/ask"
)

const usage = "usage: bleve index ROOT DIR | bleve ask DIR PROMPTS THREADS SECONDS"

func main() {
	log.SetFlags(0)
	var err error
	switch args := os.Args[1:]; {
	case len(args) == 3 && args[0] == "index":
		err = index(args[1], args[2])
	case len(args) == 5 && args[0] == "ask":
		err = answer(os.Stdout, args[1], args[2:])
	default:
		log.Fatal(usage)
	}
	if err != nil {
		log.Fatal(err)
	}
}

func index(root, dir string) error {
	mapping := bleve.NewIndexMapping()
	mapping.DefaultAnalyzer = en.AnalyzerName
	mapping.StoreDynamic, mapping.DocValuesDynamic = false, false
	x, err := bleve.New(dir, mapping)
	if err != nil {
		return err
	}
	defer x.Close()
	batch := x.NewBatch()
	err = filepath.WalkDir(root, func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.Name() != "SKILL.md" {
			return err
		}
		text, err := os.ReadFile(name)
		if err != nil {
			return err
		}
		if err := batch.Index(filepath.Base(filepath.Dir(name)), fields(string(text))); err != nil || batch.Size() < 500 {
			return err
		}
		defer batch.Reset()
		return x.Batch(batch)
	})
	if err != nil {
		return err
	}
	return x.Batch(batch)
}

// fields takes a skill apart that "ours write" has written: each value is one line of JSON.
func fields(text string) map[string]string {
	front, body, _ := strings.Cut(strings.TrimPrefix(text, "---\n"), "\n---\n")
	out := map[string]string{"body": body}
	for line := range strings.Lines(front) {
		key, value, _ := strings.Cut(line, ": ")
		var s string
		if json.Unmarshal([]byte(value), &s) == nil { // else a list
			out[key] = s
		}
	}
	return out
}

func answer(w io.Writer, dir string, args []string) error {
	x, err := bleve.OpenUsing(dir, map[string]any{"read_only": true})
	if err != nil {
		return err
	}
	defer x.Close()
	return ask.Run(w, args, func(prompt string) (string, error) {
		found, err := x.Search(bleve.NewSearchRequestOptions(bleve.NewMatchQuery(prompt), 5, 0, false))
		if err != nil || len(found.Hits) == 0 {
			return "", err
		}
		return found.Hits[0].ID, nil
	})
}
