package agent

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"

	"github.com/repertoire-skills/repertoire/internal/tidy"
	"github.com/repertoire-skills/repertoire/skill"
	"github.com/repertoire-skills/repertoire/usage"
)

// A named is a Model that says its name, and its provider as the conventions call it.
type named interface {
	Names() (provider, model string)
}

// span starts a span of an operation on something, such as a tool; of is "" if that has no name.
func (c *Config) span(ctx context.Context, operation, of string, attributes ...slog.Attr) (context.Context, func(error, ...slog.Attr)) {
	if c.Trace == nil {
		return ctx, func(error, ...slog.Attr) {}
	}
	attributes = append(attributes, slog.String("gen_ai.operation.name", operation))
	if c.Agent != nil && c.Agent.Name != "" {
		attributes = append(attributes, slog.String("gen_ai.agent.name", c.Agent.Name))
	}
	ctx, end := c.Trace(ctx, strings.TrimSpace(operation+" "+of), attributes...)
	return ctx, func(err error, more ...slog.Attr) {
		if err != nil {
			more = append(more, slog.String("error.type", typeOf(err)))
		}
		end(err, more...)
	}
}

// agentSpan starts the span of a prompt.
func (c *Config) agentSpan(ctx context.Context) (context.Context, func(*Answer, error)) {
	name := ""
	if c.Agent != nil {
		name = c.Agent.Name
	}
	ctx, end := c.span(ctx, "invoke_agent", name)
	return ctx, func(a *Answer, err error) { end(err, append(a.Usage.attrs(), skillAttrs(a.Events)...)...) }
}

// modelSpan starts the span of a question to the model.
func (c *Config) modelSpan(ctx context.Context) (context.Context, func(error, ...slog.Attr)) {
	m, ok := c.Model.(named)
	if !ok {
		return c.span(ctx, "chat", "")
	}
	provider, name := m.Names()
	return c.span(ctx, "chat", name, slog.String("gen_ai.provider.name", provider), slog.String("gen_ai.request.model", name))
}

// toolSpan starts the span of a call of a tool; id is "" if the call has none. The function that
// ends it takes the events of the call.
func (c *Config) toolSpan(ctx context.Context, tool, id string) (context.Context, func(error, []usage.Event)) {
	tool = tidy.Shorten(tidy.Line(tool), skill.MaxName) // a model may write anything
	attributes := []slog.Attr{slog.String("gen_ai.tool.name", tool), slog.String("gen_ai.tool.type", "function")}
	if id != "" {
		attributes = append(attributes, slog.String("gen_ai.tool.call.id", id))
	}
	ctx, end := c.span(ctx, "execute_tool", tool, attributes...)
	return ctx, func(err error, events []usage.Event) { end(err, callAttrs(events)...) }
}

// callAttrs says which skill a call was about. A command is left out, because a model wrote it.
func callAttrs(events []usage.Event) []slog.Attr {
	i := slices.IndexFunc(events, func(e usage.Event) bool {
		return len(e.Skills) > 0 && slices.Contains([]usage.Kind{usage.Loaded, usage.Read, usage.Ran, usage.Failed}, e.Kind)
	})
	if i < 0 {
		return nil
	}
	e := events[i]
	attributes := []slog.Attr{slog.String("gen_ai.skill.name", e.IDs()[0])}
	switch e.Kind {
	case usage.Read:
		attributes = append(attributes, slog.String("gen_ai.skill.resource.name", e.What))
	case usage.Ran:
		attributes = append(attributes, slog.Int("process.exit.code", e.Exit))
	}
	return attributes
}

// skillAttrs are the IDs of the skills that a prompt was offered, and of those that its model used.
func skillAttrs(events []usage.Event) []slog.Attr {
	var attributes []slog.Attr
	for _, kind := range []usage.Kind{usage.Offered, usage.Loaded, usage.Ran} {
		var ids []string
		for _, e := range events {
			for _, id := range e.IDs() {
				if e.Kind == kind && !slices.Contains(ids, id) {
					ids = append(ids, id)
				}
			}
		}
		if ids != nil {
			attributes = append(attributes, slog.Any("repertoire.skills."+string(kind), ids))
		}
	}
	return attributes
}

// attrs are the tokens, as far as the server counts them.
func (u Usage) attrs() []slog.Attr {
	if u == (Usage{}) {
		return nil
	}
	return []slog.Attr{slog.Int("gen_ai.usage.input_tokens", u.In), slog.Int("gen_ai.usage.output_tokens", u.Out)}
}

// typeOf returns the first type in the chain of an error that says what went wrong, or "_OTHER",
// as the conventions have it.
func typeOf(err error) string {
	if errors.Is(err, context.Canceled) {
		return "canceled"
	}
	for ; err != nil; err = errors.Unwrap(err) {
		name := fmt.Sprintf("%T", err)
		if !slices.ContainsFunc([]string{"*agent.Error", "*fmt.", "*errors."}, func(p string) bool { return strings.HasPrefix(name, p) }) {
			return strings.TrimPrefix(name, "*")
		}
	}
	return "_OTHER"
}
