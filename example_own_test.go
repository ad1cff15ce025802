package repertoire_test

import (
	"context"
	"database/sql"
	"fmt"
	"log"
	"strings"

	_ "modernc.org/sqlite"

	"github.com/repertoire-skills/repertoire"
	"github.com/repertoire-skills/repertoire/embed"
	"github.com/repertoire-skills/repertoire/source"
)

// Skills in a table of a database. Each rescan asks for the rows, so that the catalog finds what an
// UPDATE has changed: on the schedule, which is every five seconds, or when the program says so.
func Example_database() {
	defer exampleCache()()
	ctx := context.Background()
	db, err := sql.Open("sqlite", ":memory:") // or any other database
	if err != nil {
		log.Fatal(err)
	}
	defer db.Close()
	db.SetMaxOpenConns(1) // each connection to ":memory:" has tables of its own
	change := func(query string, args ...any) {
		if _, err := db.ExecContext(ctx, query, args...); err != nil {
			log.Fatal(err)
		}
	}
	change("CREATE TABLE skill_files (skill TEXT, path TEXT, content TEXT, PRIMARY KEY (skill, path))")
	insert := "INSERT INTO skill_files VALUES (?, ?, ?)"
	change(insert, "sourdough", "SKILL.md", "---\nname: sourdough\ndescription: Bake sourdough bread.\n---\nSee references/times.md.\n")
	change(insert, "sourdough", "references/times.md", "The dough rests for 8 hours.\n")
	change(insert, "invoices", "SKILL.md", "---\nname: invoices\ndescription: Check invoices of suppliers.\n---\nCompare the totals.\n")

	files := func(ctx context.Context) (map[string]string, error) { return skillFiles(ctx, db) }
	kitchen, err := source.Func(files, &source.Options{Label: "kitchen"})
	if err != nil {
		log.Fatal(err)
	}
	catalog, err := repertoire.Open(ctx, repertoire.Config{Sources: []source.Source{kitchen}})
	if err != nil {
		log.Fatal(err)
	}
	defer catalog.Close()
	find := func(prompt string) {
		answer, err := catalog.Search(ctx, repertoire.Query{Text: prompt, Fitting: true})
		if err != nil {
			log.Fatal(err)
		}
		for _, hit := range answer.Hits {
			fmt.Printf("%s: %s (%s)\n", prompt, hit.Name, hit.Description)
		}
	}

	find("bake a sourdough bread")
	file, err := catalog.File(ctx, "sourdough", "references/times.md", nil)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Print(file.Text)

	change("UPDATE skill_files SET content = replace(content, 'sourdough bread', 'sourdough bread and pizza') WHERE path = 'SKILL.md'")
	if _, err := catalog.Owner().RescanAll(ctx, nil); err != nil {
		log.Fatal(err)
	}
	find("how do I make a pizza?")

	// Output:
	// bake a sourdough bread: sourdough (Bake sourdough bread.)
	// The dough rests for 8 hours.
	// how do I make a pizza?: sourdough (Bake sourdough bread and pizza.)
}

// skillFiles returns the files of all skills by their paths.
func skillFiles(ctx context.Context, db *sql.DB) (map[string]string, error) {
	rows, err := db.QueryContext(ctx, "SELECT skill || '/' || path, content FROM skill_files")
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	files := make(map[string]string)
	for rows.Next() {
		var path, content string
		if err := rows.Scan(&path, &content); err != nil {
			return nil, err
		}
		files[path] = content
	}
	return files, rows.Err()
}

// topics is an embedder: the vector of a text says how often each topic comes up in it. Another one
// asks a model; embedtest.TestEmbedder checks what embed.Embedder promises of it.
type topics [][]string

// Model implements embed.Embedder. Another list of topics needs another name.
func (t topics) Model() string { return "topics-1" }

// Embed implements embed.Embedder.
func (t topics) Embed(ctx context.Context, _ embed.Kind, texts []string) ([]embed.Vector, error) {
	var list []embed.Vector
	for _, text := range texts {
		v := make(embed.Vector, len(t)+1)
		v[len(t)] = .1 // so that a text without a topic has a direction too
		for i, words := range t {
			for _, word := range words {
				v[i] += float32(strings.Count(strings.ToLower(text), word))
			}
		}
		if err := embed.Unit(v); err != nil {
			return list, err
		}
		list = append(list, v)
	}
	return list, ctx.Err()
}

// An embedder of your own finds skills for prompts that have none of their words.
func Example_embedder() {
	defer exampleCache()()
	ctx := context.Background()
	skills, err := source.Files(map[string]string{
		"sourdough/SKILL.md": "---\nname: sourdough\ndescription: Bake bread with a crisp crust.\n---\nKnead the dough.\n",
		"invoices/SKILL.md":  "---\nname: invoices\ndescription: Check bills of suppliers.\n---\nCompare the totals.\n",
	}, nil)
	if err != nil {
		log.Fatal(err)
	}
	own := topics{{"bread", "dough", "loaf", "loaves", "rolls"}, {"bill", "invoice", "payment"}}
	for _, e := range []embed.Embedder{embed.None{}, own} { // None ranks by text alone
		catalog, err := repertoire.Open(ctx, repertoire.Config{
			Sources: []source.Source{skills}, Embedder: e, Contextual: embed.None{},
		})
		if err != nil {
			log.Fatal(err)
		}
		if e.Model() != "" {
			if err := catalog.Owner().EmbedWords(ctx, nil); err != nil { // else the background does it
				log.Fatal(err)
			}
		}
		answer, err := catalog.Search(ctx, repertoire.Query{Text: "why are my loaves so flat?", Threshold: repertoire.Always, Limit: 1})
		if err != nil {
			log.Fatal(err)
		}
		fmt.Printf("%q finds", e.Model())
		for _, hit := range answer.Hits {
			fmt.Print(" ", hit.Name)
		}
		fmt.Println()
		if err := catalog.Close(); err != nil {
			log.Fatal(err)
		}
	}

	// Output:
	// "" finds
	// "topics-1" finds sourdough
}
