package source_test

import (
	"context"
	"fmt"
	"log"

	"github.com/repertoire-skills/repertoire/source"
)

// Skills that a database or an API has.
func ExampleFunc() {
	rows := func(context.Context) (map[string]string, error) { // a program asks its database here
		return map[string]string{"sourdough/SKILL.md": "---\nname: sourdough\ndescription: Bakes bread.\n---\nRest it.\n"}, nil
	}
	skills, err := source.Func(rows, &source.Options{Label: "kitchen"})
	if err != nil {
		log.Fatal(err)
	}
	for ref, err := range skills.Skills(context.Background(), nil) { // repertoire.Config.Sources takes it
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println(ref.Path)
	}

	// Output:
	// sourdough/SKILL.md
}
