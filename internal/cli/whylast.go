package cli

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/repertoire-skills/repertoire/internal/config"
	"github.com/repertoire-skills/repertoire/internal/figures"
	sessions "github.com/repertoire-skills/repertoire/internal/session"
)

// newestSession is the value of --session for the newest session of the project.
const newestSession = "last"

// sessionHelp describes --session.
const sessionHelp = "the session with this `ID`, or \"last\": the newest of this project"

// lastOffers are the flags of why that ask for a session.
type lastOffers struct {
	most    int // answers; 0 means that a prompt is given
	session string
}

// args checks the arguments. "--last 3" is the flag and an argument.
func (l *lastOffers) args(cmd *cobra.Command, list []string) error {
	fail := func(text string) error { return &usageError{cmd.CommandPath(), errors.New(text)} }
	switch {
	case !cmd.Flags().Changed("last") && cmd.Flags().Changed("session"):
		return fail("--session goes with --last; \"skills try --session ID PROMPT\" asks a prompt in a session")
	case !cmd.Flags().Changed("last"):
		return args(2, -1)(cmd, list)
	case len(list) > 1:
		return fail("--last says what a session was offered, so leave NAME and PROMPT out")
	case len(list) == 1:
		n, err := strconv.Atoi(list[0])
		if err != nil {
			return fail(fmt.Sprintf("--last takes a number, not %q; leave NAME and PROMPT out", list[0]))
		}
		l.most = n
	}
	if l.most < 1 {
		return fail("--last is 1 or more")
	}
	return nil
}

// remembered returns a session and what it was offered.
func remembered(id string) (*sessions.Session, error) {
	state, err := config.StateDir()
	if err != nil {
		return nil, err
	}
	here, err := os.Getwd()
	if err != nil {
		return nil, err
	}
	if id == newestSession {
		id = ""
	}
	return sessions.New(state, sessions.Options{Frozen: true}).Last(id, cmp.Or(config.ProjectRoot(here), here))
}

func runWhyLast(s *screen, l *lastOffers) error {
	got, err := remembered(l.session)
	if err != nil {
		return err
	}
	got.Last = got.Last[:min(l.most, len(got.Last))]
	if s.json {
		return s.printJSON(got)
	}
	if len(got.Last) == 0 {
		s.note("This session was offered no skill yet. \"skills try --session %s PROMPT\" tells why a prompt gets none.", got.ID)
		return nil
	}
	return s.printText(explainLast(got, time.Now()))
}

// explainLast says what a session was offered, and why, in the words of explain.
func explainLast(got *sessions.Session, now time.Time) string {
	var b strings.Builder
	say := func(format string, args ...any) { b.WriteString(lineOf(format, args...)) }
	say("Session %s in %s:", got.ID, got.Dir)
	for _, o := range got.Last {
		prompt := "a prompt"
		if o.Prompt != "" {
			prompt = strconv.Quote(o.Prompt)
		}
		say("")
		say("%s: %s", figures.Ago(now.Sub(o.Time)), prompt)
		switch {
		case o.Follows && !o.Earlier.IsZero():
			say("  It found nothing by itself, so the prompt that was offered skills %s counted too.", figures.Ago(now.Sub(o.Earlier)))
		case o.Follows:
			say("  It found nothing by itself, so an earlier prompt counted too.")
		}
		if o.Threshold > 0 {
			likely, threshold := figures.Percents(o.Demand, o.Threshold)
			say("  The best skill was %s likely what the prompt wanted; the threshold was %s.", likely, threshold)
		}
		for i := range o.Skills {
			sayReason(say, &o.Skills[i])
		}
	}
	return b.String()
}

// sayReason says why one skill was offered.
func sayReason(say func(format string, args ...any), r *sessions.Reason) {
	why := figures.Percent(r.Probability) + " likely"
	if r.RequiredBy != "" {
		why = "because " + r.RequiredBy + " requires it"
	}
	say("  %s: Offered, %s.", r.ID, why)
	for _, field := range []string{"name", "description", "tags"} {
		if list := r.Matched[field]; len(list) > 0 {
			say("    %-15s %s", "in "+field, strings.Join(list, " "))
		}
	}
	if r.Trigger != "" {
		say("    trigger         %s", r.Trigger)
	}
	if len(r.Terms) > 0 {
		score := 0.0
		for _, t := range r.Terms {
			score += t.Value * t.Weight
		}
		say("    score           %.2f%s", score, addends(r.Terms))
	}
}
