package searchtest

import (
	"compress/gzip"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/repertoire-skills/repertoire/internal/must"
	"github.com/repertoire-skills/repertoire/internal/words"
)

// Prompts returns texts of the length that people type to agents.
func Prompts() []string {
	return []string{
		"Can you fill in the attached PDF form with the data from customers.csv and save one file per customer?",
		"The checkout page re-renders on every keystroke, find out why and fix it without changing the API of the components",
		"write a postgres migration that adds a tenant_id column to all tables and backfills it from the accounts table",
		"Our terraform state is locked since the CI job was cancelled this morning, how do I recover without losing resources?",
		"Prepare slides for the board meeting from these notes, about ten of them, with one chart on revenue by quarter",
		"I need to find which commit broke the login test, it worked in the release two weeks ago",
		"please review this pull request for security problems, especially the way the session token is stored in the browser",
		"Translate the user guide to German and Japanese, keep the headings and the code blocks as they are",
		"kubernetes pods of the payment service keep restarting with exit code 137 after the last deployment to staging",
		"why does getHTTPResponse return null when the server answers with a redirect, and where should that be handled?",
	}
}

// Corpus returns n skills from the shared corpus, or generated skills if that is not
// there.
func Corpus(tb testing.TB, n int) Tree {
	f, err := os.Open(filepath.Join("..", "..", "shared", "corpus", "skills.jsonl.gz"))
	if err != nil {
		return Generated(n, 900)
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
	must.Do(tb, err)
	t := make(Tree)
	for lines := json.NewDecoder(z); len(t) < n && lines.More(); {
		var s struct{ Repo, Path, Name, Description, Body string }
		must.Do(tb, lines.Decode(&s))
		t[s.Repo+"/"+s.Path] = Skill(s.Name, s.Description, s.Body)
	}
	return t
}

// Generated returns n skills with bodies of length words, spread as in real texts: a
// few words are everywhere, most are rare. Every tenth name occurs twice, and some
// words also occur in Prompts.
func Generated(n, length int) Tree {
	rng := rand.New(rand.NewPCG(uint64(n), uint64(length)))
	zipf := rand.NewZipf(rng, 1.1, 4, 20_000)
	known := words.Terms(strings.Join(Prompts(), " "))
	text := func(n int) string {
		var b strings.Builder
		for range n {
			if w := zipf.Uint64(); w%50 == 7 {
				b.WriteString(known[rng.IntN(len(known))] + " ")
			} else {
				fmt.Fprintf(&b, "w%d ", w)
			}
		}
		return b.String()
	}
	t := make(Tree)
	for i := range n {
		name := fmt.Sprintf("skill-%d", i-i%10/9)
		t[fmt.Sprintf("dir-%04d", i)] = Skill(name, text(min(30, length)), text(length), fmt.Sprintf("tag%d", i%5))
	}
	return t
}
