package agent_test

import (
	"context"
	"fmt"
	"log"

	"github.com/repertoire-skills/repertoire"
	"github.com/repertoire-skills/repertoire/agent"
	"github.com/repertoire-skills/repertoire/agent/agenttest"
	"github.com/repertoire-skills/repertoire/agent/openai"
	"github.com/repertoire-skills/repertoire/sandbox"
)

// The program of docs/agents.md. Its main calls sandbox.Main() first, then ask; here the server
// follows a script, in which the model loads a skill before it answers.
func Example() {
	server, stop := exampleServer(
		agenttest.Call("read_skill", `{"name": "sourdough"}`),
		agenttest.Say("Let the dough rest for 12 hours.").Wants("Rest it for 12 hours."),
	)
	defer stop()
	answer, err := ask(context.Background(), server, "How do I bake a sourdough bread?")
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(answer)

	// Output:
	// Let the dough rest for 12 hours.
}

// ask answers a prompt with the model of a server and the skills that are on this machine.
func ask(ctx context.Context, server, prompt string) (string, error) {
	catalog, err := repertoire.OpenDefault(ctx, "") // the skills that "skills list" shows in this folder
	if err != nil {
		return "", err
	}
	defer catalog.Close()
	model, err := openai.New(openai.Config{BaseURL: server, Model: "qwen3"}, nil)
	if err != nil {
		return "", err
	}
	executor, err := sandbox.New(sandbox.Options{})
	if err != nil {
		log.Print("scripts will not run: ", err) // this system has no Landlock
	}
	a, err := agent.New(agent.Config{Catalog: catalog, Model: model, Executor: executor})
	if err != nil {
		return "", err
	}
	answer, err := a.Chat(ctx, prompt)
	return answer.Text, err // answer.Events tells which skills were offered, loaded, read and run
}
