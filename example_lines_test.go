package repertoire_test

import (
	"context"
	"fmt"
	"log"
	"os"
	"strings"

	"github.com/repertoire-skills/repertoire"
)

// All skills of some folders, the instructions of one, its files by their kind, and one of these.
func ExampleOpenDir() {
	defer exampleCache()()
	ctx := context.Background()

	catalog, err := repertoire.OpenDir(ctx, "testdata/skills")
	if err != nil {
		log.Fatal(err)
	}
	defer catalog.Close()
	skills, err := catalog.List(ctx, nil, nil)
	if err != nil {
		log.Fatal(err)
	}
	body, err := catalog.Body(ctx, "spreadsheet-modeling", nil)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(len(skills), "skills, such as", skills[0].Name, "and", body.Name+":", strings.HasPrefix(body.Text, "---\nname: "))
	for _, r := range body.Resources {
		file, err := catalog.File(ctx, body.ID, r.Path, nil)
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println(r.Kind, r.Path, strings.Count(file.Text, "\n") > 5)
	}

	// Output:
	// 72 skills, such as ab-test-planning and spreadsheet-modeling: true
	// script scripts/check_formulas.py true
}

// The context for a prompt: what stands before it, and what stands beside it.
func ExampleOpenDir_prompt() {
	defer exampleCache()()
	ctx := context.Background()

	catalog, err := repertoire.OpenDir(ctx, "testdata/skills")
	if err != nil {
		log.Fatal(err)
	}
	defer catalog.Close()
	block, err := catalog.Block(ctx, "The totals in this Excel workbook are wrong", repertoire.Budget{}, nil)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(block.Fitting()[0].Name, strings.Contains(block.Text+block.Hint, "spreadsheet-modeling"))

	// Output:
	// spreadsheet-modeling true
}

// exampleCache keeps the index of an example away from the user's cache, until the function
// that it returns is called.
func exampleCache() (remove func()) {
	cache, err := os.MkdirTemp("", "repertoire")
	if err != nil {
		log.Fatal(err)
	}
	before, ok := os.LookupEnv("REPERTOIRE_CACHE")
	os.Setenv("REPERTOIRE_CACHE", cache)
	return func() {
		if os.Setenv("REPERTOIRE_CACHE", before); !ok {
			os.Unsetenv("REPERTOIRE_CACHE")
		}
		os.RemoveAll(cache)
	}
}
