// Package examples shows the tools of skills in the loops of model SDKs, and the spans of an agent
// in OpenTelemetry; the library itself needs none of these. It is a module of its own.
package examples

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/anthropics/anthropic-sdk-go"
	anthropicoption "github.com/anthropics/anthropic-sdk-go/option"
	"github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/option"
	goopenai "github.com/sashabaranov/go-openai"

	"github.com/repertoire-skills/repertoire"
	"github.com/repertoire-skills/repertoire/agent"
	"github.com/repertoire-skills/repertoire/agent/agenttest"
)

const prompt = "How do I bake a sourdough bread?"

// TestMain keeps the indexes of the examples away from the user's.
func TestMain(m *testing.M) {
	cache, err := os.MkdirTemp("", "examples")
	if err != nil {
		log.Fatal(err)
	}
	os.Setenv("REPERTOIRE_CACHE", cache)
	os.Setenv("REPERTOIRE_CONTEXTUAL", "off")
	code := m.Run()
	os.RemoveAll(cache)
	os.Exit(code)
}

// The official SDK of OpenAI.
func Example_openAI() {
	server, stop := chatServer()
	defer stop()
	catalog, skills := openSkills()
	defer catalog.Close()
	ctx := context.Background()

	client := openai.NewClient(option.WithBaseURL(server), option.WithAPIKey("none"))
	chat := openai.ChatCompletionNewParams{Model: "qwen3", Messages: []openai.ChatCompletionMessageParamUnion{openai.UserMessage(prompt)}}
	tools, err := skills.Tools(ctx, prompt)
	check(err)
	for _, t := range tools {
		var parameters openai.FunctionParameters
		check(json.Unmarshal(t.Parameters, &parameters))
		chat.Tools = append(chat.Tools, openai.ChatCompletionFunctionTool(openai.FunctionDefinitionParam{Name: t.Name, Description: openai.String(t.Description), Parameters: parameters}))
	}
	for {
		completion, err := client.Chat.Completions.New(ctx, chat)
		check(err)
		m := completion.Choices[0].Message
		chat.Messages = append(chat.Messages, m.ToParam())
		for _, c := range m.ToolCalls {
			chat.Messages = append(chat.Messages, openai.ToolMessage(skills.Call(ctx, c.Function.Name, c.Function.Arguments).Text, c.ID))
		}
		if len(m.ToolCalls) == 0 {
			fmt.Println(m.Content)
			break
		}
	}

	// Output:
	// Let the dough rest for 12 hours.
}

// The library go-openai.
func Example_goOpenAI() {
	server, stop := chatServer()
	defer stop()
	catalog, skills := openSkills()
	defer catalog.Close()
	ctx := context.Background()

	cfg := goopenai.DefaultConfig("none")
	cfg.BaseURL = server
	client := goopenai.NewClientWithConfig(cfg)
	chat := goopenai.ChatCompletionRequest{Model: "qwen3", Messages: []goopenai.ChatCompletionMessage{{Role: "user", Content: prompt}}}
	tools, err := skills.Tools(ctx, prompt)
	check(err)
	for _, t := range tools {
		chat.Tools = append(chat.Tools, goopenai.Tool{Type: "function", Function: &goopenai.FunctionDefinition{Name: t.Name, Description: t.Description, Parameters: t.Parameters}})
	}
	for {
		completion, err := client.CreateChatCompletion(ctx, chat)
		check(err)
		m := completion.Choices[0].Message
		chat.Messages = append(chat.Messages, m)
		for _, c := range m.ToolCalls {
			reply := skills.Call(ctx, c.Function.Name, c.Function.Arguments)
			chat.Messages = append(chat.Messages, goopenai.ChatCompletionMessage{Role: "tool", ToolCallID: c.ID, Content: reply.Text})
		}
		if len(m.ToolCalls) == 0 {
			fmt.Println(m.Content)
			break
		}
	}

	// Output:
	// Let the dough rest for 12 hours.
}

