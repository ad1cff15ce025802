package mcpserver_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log"
	"os"
	"path/filepath"
	"strings"

	"github.com/repertoire-skills/repertoire"
	"github.com/repertoire-skills/repertoire/mcpserver"
	"github.com/repertoire-skills/repertoire/source"
)

// serveFolder is an MCP server of the skills in a folder; a program would call it
// with os.Stdin and os.Stdout.
func serveFolder(ctx context.Context, dir, db string, in io.Reader, out io.Writer) error {
	team, err := source.Dir(dir, &source.Options{Label: "team"})
	if err != nil {
		return err
	}
	catalog, err := repertoire.Open(ctx, repertoire.Config{Sources: []source.Source{team}, DB: db})
	if err != nil {
		return err
	}
	defer catalog.Close()
	return mcpserver.New(catalog, nil).Serve(ctx, in, out)
}

// A client lists the skills of a server that is ten lines long.
func Example() {
	cache, err := os.MkdirTemp("", "repertoire")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(cache)
	requests := `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"example","version":"1"}}}
{"jsonrpc":"2.0","method":"notifications/initialized"}
{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"list_skills","arguments":{"tag":"android"}}}
`
	var answers bytes.Buffer
	err = serveFolder(context.Background(), "../testdata/skills", filepath.Join(cache, "catalog.db"), strings.NewReader(requests), &answers)
	if err != nil {
		log.Fatal(err)
	}
	for line := range strings.Lines(answers.String()) {
		var answer struct {
			Result struct {
				Content []struct{ Text string }
			}
		}
		if err := json.Unmarshal([]byte(line), &answer); err != nil {
			log.Fatal(err)
		}
		for _, c := range answer.Result.Content {
			fmt.Print(c.Text)
		}
	}

	// Output:
	// Skills 1-1 of 1, by name:
	// - android-release: Take an Android app from a green build to users, with version codes, signing, shrinking, bundle upload, tracks, staged rollout and vitals. Use when a team must …
}
