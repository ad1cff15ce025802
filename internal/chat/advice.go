package chat

import (
	"errors"
	"net/http"
	"strings"

	"github.com/repertoire-skills/repertoire/agent"
	"github.com/repertoire-skills/repertoire/agent/openai"
	"github.com/repertoire-skills/repertoire/internal/config"
	"github.com/repertoire-skills/repertoire/internal/endpoint"
)

// Missing says what is missing for a command to ask a model, and how to set it; nil means nothing.
func Missing(m config.Model, command string) []string {
	what := ""
	switch {
	case m.BaseURL == "" && m.Model == "":
		what = "--base-url and --model are"
	case m.BaseURL == "":
		what = "--base-url is"
	case m.Model == "":
		what = "--model is"
	default:
		return nil
	}
	file, err := config.File()
	if err != nil {
		file = "your configuration"
	}
	return []string{
		what + " missing, so there is no model to ask; nothing was sent",
		"a local server: " + command + " --base-url http://127.0.0.1:11434/v1 --model MODEL",
		"a hosted one: export OPENAI_API_KEY=…; " + command + " --base-url https://api.openai.com/v1 --model MODEL",
		`to keep both: "model: {base_url: …, model: …}" in ` + file + ", or the variables REPERTOIRE_BASE_URL and REPERTOIRE_MODEL",
	}
}

// Advice says what the person in a chat can do about an error of an answer; "" means
// nothing beyond what the error says.
func Advice(err error, m config.Model) string {
	if limit, ok := errors.AsType[*agent.LimitError](err); ok && limit.Limit > 0 {
		return "ask it to go on, or allow more with --max-iterations"
	}
	if errors.Is(err, openai.ErrContextLength) {
		return "/compact shortens the chat"
	}
	refused, ok := errors.AsType[*openai.Error](err)
	switch {
	case !ok:
		return ""
	case strings.Contains(refused.Message, "cannot call tools"):
		return "start the chat with --instructions, for models that cannot call tools"
	case refused.Status == http.StatusUnauthorized || refused.Status == http.StatusForbidden:
		return keyAdvice(m)
	case refused.Status == http.StatusNotFound:
		return "check --base-url (it is " + endpoint.Shown(m.BaseURL) + ", and usually ends in /v1) and --model (it is " + m.Model + ")"
	case refused.Status == http.StatusTooManyRequests:
		return "the server is busy, or your quota is used up; ask again later"
	case refused.Status == 0:
		return "check that the server of --base-url runs: " + endpoint.Shown(m.BaseURL)
	}
	return ""
}

// keyAdvice says how to set the key.
func keyAdvice(m config.Model) string {
	switch m.KeyEnv {
	case "-":
		return "no key was sent, because the name of its variable is -; name one with --key-env NAME"
	case "":
		return "export OPENAI_API_KEY=… sets the key; --key-env NAME takes it from another variable"
	}
	return "export " + m.KeyEnv + "=… sets the key; --key-env NAME takes it from another variable"
}

// Problem returns the message of an error of an answer, in terms of a chat.
func Problem(err error) string {
	text := strings.TrimPrefix(err.Error(), "agent: ")
	if limit, ok := errors.AsType[*agent.LimitError](err); ok {
		text, _, _ = strings.Cut(strings.TrimPrefix(limit.Error(), "agent: "), "; ")
	}
	for _, own := range []string{"; set Config.Instructions of the agent", ": set Config.Instructions of the agent", // advice for programs
		"; shorten the conversation with Compact, or set Config.History of the agent", "; raise Config.Total", "; raise Config.Timeout if the model is slow"} {
		text = strings.ReplaceAll(text, own, "")
	}
	return text
}
