package agent_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"log"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/repertoire-skills/repertoire"
	"github.com/repertoire-skills/repertoire/agent"
	"github.com/repertoire-skills/repertoire/agent/agenttest"
	"github.com/repertoire-skills/repertoire/agent/openai"
	"github.com/repertoire-skills/repertoire/agent/tool"
	"github.com/repertoire-skills/repertoire/sandbox/virtual"
)

// A folder of skills, the tools with which a model loads them, and one request that needs a skill.
func Example_folder() {
	server, stop := exampleFolder(
		agenttest.Call("read_skill", `{"name": "sourdough"}`),
		agenttest.Say("Let the dough rest for 12 hours.").Wants("Rest it for 12 hours."),
	)
	defer stop()
	ctx := context.Background()

	catalog, err := repertoire.OpenDir(ctx, "skills")
	if err != nil {
		log.Fatal(err)
	}
	defer catalog.Close()
	model, err := openai.New(openai.Config{BaseURL: server, Model: "qwen3"}, nil)
	if err != nil {
		log.Fatal(err)
	}
	a, err := agent.New(agent.Config{Catalog: catalog, Model: model})
	if err != nil {
		log.Fatal(err)
	}
	answer, err := a.Chat(ctx, "How do I bake a sourdough bread?")
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(answer.Text)

	// Output:
	// Let the dough rest for 12 hours.
}

// The same with a sandbox: the model has a shell, in which it finds the files of the skills that
// it has loaded, and which reaches nothing outside.
func Example_sandbox() {
	server, stop := exampleFolder(
		agenttest.Call("read_skill", `{"name": "sourdough"}`),
		agenttest.Call("sandbox_execute", `{"name": "sourdough", "command": "sh scripts/flour.sh 2; ls references"}`),
		agenttest.Say("Take 1000 g of flour.").Wants("1000 g\nrye.md\n"),
	)
	defer stop()
	ctx := context.Background()

	catalog, err := repertoire.OpenDir(ctx, "skills")
	if err != nil {
		log.Fatal(err)
	}
	defer catalog.Close()
	model, err := openai.New(openai.Config{BaseURL: server, Model: "qwen3"}, nil)
	if err != nil {
		log.Fatal(err)
	}
	shell := virtual.New(virtual.Options{})
	a, err := agent.New(agent.Config{Catalog: catalog, Model: model, Executor: shell, Offer: []string{"read_skill", "sandbox_execute"}})
	if err != nil {
		log.Fatal(err)
	}
	answer, err := a.Chat(ctx, "How much flour do two sourdough breads need?")
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(answer.Text)

	// Output:
	// Take 1000 g of flour.
}

// An agent that always has two skills by their names and one by the path of its folder, and finds
// others itself.
func Example_uses() {
	first := agenttest.Call("read_skill", `{"name": "wine"}`)
	for _, text := range []string{"Rest it for 12 hours.", "Blind-bake it.", "Use cold butter."} {
		first.Want = append(first.Want, agenttest.Want{In: agenttest.System, Text: text})
	}
	server, stop := exampleFolder(first, agenttest.Say("With a Riesling.").Wants("A Riesling goes with all."))
	defer stop()
	ctx := context.Background()
	model, err := openai.New(openai.Config{BaseURL: server, Model: "qwen3"}, nil)
	if err != nil {
		log.Fatal(err)
	}

	baker := &repertoire.Agent{Name: "baker", Uses: []string{"sourdough", "tart", "./brioche"}, Include: repertoire.Rules{Names: []string{"*"}}}
	catalog, err := repertoire.Open(ctx, repertoire.Config{Dirs: []string{"skills"}, Agents: []*repertoire.Agent{baker}})
	if err != nil {
		log.Fatal(err)
	}
	defer catalog.Close()
	a, err := agent.New(agent.Config{Catalog: catalog, Model: model, Agent: baker})
	if err != nil {
		log.Fatal(err)
	}
	answer, err := a.Chat(ctx, "How do I choose a wine for a tart?")
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(answer.Text)

	// Output:
	// With a Riesling.
}

