package examples

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"strings"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	"go.opentelemetry.io/otel/trace"

	"github.com/repertoire-skills/repertoire/agent"
	agentopenai "github.com/repertoire-skills/repertoire/agent/openai"
)

// OpenTelemetry gets the spans of an agent.
func Example_openTelemetry() {
	server, stop := chatServer()
	defer stop()
	catalog, _ := openSkills()
	defer catalog.Close()
	model, err := agentopenai.New(agentopenai.Config{BaseURL: server, Model: "qwen3", KeyEnv: "-"}, nil)
	check(err)

	exporter := tracetest.NewInMemoryExporter() // or one to a server
	provider := sdktrace.NewTracerProvider(sdktrace.WithSyncer(exporter))
	a, err := agent.New(agent.Config{Catalog: catalog, Model: model, Trace: traceWith(provider.Tracer("my-program"))})
	check(err)
	_, err = a.Chat(context.Background(), prompt)
	check(err)
	printTree(exporter.GetSpans(), trace.SpanID{}, "")

	// Output:
	// invoke_agent (internal)
	//   chat qwen3 (client)
	//   execute_tool read_skill (internal) of skill sourdough
	//   chat qwen3 (client)
}

// traceWith gives the spans of an agent to a tracer.
func traceWith(tracer trace.Tracer) func(context.Context, string, ...slog.Attr) (context.Context, func(error, ...slog.Attr)) {
	return func(ctx context.Context, name string, attributes ...slog.Attr) (context.Context, func(error, ...slog.Attr)) {
		kind := trace.SpanKindInternal
		if strings.HasPrefix(name, "chat") {
			kind = trace.SpanKindClient
		}
		ctx, span := tracer.Start(ctx, name, trace.WithSpanKind(kind), trace.WithAttributes(keyValues(attributes)...))
		return ctx, func(err error, more ...slog.Attr) {
			span.SetAttributes(keyValues(more)...)
			if err != nil {
				span.SetStatus(codes.Error, err.Error())
			}
			span.End()
		}
	}
}

func keyValues(attributes []slog.Attr) (list []attribute.KeyValue) {
	for _, a := range attributes {
		switch v := a.Value.Any().(type) {
		case int64:
			list = append(list, attribute.Int64(a.Key, v))
		case []string:
			list = append(list, attribute.StringSlice(a.Key, v))
		case string:
			list = append(list, attribute.String(a.Key, v))
		}
	}
	return list
}

// printTree prints the spans below a span, in the order in which they started.
func printTree(spans tracetest.SpanStubs, parent trace.SpanID, depth string) {
	slices.SortStableFunc(spans, func(a, b tracetest.SpanStub) int { return a.StartTime.Compare(b.StartTime) })
	for _, s := range spans {
		if s.Parent.SpanID() != parent {
			continue
		}
		skill := ""
		for _, a := range s.Attributes {
			if a.Key == "gen_ai.skill.name" {
				skill = " of skill " + a.Value.AsString()
			}
		}
		fmt.Printf("%s%s (%s)%s\n", depth, s.Name, s.SpanKind, skill)
		printTree(slices.Clone(spans), s.SpanContext.SpanID(), depth+"  ")
	}
}
