package agent

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/repertoire-skills/repertoire/contextprovider"
	"github.com/repertoire-skills/repertoire/internal/tidy"
	"github.com/repertoire-skills/repertoire/internal/words"
	"github.com/repertoire-skills/repertoire/usage"
)

// CompactOptions say how far a history is shortened.
type CompactOptions struct {
	// Tokens is how many the history may have afterwards, estimated; it is an error if it is
	// not positive. The last prompt, and the calls of answers, are kept even if they are
	// longer.
	Tokens int

	// Skills is how many of Tokens the instructions of loaded skills may take, which are
	// kept word for word: those that were loaded last come first. 0 means half of Tokens,
	// -1 none.
	Skills int
}

// A Compaction says what was dropped.
type Compaction struct {
	Before, After int      // tokens, estimated
	Dropped       int      // messages that are gone
	Shortened     int      // messages that end with a mark now
	Forgotten     []string // IDs of the skills whose instructions are gone: they can be loaded again
	Kept          []string // IDs of the skills whose instructions are kept word for word
}

// Compact shortens the history, as the function [Compact] does. It is [ErrBusy] while a
// prompt is answered. The transcript keeps all messages in full.
func (c *Conversation) Compact(ctx context.Context, o CompactOptions) (Compaction, error) {
	switch {
	case ctx.Err() != nil:
		return Compaction{}, ctx.Err()
	case o.Tokens <= 0:
		return Compaction{}, errors.New("agent: CompactOptions.Tokens is not positive; set it to how many tokens the history may have")
	case !c.busy.TryLock():
		return Compaction{}, ErrBusy
	}
	defer c.busy.Unlock()
	return c.compact(o), nil
}

// compact shortens the history. Skills whose instructions it drops are no longer loaded.
func (c *Conversation) compact(o CompactOptions) Compaction {
	c.mu.Lock()
	var done Compaction
	c.messages, done = Compact(c.messages, o)
	c.loaded = slices.DeleteFunc(c.loaded, func(b contextprovider.Body) bool { return slices.Contains(done.Forgotten, b.ID) })
	c.mu.Unlock()
	if done.Before != done.After {
		c.note(usage.Event{Kind: usage.Compacted, Skills: usage.Named(done.Forgotten...), Tokens: done.Before - done.After})
	}
	return done
}

// Tokens returns how many tokens the history has, estimated.
func (c *Conversation) Tokens() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return tokensOf(c.messages...)
}

func tokensOf(messages ...Message) int {
	var n words.TokenCount
	for _, m := range messages {
		n.Add(m.Text)
		for _, call := range m.Calls {
			n.Add(call.Name)
			n.Add(call.Arguments)
		}
	}
	return n.Tokens()
}

// Compact returns a history that is shortened to about o.Tokens, and says what it dropped.
// It takes the cheapest loss first: results of the prompts before the last, then their
// answers, then whole prompts, oldest first, then results of the last prompt. It never
// separates a Call from its Result, and keeps the results that hold the instructions of
// skills (Message.Skills) word for word, up to o.Skills. The argument is not changed.
func Compact(messages []Message, o CompactOptions) ([]Message, Compaction) {
	s := shortening{messages: slices.Clone(messages), most: o.Tokens}
	done := Compaction{Before: tokensOf(messages...)}
	s.size = done.Before
	if s.size > o.Tokens {
		s.protect(cmp.Or(o.Skills, o.Tokens/2), &done)
		last := s.lastPrompt()
		s.shorten(0, last, Result)
		s.shorten(0, last, Assistant)
		s.drop()
		s.trim(s.lastPrompt())
	}
	done.After, done.Dropped, done.Shortened = tokensOf(s.messages...), s.dropped, s.shortened
	return s.messages, done
}

// A shortening is a history that is being compacted.
type shortening struct {
	messages           []Message
	size, most         int // tokens: now, wanted
	dropped, shortened int
}

// protect decides which instructions are kept: those that were loaded last, up to most
// tokens. It cuts all other results with instructions.
func (s *shortening) protect(most int, done *Compaction) {
	seen := make(map[string]bool) // true: kept
	for i := len(s.messages) - 1; i >= 0; i-- {
		m := &s.messages[i]
		if len(m.Skills) == 0 {
			continue
		}
		fresh := slices.ContainsFunc(m.Skills, func(id string) bool { _, ok := seen[id]; return !ok })
		size := tokensOf(*m)
		keep := fresh && size <= most
		if keep {
			most -= size
		}
		for _, id := range m.Skills {
			if _, ok := seen[id]; !ok || keep {
				seen[id] = keep
			}
		}
		if !keep {
			m.Skills = nil
			s.cut(m, shortText)
		}
	}
	for id, kept := range seen {
		if kept {
			done.Kept = append(done.Kept, id)
		} else {
			done.Forgotten = append(done.Forgotten, id)
		}
	}
	slices.Sort(done.Kept)
	slices.Sort(done.Forgotten)
}

