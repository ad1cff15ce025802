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
	"reflect"
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
	"github.com/repertoire-skills/repertoire/agent/tool"
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
	check(tool.Into(tool.OpenAI, tools, &chat.Tools))
	for calls := 1; calls > 0; {
		completion, err := client.Chat.Completions.New(ctx, chat)
		check(err)
		m := completion.Choices[0].Message
		fmt.Print(m.Content)
		chat.Messages = append(chat.Messages, m.ToParam())
		for _, c := range m.ToolCalls {
			chat.Messages = append(chat.Messages, openai.ToolMessage(skills.Call(ctx, c.Function.Name, c.Function.Arguments).Text, c.ID))
		}
		calls = len(m.ToolCalls)
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
	check(tool.Into(tool.OpenAI, tools, &chat.Tools))
	for calls := 1; calls > 0; {
		completion, err := client.CreateChatCompletion(ctx, chat)
		check(err)
		m := completion.Choices[0].Message
		fmt.Print(m.Content)
		chat.Messages = append(chat.Messages, m)
		for _, c := range m.ToolCalls {
			chat.Messages = append(chat.Messages, goopenai.ChatCompletionMessage{Role: "tool", ToolCallID: c.ID, Content: skills.Call(ctx, c.Function.Name, c.Function.Arguments).Text})
		}
		calls = len(m.ToolCalls)
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
	check(tool.Into(tool.Anthropic, tools, &chat.Tools))
	for calls := 1; calls > 0; {
		m, err := client.Messages.New(ctx, chat)
		check(err)
		var results []anthropic.ContentBlockParamUnion
		for _, b := range m.Content {
			fmt.Print(b.Text)
			if b.Type == "tool_use" {
				reply := skills.Call(ctx, b.Name, string(b.Input))
				results = append(results, anthropic.NewToolResultBlock(b.ID, reply.Text, reply.Failed != ""))
			}
		}
		chat.Messages = append(chat.Messages, m.ToParam(), anthropic.NewUserMessage(results...))
		calls = len(results)
	}

	// Output:
	// Let the dough rest for 12 hours.
}

// TestToolsOfSDKs: the SDKs send the definitions as they are.
func TestToolsOfSDKs(t *testing.T) {
	catalog, skills := openSkills()
	defer catalog.Close()
	definitions, err := skills.Tools(t.Context(), prompt)
	check(err)
	for _, test := range []struct {
		format tool.Format
		tools  any
	}{
		{tool.OpenAI, new([]openai.ChatCompletionToolUnionParam)}, {tool.OpenAI, new([]goopenai.Tool)}, {tool.Anthropic, new([]anthropic.ToolUnionParam)},
	} {
		check(tool.Into(test.format, definitions, test.tools))
		sent, err := json.Marshal(test.tools)
		check(err)
		data, err := tool.Write(test.format, definitions)
		check(err)
		var got, want any
		check(json.Unmarshal(sent, &got))
		check(json.Unmarshal(data, &want))
		if !reflect.DeepEqual(got, want) {
			t.Errorf("%T sends\n%s, want\n%s", test.tools, sent, data)
		}
	}
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
