package agent_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/repertoire-skills/repertoire/agent"
	"github.com/repertoire-skills/repertoire/agent/agenttest"
	"github.com/repertoire-skills/repertoire/contextprovider"
	"github.com/repertoire-skills/repertoire/internal/must"
	"github.com/repertoire-skills/repertoire/internal/testsize"
	"github.com/repertoire-skills/repertoire/usage"
)

// randomHistory returns prompts with answers, calls and results, of which some hold
// instructions.
func randomHistory(r *rand.Rand) []agent.Message {
	text := func(what string) string { return what + strings.Repeat(" lorem ipsum", r.IntN(200)) }
	var messages []agent.Message
	id := 0
	for n := range 1 + r.IntN(6) {
		messages = append(messages, agent.Message{Role: agent.User, Text: text(fmt.Sprint("prompt ", n))})
		for range 1 + r.IntN(3) {
			m := agent.Message{Role: agent.Assistant, Text: text("thought")}
			var results []agent.Message
			for range r.IntN(3) {
				id++
				call := fmt.Sprint("call", id)
				m.Calls = append(m.Calls, agent.Call{ID: call, Name: "get_skill", Arguments: "{}"})
				result := agent.Message{Role: agent.Result, Call: call, Text: text("result")}
				if r.IntN(3) == 0 {
					result.Skills = []string{fmt.Sprint("skill", r.IntN(4))}
				}
				results = append(results, result)
			}
			if len(results) == 0 && r.IntN(2) == 0 { // instruction mode
				results = append(results, agent.Message{Role: agent.Result, Text: text("reply"), Skills: []string{"tagged"}})
			}
			messages = append(append(messages, m), results...)
		}
		if r.IntN(3) > 0 {
			messages = append(messages, agent.Message{Role: agent.Assistant, Text: text("answer")})
		}
	}
	return messages
}

// checkCompacted checks what must hold of any compacted history.
func checkCompacted(t *testing.T, before, after []agent.Message, done agent.Compaction) {
	t.Helper()
	asked := make(map[string]bool)
	for i, m := range after {
		if m.Role == agent.Result && m.Call != "" && !asked[m.Call] {
			t.Errorf("the result of %s is without its call", m.Call)
		}
		delete(asked, m.Call)
		if m.Role != agent.Result && len(asked) > 0 {
			t.Errorf("%v have no results", asked)
		}
		for _, call := range m.Calls {
			asked[call.ID] = true
		}
		if i > 0 && m.Role == agent.User && after[i-1].Role == agent.User {
			t.Errorf("prompt %d was left without what followed it", i-1)
		}
	}
	if len(asked) > 0 {
		t.Errorf("%v have no results", asked)
	}
	if len(before)-len(after) != done.Dropped {
		t.Errorf("%d messages became %d, and %d were dropped", len(before), len(after), done.Dropped)
	}
	for _, id := range done.Kept {
		if !holds(after, before, id) {
			t.Errorf("the instructions of %s are not as they were", id)
		}
	}
	if last := lastOf(before); last.Text != lastOf(after).Text && lastOf(after).Omitted == 0 {
		t.Errorf("the last prompt became %q", lastOf(after).Text)
	}
}

// holds reports whether the last instructions of a skill before are there afterwards.
func holds(after, before []agent.Message, id string) bool {
	for _, m := range slices.Backward(before) {
		if slices.Contains(m.Skills, id) {
			return slices.ContainsFunc(after, func(a agent.Message) bool { return a.Text == m.Text && slices.Contains(a.Skills, id) })
		}
	}
	return false
}

func lastOf(messages []agent.Message) agent.Message {
	for _, m := range slices.Backward(messages) {
		if m.Role == agent.User {
			return m
		}
	}
	return agent.Message{}
}

// TestCompactHolds compacts random histories, some of them twice.
func TestCompactHolds(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for range testsize.Rounds(200, 5_000) {
		before := randomHistory(r)
		o := agent.CompactOptions{Tokens: 1 + r.IntN(4000), Skills: r.IntN(2000) - 1}
		after, done := agent.Compact(before, o)
		checkCompacted(t, before, after, done)
		if done.After > done.Before {
			t.Errorf("%d tokens became %d", done.Before, done.After)
		}
		again, done := agent.Compact(after, o)
		checkCompacted(t, after, again, done)
		if done.Shortened+done.Dropped > 0 && done.Before <= o.Tokens {
			t.Errorf("a history that is short enough was shortened: %+v", done)
		}
		if t.Failed() {
			t.Fatalf("%+v of %d messages gives %d, and then %d", o, len(before), len(after), len(again))
		}
	}
}

