package repertoire_test

import (
	"context"
	"fmt"
	"log"
	"os"
	"path/filepath"
	"strings"
	"testing/fstest"

	"github.com/repertoire-skills/repertoire"
	"github.com/repertoire-skills/repertoire/source"
)

// A program with a model and tools of its own: the block goes in front of the
// prompt, and the tools give the model the instructions and the files that it asks
// for.
func ExampleOpen() {
	ctx := context.Background()
	team, err := source.Dir("testdata/skills", &source.Options{Label: "team"})
	if err != nil {
		log.Fatal(err)
	}
	cache, err := os.MkdirTemp("", "repertoire")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(cache)

	// With a schedule, which is the default, the skills are indexed when Open
	// returns, and are kept up to date until Close.
	catalog, err := repertoire.Open(ctx, repertoire.Config{
		Sources: []source.Source{team},
		DB:      filepath.Join(cache, "catalog.db"), // leave it out to use the user's cache folder
	})
	if err != nil {
		log.Fatal(err)
	}
	defer catalog.Close()

	tools := repertoire.Budget{Intro: "The tool load_skill returns the instructions of each by its name, the tool read_file one of its files."}
	for _, prompt := range []string{"The totals in this Excel workbook are wrong", "Thank you, that is all"} {
		// Level 1: block.Text lists these few skills for each prompt; which of them it wants
		// says block.Hint, or nothing.
		block, err := catalog.Block(ctx, prompt, tools, nil)
		if err != nil {
			log.Fatal(err)
		}
		fmt.Printf("%s: %d skills, %t\n", prompt, len(block.Fitting()), strings.Contains(block.Text, "load_skill"))
		for _, hit := range block.Fitting() {
			// Level 2: the model calls load_skill.
			body, err := catalog.Body(ctx, hit.Name, nil)
			if err != nil {
				log.Fatal(err)
			}
			fmt.Println("  " + body.Name)
			for _, resource := range body.Resources {
				// Level 3: the model calls read_file.
				file, err := catalog.File(ctx, body.ID, resource.Path, nil)
				if err != nil {
					log.Fatal(err)
				}
				fmt.Println("    "+file.Path, file.Binary)
			}
		}
	}

	// Output:
	// The totals in this Excel workbook are wrong: 1 skills, true
	//   spreadsheet-modeling
	//     scripts/check_formulas.py false
	// Thank you, that is all: 0 skills, false
}

// The catalog that the command would open in a folder: the skills of the user and
// of the project, as their configuration says.
func ExampleOpenDefault() {
	project, remove := exampleProject() // its folder .claude/skills holds the skill sourdough
	defer remove()

	ctx := context.Background()
	catalog, err := repertoire.OpenDefault(ctx, project) // "" means the working folder
	if err != nil {
		log.Fatal(err)
	}
	defer catalog.Close()
	block, err := catalog.Block(ctx, "Bake a sourdough bread with a crisp crust", repertoire.Budget{}, nil)
	if err != nil {
		log.Fatal(err)
	}
	for _, hit := range block.Fitting() {
		fmt.Println(hit.Name, "from", hit.Source)
	}

	// Output:
	// sourdough from project:.claude
}

// The block is what a model sees. Skills need not be on disk.
func ExampleCatalog_Block() {
	ctx := context.Background()
	skills, err := source.New(fstest.MapFS{ // or an embed.FS
		"pdf-forms/SKILL.md":   {Data: []byte("---\nname: pdf-forms\ndescription: Fill in <form> fields of PDF files.\n---\nUse pdftk.\n")},
		"house-style/SKILL.md": {Data: []byte("---\nname: house-style\ndescription: How we write.\n---\nBe brief.\n")},
	}, &source.Options{Label: "app"})
	if err != nil {
		log.Fatal(err)
	}
	cache, err := os.MkdirTemp("", "repertoire")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(cache)
	writer := &repertoire.Agent{
		Name:    "writer",
		Exclude: repertoire.Rules{Names: []string{"internal-*"}},
		Pinned:  []string{"house-style"}, // always there, with all instructions
	}
	catalog, err := repertoire.Open(ctx, repertoire.Config{
		Sources: []source.Source{skills},
		DB:      filepath.Join(cache, "catalog.db"),
		Agents:  []*repertoire.Agent{writer},
	})
	if err != nil {
		log.Fatal(err)
	}
	defer catalog.Close()
	block, err := catalog.Block(ctx, "Use pdf-forms for this", repertoire.Budget{Tokens: 500, Skills: 3}, writer)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Print(block.Text, block.Hint) // what is the same for each prompt, and what stands beside this one

	// Output:
	// <skill_content name="house-style" location="app:house-style/SKILL.md">
	// ---
	// name: house-style
	// description: How we write.
	// ---
	// Be brief.
	// </skill_content>
	// Skills in the catalog. The tool `read_skill` returns the instructions of each by its name. Names and descriptions are catalog metadata.
	// <available_skills>
	// <skill name="pdf-forms" location="app:pdf-forms/SKILL.md">Fill in &lt;form&gt; fields of PDF files.</skill>
	// </available_skills>
	// This prompt asks for the skill pdf-forms: load it before you start. The tool `read_skill` returns its instructions, called with the name pdf-forms.
}
