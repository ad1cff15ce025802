package repertoire_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log"
	"os"
	"strings"
	"time"

	"github.com/repertoire-skills/repertoire"
	"github.com/repertoire-skills/repertoire/contextprovider"
)

// hook answers one event of a host that calls a program with each prompt. The main function of such
// a program is
//
//	hook(os.Stdin, os.Stdout, time.Second)
//
// and it ends with 0 whatever happens: a hook that fails may stop the host. For the same reason
// it says nothing when no skill fits, when it does not understand the event, and when time is up.
func hook(stdin io.Reader, stdout io.Writer, deadline time.Duration) {
	ctx, cancel := context.WithTimeout(context.Background(), deadline)
	defer cancel()
	said := make(chan string, 1)
	go func() { // which may hang, such as on an input that does not end
		defer func() {
			if p := recover(); p != nil {
				log.Print(p)
				cancel()
			}
		}()
		text, err := suggest(ctx, stdin)
		if err != nil {
			log.Print(err) // to standard error, for the author of the hook
		}
		said <- text
	}()
	select {
	case text := <-said:
		if text != "" {
			json.NewEncoder(stdout).Encode(map[string]string{"add_to_prompt": text})
		}
	case <-ctx.Done():
	}
}

// suggest returns what to tell the model with the prompt of an event; "" for nothing.
func suggest(ctx context.Context, stdin io.Reader) (string, error) {
	var event struct {
		Kind      string `json:"kind"`
		Text      string `json:"text"`
		Workspace string `json:"workspace"`
	}
	if err := json.NewDecoder(io.LimitReader(stdin, 1<<20)).Decode(&event); err != nil || event.Kind != "prompt" {
		return "", err
	}
	cfg, err := repertoire.ReadConfig(event.Workspace, nil)
	if err != nil {
		return "", err
	}
	cfg.Schedule = repertoire.Never // this process is gone before the first rescan
	catalog, err := repertoire.Open(ctx, cfg)
	if err != nil {
		return "", err
	}
	defer catalog.Close()
	if _, err := catalog.Freshen(ctx, nil); err != nil { // the first time indexes all skills
		return "", err
	}
	block, err := catalog.Block(ctx, event.Text, repertoire.Budget{Tokens: 300, Offer: contextprovider.Relevant}, nil)
	return block.Text, err
}

// The hook of a host that Repertoire does not know: it gets each prompt as JSON, and what the hook
// writes goes to the model with the prompt.
func Example_hook() {
	project, remove := exampleProject() // its folder .claude/skills holds the skill sourdough
	defer remove()
	log.SetOutput(io.Discard)
	defer log.SetOutput(os.Stderr)

	for _, event := range []string{
		`{"kind": "prompt", "text": "Bake a sourdough bread with a crisp crust", "workspace": "PROJECT"}`,
		`{"kind": "prompt", "text": "Thank you, that is all", "workspace": "PROJECT"}`,
		`{"kind": "tool_result", "text": "Bake a sourdough bread", "workspace": "PROJECT"}`,
		`not what the host should send`,
	} {
		var out strings.Builder
		hook(strings.NewReader(strings.ReplaceAll(event, "PROJECT", project)), &out, time.Minute)
		var answer struct {
			Add string `json:"add_to_prompt"`
		}
		if out.Len() > 0 {
			if err := json.Unmarshal([]byte(out.String()), &answer); err != nil {
				log.Fatal(err)
			}
		}
		fmt.Println(strings.Contains(answer.Add, "sourdough/SKILL.md"), out.Len() == 0)
	}

	var out strings.Builder
	never, _ := io.Pipe() // a host that never sends its event
	hook(never, &out, time.Millisecond)
	fmt.Println("late:", out.Len() == 0)

	// Output:
	// true false
	// false true
	// false true
	// false true
	// late: true
}
