package trial

import (
	"fmt"
	"strings"
	"time"

	"github.com/repertoire-skills/repertoire/internal/figures"
	"github.com/repertoire-skills/repertoire/search"
)

// likely is the probability from which a skill that is not offered is worth advice.
const likely = .05

// Say says in lines of text what came of a trial. program is the name by which people call
// this program.
func (r *Trial) Say(program string) string {
	s := &sayer{program: program}
	s.hook(r)
	s.late(r)
	switch r.Outcome {
	case Offered:
		s.offered(r)
	case Nothing:
		s.nothing(r)
	case NotBuilt:
		s.line("The model is told nothing: the catalog has no complete index yet. %q builds it; the hook would start that in the background.", program+" index")
	case Failed:
		s.line("The model is told nothing: the hook failed.")
	}
	if r.Partial {
		s.line("This is %s (%q does that).", search.PartOf(r.Unread).OfCatalog(), s.program+" index")
	}
	if r.Mode != "" && !search.Usual(r.Mode) {
		s.line("Ranking: %s.", r.Mode)
	}
	for _, p := range r.Problems {
		s.line("Problem: %s", p)
	}
	return s.text.String()
}

// A sayer collects lines.
type sayer struct {
	program string
	text    strings.Builder
}

// line adds a line. What is formatted, such as the name of a skill, cannot begin another.
func (s *sayer) line(format string, args ...any) {
	s.text.WriteString(strings.ReplaceAll(fmt.Sprintf(format, args...), "\n", " ") + "\n")
}

// hook says which hook was called.
func (s *sayer) hook(r *Trial) {
	c := r.hook.Client
	switch reg := r.hook.Registered; {
	case r.hook.Any:
		s.line("No client has the hook yet (%q sets clients up). With it, this would happen:", s.program+" setup")
	case reg == nil:
		s.line("The hook of %s is not set up (%q does so). With it, this would happen:", c.Title, s.program+" setup "+c.Name)
	case reg.Gone:
		s.line("%s cannot run the hook in %s: %s is not there. With this program, this would happen:", c.Title, r.File, r.Command[0])
	default:
		s.line("%s, with the hook in %s:", c.Title, r.File)
	}
}

func (s *sayer) offered(r *Trial) {
	if r.Follows {
		s.line("The prompt finds nothing by itself; together with the prompt before it that was offered something:")
	}
	s.line("The model is told of %s, in %s (%s).", figures.Count(len(r.Skills), "skill"), figures.Count(r.Tokens, "token"), r.pace())
	width := 0
	for _, o := range r.Skills {
		width = max(width, len(o.ID))
	}
	for _, o := range r.Skills {
		why := figures.Percent(o.Probability) + " likely"
		switch {
		case o.Pinned:
			why = "pinned"
		case o.RequiredBy != "":
			why = "required by " + o.RequiredBy
		}
		s.line("  %-*s  %s, %s", width, o.ID, why, o.Path)
	}
	if r.Omitted > 0 {
		s.line("  no room for %d more", r.Omitted)
	}
	s.threshold(r)
}

// nothing says why no skill is offered, and what would change that.
func (s *sayer) nothing(r *Trial) {
	switch {
	case r.Mode == byServer:
		s.line("The model is told nothing (%s).", r.pace())
	case r.InScope == 0:
		s.line("The model is told nothing: there are no skills here (%s).", r.pace())
		return
	case len(r.Nearest) > 0 && r.Nearest[0].Known:
		s.line("The model is told nothing new: what fits was offered in this session before (%s).", r.pace())
	case r.InScope == 1:
		s.line("The model is told nothing: the only skill does not stand out (%s).", r.pace())
	default:
		s.line("The model is told nothing: none of %s stands out (%s).", figures.Count(r.InScope, "skill"), r.pace())
	}
	if len(r.Nearest) == 0 || !r.Nearest[0].Known {
		s.threshold(r)
	}
	if len(r.Nearest) == 0 {
		return
	}
	s.line("Nearest:")
	for _, n := range r.Nearest {
		line := fmt.Sprintf("%s, %s likely", n.ID, figures.Percent(n.Probability))
		if n.Known {
			line += "; it fits, and this session was offered it before"
		} else if len(n.Missing) > 0 {
			line += "; not in it: " + strings.Join(n.Missing, " ")
		}
		s.line("  %s", line)
	}
	first := r.Nearest[0]
	if first.Probability >= likely && len(first.Advice) > 0 {
		s.line("If %s should fit, its description needs words such as: %s.", first.ID, strings.Join(first.Advice, ", "))
	}
}

// threshold says why the prompt gets no skill, and how it compares with prompts that need
// none. A server does not tell.
func (s *sayer) threshold(r *Trial) {
	s.read(r)
	if r.Quiet != "" && r.Outcome == Nothing {
		s.line("%s%s.", strings.ToUpper(r.Quiet[:1]), r.Quiet[1:])
	}
	switch b := r.Background; {
	case r.Reference == "":
	case b.Prompts == 0 && r.Due:
		s.line("The threshold is an estimate: %s (%q does that).", b.Missing, s.program+" index")
	case b.Prompts == 0:
		s.line("The threshold is an estimate: %s.", b.Missing)
	case r.Outcome == Nothing && r.Disturb != nil:
		const rounding = 1e-9
		s.line("So it is with prompts that should get none: %s. At most %d and %d may get an offer.", r.Reference,
			int(*r.Disturb*float64(b.Prompts)+rounding), int(*r.Unfit*float64(b.Unfit.Prompts)+rounding))
	}
}

// read says what the words of a prompt in another language were read as.
func (s *sayer) read(r *Trial) {
	if len(r.Reading) == 0 {
		return
	}
	list := make([]string, len(r.Reading))
	for i, w := range r.Reading {
		list[i] = w.String()
	}
	s.line("The prompt was read so: %s.", strings.Join(list, "; "))
}

// late says that the client would not have got this answer.
func (s *sayer) late(r *Trial) {
	if !r.Late {
		return
	}
	deadline, took := figures.Duration(duration(r.DeadlineMS)), figures.Duration(duration(r.TookMS))
	s.line("Too late: the hook gives up before its deadline of %s, and the client gets nothing. With more time (%s in a second call), this would happen:", deadline, took)
}

// pace says how long the hook took.
func (r *Trial) pace() string {
	return fmt.Sprintf("%s of %s", figures.Duration(duration(r.TookMS)), figures.Duration(duration(r.DeadlineMS)))
}

func duration(ms float64) time.Duration { return time.Duration(ms * float64(time.Millisecond)) }