// TestCompactOrder: what is lost first.
func TestCompactOrder(t *testing.T) {
	long := strings.Repeat("word ", 400)
	history := []agent.Message{
		{Role: agent.User, Text: "first"},
		{Role: agent.Assistant, Calls: []agent.Call{{ID: "1", Name: "get_skill"}}},
		{Role: agent.Result, Call: "1", Text: "skill " + long, Skills: []string{"s"}},
		{Role: agent.Assistant, Text: "answer 1 " + long},
		{Role: agent.User, Text: "second"},
		{Role: agent.Assistant, Calls: []agent.Call{{ID: "2", Name: "run"}}},
		{Role: agent.Result, Call: "2", Text: "output " + long},
		{Role: agent.Assistant, Text: "answer 2 " + long},
		{Role: agent.User, Text: "third"},
		{Role: agent.Assistant, Calls: []agent.Call{{ID: "3", Name: "run"}}},
		{Role: agent.Result, Call: "3", Text: "news " + long},
	}
	sketch := func(messages []agent.Message) string {
		var parts []string
		for _, m := range messages {
			text, _, _ := strings.Cut(strings.TrimPrefix(m.Text, fmt.Sprintf("[%d messages before this were left out to save room.]\n", m.Omitted)), " ")
			if strings.Contains(m.Text, "more tokens were left out") {
				text += "…"
			}
			if m.Omitted > 0 {
				text = fmt.Sprintf("(%d)%s", m.Omitted, text)
			}
			parts = append(parts, text)
		}
		return strings.Join(parts, "|")
	}
	for tokens, want := range map[int]string{
		3000: "first||skill|answer|second||output|answer|third||news",
		2000: "first||skill|answer|second||output…|answer|third||news",
		1500: "first||skill|answer…|second||output…|answer|third||news",
		1100: "first||skill|answer…|second||output…|answer…|third||news",
		950:  "first||skill|(5)third||news",
		700:  "first||skill|(5)third||news…",
	} {
		got, done := agent.Compact(history, agent.CompactOptions{Tokens: tokens, Skills: 600})
		if sketch(got) != want || done.Before <= tokens != (done.Dropped+done.Shortened == 0) || !slices.Equal(done.Kept, kept(done, "s")) {
			t.Errorf("%d tokens: %s, want %s; %+v", tokens, sketch(got), want, done)
		}
	}
	got, done := agent.Compact(history, agent.CompactOptions{Tokens: 600, Skills: -1})
	if want := "(4)second||output…|answer…|third||news"; sketch(got) != want || !slices.Equal(done.Forgotten, []string{"s"}) {
		t.Errorf("without skills: %s, want %s; %+v", sketch(got), want, done)
	}
}

// kept is what Kept must be: nothing if the history was short enough.
func kept(done agent.Compaction, ids ...string) []string {
	if done.Dropped+done.Shortened == 0 {
		return nil
	}
	return ids
}

// TestCompactConversation: a skill that is kept is not loaded again, one that is dropped is.
func TestCompactConversation(t *testing.T) {
	const starter = `{"skill_name":"starter"}`
	model := agenttest.New(
		agenttest.Call("get_skill", getForms), agenttest.Call("get_skill", starter), agenttest.Say("Loaded."+strings.Repeat(" and on", 200)),
		agenttest.Call("get_skill", getForms).Wants("And now"), agenttest.Call("get_skill", starter).Wants("# PDF forms"),
		agenttest.Say("Still there.").Wants("already_loaded"),
	)
	c := newAgent(t, agent.Config{Model: model, Catalog: memoryCatalog(t), Budget: contextprovider.Budget{Offer: contextprovider.Relevant}}).NewConversation()
	_, err := c.Chat(t.Context(), formPrompt)
	must.Do(t, err)
	done, err := c.Compact(t.Context(), agent.CompactOptions{Tokens: 150, Skills: 60})
	must.Do(t, err)
	if !slices.Equal(done.Kept, []string{"starter"}) || !slices.Equal(done.Forgotten, []string{"pdf-forms"}) || done.After >= done.Before {
		t.Errorf("%+v", done)
	}
	got, err := c.Chat(t.Context(), "And now load both")
	if err != nil || got.Text != "Still there." {
		t.Errorf("%+v, %v", got, err)
	}
	if n := len(c.Transcript().Messages); n != 12 {
		t.Errorf("the transcript has %d messages, want all 12", n)
	}
	if _, err := c.Compact(t.Context(), agent.CompactOptions{}); err == nil {
		t.Error("Compact to nothing is no error")
	}
}

// TestHistory: with a limit, each question is about as long at most.
func TestHistory(t *testing.T) {
	const limit = 600
	var turns []agenttest.Turn
	for range 12 {
		turns = append(turns, agenttest.Call("get_skill", getForms), agenttest.Say("Done. "+strings.Repeat("More of it. ", 40)))
	}
	model := agenttest.New(turns...)
	compacted := 0
	c := newAgent(t, agent.Config{Model: model, Catalog: memoryCatalog(t), History: limit, Observe: func(e usage.Event) {
		if e.Kind == usage.Compacted {
			compacted++
		}
	}}).NewConversation()
	for range 12 {
		_, err := c.Chat(t.Context(), formPrompt)
		must.Do(t, err)
	}
	for i, q := range model.Asked() {
		if _, done := agent.Compact(q.Messages, agent.CompactOptions{Tokens: 1 << 30}); done.Before > limit {
			t.Errorf("question %d has %d tokens", i, done.Before)
		}
	}
	if loaded := c.Loaded(); len(loaded) != 1 || compacted == 0 || compacted > 11 {
		t.Errorf("loaded %d skills, compacted %d times", len(loaded), compacted)
	}
}
