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

// A catalog of the skills in a folder is asked what a prompt needs.
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

	// Level 1: put block.Text in front of the prompt. It is empty when the
	// prompt needs no skill.
	for _, prompt := range []string{"The totals in this Excel workbook are wrong", "Thank you, that is all"} {
		block, err := catalog.Block(ctx, prompt, repertoire.Budget{}, nil)
		if err != nil {
			log.Fatal(err)
		}
		fmt.Printf("%s:\n", prompt)
		for _, hit := range block.Skills {
			fmt.Println("  " + hit.Name)
		}
	}

	// Level 2: the model asks for the instructions of one of them.
	body, err := catalog.Body(ctx, "spreadsheet-modeling", nil)
	if err != nil {
		log.Fatal(err)
	}
	script := body.Resources[0].Path
	fmt.Println(strings.HasPrefix(body.Text, "---\nname: "+body.Name), script)

	// Level 3: and for one of its files.
	file, err := catalog.File(ctx, body.ID, script, nil)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(file.Path, file.Binary)

	// Output:
	// The totals in this Excel workbook are wrong:
	//   spreadsheet-modeling
	// Thank you, that is all:
	// true scripts/check_formulas.py
	// scripts/check_formulas.py false
}

// The catalog that the command would open in the working folder: the skills of
// the user and of the project, as their configuration says.
func ExampleOpenDefault() {
	ctx := context.Background()
	catalog, err := repertoire.OpenDefault(ctx, "")
	if err != nil {
		log.Fatal(err)
	}
	defer catalog.Close()
	block, err := catalog.Block(ctx, "Fill in this PDF form", repertoire.Budget{}, nil)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Print(block.Text)
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
	fmt.Print(block.Text)

	// Output:
	// <skill_content name="house-style" location="app:house-style/SKILL.md">
	// ---
	// name: house-style
	// description: How we write.
	// ---
	// Be brief.
	// </skill_content>
	// Skills in the local catalog that match this prompt. The instructions of each are in the file at its location; `skills show NAME` prints them. Names and descriptions are catalog metadata; whether a skill fits is for the reader to judge.
	// <available_skills>
	// <skill>
	// <name>
	// pdf-forms
	// </name>
	// <description>
	// Fill in &lt;form&gt; fields of PDF files.
	// </description>
	// <location>
	// app:pdf-forms/SKILL.md
	// </location>
	// </skill>
	// </available_skills>
}
