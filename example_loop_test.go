package repertoire_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing/fstest"

	"github.com/repertoire-skills/repertoire"
	"github.com/repertoire-skills/repertoire/source"
)

// A message is what a host's own loop sends to a model and gets from it.
type message struct {
	role, text string
	load       string // the name of a skill, if the model calls the tool load_skill
}

// model is any model with tools. This one does what its last message suggests.
func model(messages []message) message {
	last := messages[len(messages)-1]
	switch {
	case last.role == "tool":
		return message{role: "assistant", text: "Done as " + firstLine(last.text) + " says."}
	case strings.Contains(last.text, "spreadsheets"):
		return message{role: "assistant", load: "spreadsheets"}
	}
	return message{role: "assistant", text: "You are welcome."}
}

// firstLine returns the first line behind the frontmatter of a SKILL.md.
func firstLine(text string) string {
	_, body, _ := strings.Cut(strings.TrimPrefix(text, "---\n"), "\n---\n")
	line, _, _ := strings.Cut(strings.TrimSpace(body), "\n")
	return fmt.Sprintf("%q", line)
}

// answer is the loop: the block stands before the conversation, where it is the same for each
// prompt as long as all skills have room in it, the hint stands beside the prompt, and the model
// gets the instructions of the skills that it asks for.
func answer(ctx context.Context, catalog *repertoire.Catalog, prompt string) (string, error) {
	budget := repertoire.Budget{Intro: "The tool load_skill returns the instructions of each by its name."}
	block, err := catalog.Block(ctx, prompt, budget, nil)
	if err != nil {
		return "", err
	}
	messages := []message{{role: "system", text: block.Text}, {role: "user", text: strings.TrimSpace(prompt + "\n" + block.Hint)}}
	for {
		m := model(messages)
		if m.load == "" {
			return m.text, nil
		}
		body, err := catalog.Body(ctx, m.load, nil)
		if err != nil {
			body.Text = err.Error() // such as: no skill "spredsheets"; did you mean …?
		}
		messages = append(messages, m, message{role: "tool", text: body.Text})
	}
}

// The loop of a host that talks to a model itself.
func Example_agentLoop() {
	catalog, remove := openExample()
	defer remove()
	for _, prompt := range []string{"The totals in this Excel workbook are wrong", "Thank you, that is all"} {
		text, err := answer(context.Background(), catalog, prompt)
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println(text)
	}

	// Output:
	// Done as "# How to" says.
	// You are welcome.
}

// A server opens one catalog and asks it in all of its requests, also at the same time. It
// closes the catalog when no request is under way.
func Example_server() {
	catalog, remove := openExample()
	handler := http.NewServeMux()
	handler.HandleFunc("GET /skills", func(w http.ResponseWriter, r *http.Request) {
		block, err := catalog.Block(r.Context(), r.FormValue("prompt"), repertoire.Budget{}, nil)
		if err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)
			return
		}
		names := []string{}
		for _, hit := range block.Fitting() {
			names = append(names, hit.Name)
		}
		json.NewEncoder(w).Encode(names)
	})
	server := httptest.NewServer(handler) // a program calls http.Server.ListenAndServe

	prompts := []string{"The totals in this Excel workbook are wrong", "Roll out the Android app to 5 % of users", "Thank you"}
	answers := make([]string, len(prompts))
	var clients sync.WaitGroup
	for i, prompt := range prompts {
		clients.Go(func() {
			resp, err := http.Get(server.URL + "/skills?prompt=" + url.QueryEscape(prompt))
			if err != nil {
				log.Fatal(err)
			}
			defer resp.Body.Close()
			text, err := io.ReadAll(resp.Body)
			if err != nil {
				log.Fatal(err)
			}
			answers[i] = string(text)
		})
	}
	clients.Wait()

	server.Close() // waits for requests, as http.Server.Shutdown does
	remove()       // calls catalog.Close
	fmt.Print(strings.Join(answers, ""))

	// Output:
	// ["spreadsheets"]
	// ["android-release"]
	// []
}

// openExample opens the catalog of the examples. remove closes it and removes its file.
func openExample() (catalog *repertoire.Catalog, remove func()) {
	cache, err := os.MkdirTemp("", "repertoire")
	if err != nil {
		log.Fatal(err)
	}
	text := func(name, description string) *fstest.MapFile {
		return &fstest.MapFile{Data: fmt.Appendf(nil, "---\nname: %s\ndescription: %s\n---\n# How to\n", name, description)}
	}
	team, err := source.New(fstest.MapFS{ // or source.Dir, or an embed.FS
		"spreadsheets/SKILL.md":    text("spreadsheets", "Repair Excel workbooks whose formulas, totals or links are wrong."),
		"android-release/SKILL.md": text("android-release", "Roll out an Android app to users, from signing to staged rollout."),
	}, &source.Options{Label: "team"})
	if err != nil {
		log.Fatal(err)
	}
	catalog, err = repertoire.Open(context.Background(), repertoire.Config{Sources: []source.Source{team}, DB: filepath.Join(cache, "catalog.db")})
	if err != nil {
		log.Fatal(err)
	}
	return catalog, func() {
		if err := catalog.Close(); err != nil {
			log.Fatal(err)
		}
		os.RemoveAll(cache)
	}
}