// The official SDK of Anthropic.
func Example_anthropic() {
	server := httptest.NewServer(http.HandlerFunc(messages))
	defer server.Close()
	catalog, skills := openSkills()
	defer catalog.Close()
	ctx := context.Background()

	client := anthropic.NewClient(anthropicoption.WithBaseURL(server.URL), anthropicoption.WithAPIKey("none"))
	chat := anthropic.MessageNewParams{Model: "claude", MaxTokens: 1024, Messages: []anthropic.MessageParam{anthropic.NewUserMessage(anthropic.NewTextBlock(prompt))}}
	tools, err := skills.Tools(ctx, prompt)
	check(err)
	for _, t := range tools {
		var schema anthropic.ToolInputSchemaParam
		check(json.Unmarshal(t.Parameters, &schema))
		chat.Tools = append(chat.Tools, anthropic.ToolUnionParam{OfTool: &anthropic.ToolParam{Name: t.Name, Description: anthropic.String(t.Description), InputSchema: schema}})
	}
	for {
		m, err := client.Messages.New(ctx, chat)
		check(err)
		chat.Messages = append(chat.Messages, m.ToParam())
		var results []anthropic.ContentBlockParamUnion
		for _, block := range m.Content {
			switch b := block.AsAny().(type) {
			case anthropic.TextBlock:
				fmt.Println(b.Text)
			case anthropic.ToolUseBlock:
				reply := skills.Call(ctx, b.Name, string(b.Input))
				results = append(results, anthropic.NewToolResultBlock(b.ID, reply.Text, reply.Failed != ""))
			}
		}
		if results == nil {
			break
		}
		chat.Messages = append(chat.Messages, anthropic.NewUserMessage(results...))
	}

	// Output:
	// Let the dough rest for 12 hours.
}

// openSkills opens a catalog of one skill, and the tools that load it.
func openSkills() (*repertoire.Catalog, *agent.Agent) {
	catalog, err := repertoire.OpenFS(context.Background(), fstest.MapFS{ // or an embed.FS
		"sourdough/SKILL.md": {Data: []byte("---\nname: sourdough\ndescription: Bakes sourdough bread.\n---\nRest it for 12 hours.\n")},
	})
	check(err)
	skills, err := agent.New(agent.Config{Catalog: catalog})
	check(err)
	return catalog, skills
}

// chatServer starts a server of OpenAI's protocol, whose model loads the skill before it answers.
func chatServer() (address string, stop func()) {
	var b standIn
	server := agenttest.NewServer(&b, agenttest.New(
		agenttest.Call("read_skill", `{"name": "sourdough"}`),
		agenttest.Say("Let the dough rest for 12 hours.").Wants("Rest it for 12 hours."),
	))
	return server.URL, b.cleanup
}

// A standIn stands for a test where there is none.
type standIn struct{ cleanup func() }

func (*standIn) Helper()                   {}
func (*standIn) Errorf(f string, a ...any) { log.Fatalf(f, a...) }
func (*standIn) Fatalf(f string, a ...any) { log.Fatalf(f, a...) }
func (b *standIn) Cleanup(f func())        { b.cleanup = f }

// messages answers as a server of Anthropic's protocol, whose model loads the skill first.
func messages(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	check(err)
	content := `{"type": "tool_use", "id": "1", "name": "read_skill", "input": {"name": "sourdough"}}`
	if strings.Contains(string(body), "Rest it for 12 hours.") {
		content = `{"type": "text", "text": "Let the dough rest for 12 hours."}`
	}
	w.Header().Set("Content-Type", "application/json")
	fmt.Fprintf(w, `{"id": "1", "type": "message", "role": "assistant", "model": "claude", "content": [%s], "usage": {"input_tokens": 1, "output_tokens": 1}}`, content)
}

func check(err error) {
	if err != nil {
		log.Fatal(err)
	}
}