// lastPrompt returns the index of the last message of the user.
func (s *shortening) lastPrompt() int {
	for i := len(s.messages) - 1; i > 0; i-- {
		if s.messages[i].Role == User {
			return i
		}
	}
	return 0
}

// shortText is how many characters a shortened message keeps.
const shortText = 200

// shorten cuts messages of a role from index i to j, oldest first, until the history is
// short enough.
func (s *shortening) shorten(i, j int, role Role) {
	for ; i < j && s.size > s.most; i++ {
		if m := &s.messages[i]; m.Role == role && len(m.Skills) == 0 {
			s.cut(m, shortText)
		}
	}
}

// trim cuts the results from index i on as far as needed, oldest first: the model may not
// have read them yet.
func (s *shortening) trim(i int) {
	const room = 20 // tokens, for the mark
	for ; i < len(s.messages) && s.size > s.most; i++ {
		if m := &s.messages[i]; m.Role == Result && len(m.Skills) == 0 {
			has := words.Tokens(m.Text)
			wanted := max(0, has-room-(s.size-s.most))
			s.cut(m, max(shortText, utf8.RuneCountInString(m.Text)*wanted/max(1, has)))
		}
	}
}

// cut leaves the first characters of a message and a mark, if that saves anything.
func (s *shortening) cut(m *Message, characters int) {
	short := tidy.First(m.Text, characters)
	all, left := words.Tokens(m.Text), words.Tokens(short)
	short = fmt.Sprintf("%s\n[%d more tokens were left out here to save room.]", short, all-left)
	if words.Tokens(short) < all {
		before := tokensOf(*m)
		m.Text = short
		s.size += tokensOf(*m) - before
		s.shortened++
	}
}

// drop drops prompts with all that followed them, oldest first, until the history is short
// enough. It keeps the last prompt, and of each other what loaded a skill.
func (s *shortening) drop() {
	var kept []Message
	missing := 0 // messages since the last that was kept
	for rest := s.messages; len(rest) > 0; {
		n := turn(rest)
		now, next := rest[:n], rest[n:]
		if s.size > s.most && len(next) > 0 {
			now = s.onlySkills(now)
		}
		if len(now) == 0 {
			missing += rest[0].Omitted + n
		} else {
			s.mark(&now[0], missing)
			missing = n - len(now)
		}
		s.dropped += n - len(now)
		kept = append(kept, now...)
		rest = next
	}
	s.messages = kept
}

// mark says in a message that n more messages before it are gone.
func (s *shortening) mark(m *Message, n int) {
	if n == 0 {
		return
	}
	before := tokensOf(*m)
	m.Text = omission(m.Omitted+n) + strings.TrimPrefix(m.Text, omission(m.Omitted))
	m.Omitted += n
	s.size += tokensOf(*m) - before
}

// omission is the line that tells a model that messages are missing.
func omission(n int) string {
	if n == 0 {
		return ""
	}
	return fmt.Sprintf("[%d messages before this were left out to save room.]\n", n)
}

// turn returns how many messages belong to the first prompt: up to the next one.
func turn(messages []Message) int {
	for i := 1; i < len(messages); i++ {
		if messages[i].Role == User {
			return i
		}
	}
	return len(messages)
}

// onlySkills returns the start of the prompt and, of what followed it, the answers with
// results that hold instructions, with all their results; nil if there are none.
func (s *shortening) onlySkills(turn []Message) []Message {
	head := 1
	if turn[0].Role != User {
		head = 0 // a history that starts in the middle
	}
	kept := turn[:head:head]
	for i := head; i < len(turn); {
		j := i + 1
		for j < len(turn) && turn[j].Role == Result {
			j++
		}
		if slices.ContainsFunc(turn[i:j], func(m Message) bool { return len(m.Skills) > 0 }) {
			kept = append(kept, turn[i:j]...)
		}
		i = j
	}
	if len(kept) == head {
		kept = nil
	}
	s.size -= tokensOf(turn...) - tokensOf(kept...)
	if len(kept) > 0 && head == 1 {
		s.cut(&kept[0], shortText)
	}
	return kept
}
