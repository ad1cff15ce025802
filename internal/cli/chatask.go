package cli

import (
	"context"
	"fmt"
	"strings"

	"github.com/repertoire-skills/repertoire/internal/chat"
	"github.com/repertoire-skills/repertoire/internal/scripts"
)

// ask asks whether a script of a skill may run, and shows what is known of the skill.
func (k *chatter) ask(ctx context.Context, q scripts.Question) (scripts.Reply, error) {
	k.mu.Lock()
	k.close()
	k.mu.Unlock()
	fmt.Fprint(k.ui.stderr, aboutUnsure(ctx, &q))
	question := "run it? [o]nce, [a]lways, [N]o: "
	if q.Unknown != "" {
		question = "run it? [o]nce, [N]o: "
	}
	answer, err := k.lines.Ask(ctx, question)
	if err == chat.ErrInterrupted {
		k.stop()
		return scripts.No, err
	}
	if err != nil && ctx.Err() != nil {
		return scripts.No, err
	}
	switch answer = strings.ToLower(strings.TrimSpace(answer)); { // the end of the input means no
	case answer == "o" || answer == "once":
		return scripts.Once, nil
	case (answer == "a" || answer == "always") && q.Unknown == "":
		return scripts.Always, nil
	}
	return scripts.No, nil
}

// aboutUnsure returns what the user should know before a script runs.
func aboutUnsure(ctx context.Context, q *scripts.Question) string {
	var b strings.Builder
	b.WriteString(lineOf("The skill %s wants to run: %s", q.Skill.ID, q.Command))
	b.WriteString(lineOf("  It is not trusted. Its source is %s; %s in %s", q.Skill.Source, count(len(q.Files.Files), "file"), q.Files.Folder))
	if q.Unknown != "" {
		b.WriteString(lineOf("  %s, so nobody would notice a change of it", q.Unknown))
	}
	b.WriteString(sinceTrusted(q.Change, q.Files.Folder))
	const most = 5
	signs := signsIn(ctx, q.Files.Folder)
	for _, p := range signs[:min(most, len(signs))] {
		b.WriteString(lineOf("  %v", p))
	}
	switch n := len(signs) - most; {
	case n > 0:
		b.WriteString(lineOf("  and %s more", count(n, "sign")))
	case len(signs) == 0:
		b.WriteString("  the trust checks found no sign against it, which does not mean that it is safe\n")
	}
	return b.String()
}