// Agents make a pipeline as functions do: two skills in a row, where the second one gets what the
// first one wrote, and two side by side.
func Example_pipeline() {
	_, stop := exampleFolder()
	defer stop()
	ctx := context.Background()
	catalog, err := repertoire.OpenDir(ctx, "skills")
	if err != nil {
		log.Fatal(err)
	}
	defer catalog.Close()

	step := func(skill string, model agent.Model) func(prompt string) string {
		a, err := agent.New(agent.Config{Catalog: catalog, Model: model, Agent: &repertoire.Agent{Name: skill, Uses: []string{skill}}})
		if err != nil {
			log.Fatal(err)
		}
		return func(prompt string) string {
			answer, err := a.Chat(ctx, prompt)
			if err != nil {
				log.Fatal(err)
			}
			return answer.Text
		}
	}
	bake := step("tart", agenttest.New(agenttest.Say("A plum tart."), agenttest.Say("A lemon tart.")))
	pour := step("wine", agenttest.New(agenttest.Say("A sweet Riesling.").Wants("A plum tart."), agenttest.Say("A dry Riesling.")))

	fmt.Println(pour(bake("A dessert for two")))

	var both sync.WaitGroup
	var cake, wine string
	both.Go(func() { cake = bake("Something sour") })
	both.Go(func() { wine = pour("Something sour") })
	both.Wait()
	fmt.Println(cake, wine)

	// Output:
	// A sweet Riesling.
	// A lemon tart. A dry Riesling.
}

// A server of the Model Context Protocol that has tools of its own gets those of the skills too.
// Package mcpserver has a whole server.
func ExampleAgent_Call() {
	_, stop := exampleFolder()
	defer stop()
	ctx := context.Background()
	catalog, err := repertoire.OpenDir(ctx, "skills")
	if err != nil {
		log.Fatal(err)
	}
	defer catalog.Close()
	server := mcp.NewServer(&mcp.Implementation{Name: "bakery", Version: "1"}, nil)

	skills, err := agent.New(agent.Config{Catalog: catalog})
	if err != nil {
		log.Fatal(err)
	}
	tools, err := skills.Tools(ctx, "")
	if err != nil {
		log.Fatal(err)
	}
	for _, t := range tools {
		call := func(ctx context.Context, r *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			reply := skills.Call(ctx, t.Name, string(r.Params.Arguments))
			return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: reply.Text}}, IsError: reply.Failed != ""}, nil
		}
		server.AddTool(&mcp.Tool{Name: t.Name, Description: t.Description, InputSchema: t.Parameters}, call)
	}

	fmt.Println(callOverMCP(ctx, server, "read_skill", map[string]any{"name": "tart"}))

	// Output:
	// ---
	// name: tart
	// description: Bakes a tart.
	// ---
	// Blind-bake it.
}

// callOverMCP calls a tool of a server, and returns the first paragraph of its answer that is a
// SKILL.md.
func callOverMCP(ctx context.Context, server *mcp.Server, name string, arguments any) string {
	here, there := mcp.NewInMemoryTransports()
	if _, err := server.Connect(ctx, there, nil); err != nil {
		log.Fatal(err)
	}
	client, err := mcp.NewClient(&mcp.Implementation{Name: "example", Version: "1"}, nil).Connect(ctx, here, nil)
	if err != nil {
		log.Fatal(err)
	}
	defer client.Close()
	result, err := client.CallTool(ctx, &mcp.CallToolParams{Name: name, Arguments: arguments})
	if err != nil {
		log.Fatal(err)
	}
	text := result.Content[0].(*mcp.TextContent).Text
	text = text[strings.Index(text, "---\n"):]
	return text[:strings.LastIndex(text, "it.")+len("it.")]
}

