// Command make makes the table of package gloss from its lists.
package main

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/repertoire-skills/repertoire/internal/gloss"
)

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "error:", err)
		os.Exit(1)
	}
}

// run expects to run in the folder of package gloss.
func run() error {
	files, err := filepath.Glob("lists/*.tsv")
	if err != nil {
		return err
	}
	slices.Sort(files)
	var lists []gloss.List
	for _, f := range files {
		text, err := os.ReadFile(f)
		if err != nil {
			return err
		}
		code := strings.TrimSuffix(filepath.Base(f), ".tsv")
		lists = append(lists, gloss.List{Code: code, File: f, Text: string(text)})
	}
	table, err := gloss.Compile(lists)
	if err != nil {
		return err
	}
	return os.WriteFile("table.bin", []byte(table), 0o644)
}