// A loop without any SDK: JSON to a server that speaks OpenAI's protocol.
func ExampleAgent_Tools() {
	server, stop := exampleFolder(
		agenttest.Call("read_skill", `{"name": "sourdough"}`),
		agenttest.Say("Let the dough rest for 12 hours.").Wants("Rest it for 12 hours."),
	)
	defer stop()
	ctx := context.Background()
	catalog, err := repertoire.OpenDir(ctx, "skills")
	if err != nil {
		log.Fatal(err)
	}
	defer catalog.Close()
	skills, err := agent.New(agent.Config{Catalog: catalog})
	if err != nil {
		log.Fatal(err)
	}

	prompt := "How do I bake a sourdough bread?"
	definitions, err := skills.Tools(ctx, prompt)
	if err != nil {
		log.Fatal(err)
	}
	tools, err := tool.Write(tool.OpenAI, definitions) // JSON for the field tools of a request
	if err != nil {
		log.Fatal(err)
	}
	messages := []any{map[string]any{"role": "user", "content": prompt}}
	for {
		m := post(server, map[string]any{"model": "qwen3", "messages": messages, "tools": tools})
		if len(m.ToolCalls) == 0 {
			fmt.Println(m.Content)
			break
		}
		messages = append(messages, m)
		for _, c := range m.ToolCalls {
			reply := skills.Call(ctx, c.Function.Name, c.Function.Arguments)
			messages = append(messages, map[string]any{"role": "tool", "tool_call_id": c.ID, "content": reply.Text})
		}
	}

	// Output:
	// Let the dough rest for 12 hours.
}

// chatMessage is a message of OpenAI's protocol.
type chatMessage struct {
	Role      string `json:"role"`
	Content   string `json:"content"`
	ToolCalls []struct {
		ID       string `json:"id"`
		Type     string `json:"type"`
		Function struct {
			Name      string `json:"name"`
			Arguments string `json:"arguments"`
		} `json:"function"`
	} `json:"tool_calls,omitempty"`
}

// post sends a request and returns the message of the answer.
func post(server string, request any) chatMessage {
	body, err := json.Marshal(request)
	if err != nil {
		log.Fatal(err)
	}
	resp, err := http.Post(server+"/chat/completions", "application/json", bytes.NewReader(body))
	if err != nil {
		log.Fatal(err)
	}
	defer resp.Body.Close()
	var answer struct {
		Choices []struct{ Message chatMessage }
	}
	if err := json.NewDecoder(resp.Body).Decode(&answer); err != nil {
		log.Fatal(err)
	}
	return answer.Choices[0].Message
}

// exampleFolder starts a server whose model takes these turns, and makes a working folder with
// skills in it. stop removes both.
func exampleFolder(turns ...agenttest.Turn) (address string, stop func()) {
	address, stopServer := exampleServer(turns...)
	before, err := os.Getwd()
	if err != nil {
		log.Fatal(err)
	}
	dir := os.Getenv("HOME")
	for name, text := range map[string]string{
		"skills/sourdough/SKILL.md":          "---\nname: sourdough\ndescription: Bakes sourdough bread.\nallowed-tools: scripts/*\n---\nRest it for 12 hours.\n",
		"skills/sourdough/scripts/flour.sh":  "echo $((500 * $1)) g\n",
		"skills/sourdough/references/rye.md": "Rye needs more water.\n",
		"skills/tart/SKILL.md":               "---\nname: tart\ndescription: Bakes a tart.\n---\nBlind-bake it.\n",
		"skills/wine/SKILL.md":               "---\nname: wine\ndescription: Chooses a wine for a meal.\n---\nA Riesling goes with all.\n",
		"brioche/SKILL.md":                   "---\nname: brioche\ndescription: Bakes brioche.\n---\nUse cold butter.\n",
	} {
		name = filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			log.Fatal(err)
		}
		if err := os.WriteFile(name, []byte(text), 0o755); err != nil {
			log.Fatal(err)
		}
	}
	if err := os.Chdir(dir); err != nil {
		log.Fatal(err)
	}
	return address, func() {
		os.Chdir(before)
		stopServer()
	}
}
