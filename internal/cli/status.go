package cli

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"charm.land/lipgloss/v2"
	"github.com/spf13/cobra"

	"github.com/repertoire-skills/repertoire"
	"github.com/repertoire-skills/repertoire/internal/config"
	"github.com/repertoire-skills/repertoire/internal/figures"
	"github.com/repertoire-skills/repertoire/internal/hook"
	"github.com/repertoire-skills/repertoire/internal/status"
	"github.com/repertoire-skills/repertoire/internal/tidy"
	"github.com/repertoire-skills/repertoire/search"
	"github.com/repertoire-skills/repertoire/skill"
	"github.com/repertoire-skills/repertoire/source"
)

const statusHelp = `Status shows on one screen how things stand: which clients are set up, where how
many skills come from, whether the catalog is up to date, what was offered last,
what is wrong, and the next command. The program prints the same without a
command. It only looks: nothing is indexed, written or sent, and what costs more
than a moment ("skills doctor") is not checked.

--json prints an object with
  clients   those on this machine and those that are set up: client, title,
            found (on this machine), mcp and hook (whether they are set up),
            server (the host that it asks, if it does not ask this machine),
            off (file and setting with which it runs no hook), lost (what setup
            wrote and somebody else has removed: kind, scope, file), refused
            (time and text: the server took no token of yours in the last day)
  skills    number of offered skills, or of found ones while nothing is indexed
  held      number of further skills, such as shadowed and disabled ones
  sources   places with skills, the first wins: source (its label), kind,
            folder, skills (found there), away (it cannot be read now)
  catalog   its file and state: current, changed (or perhaps; the next question
            looks), part (not all skills are read yet), building, missing or
            broken, with the error; mode (what ranking is based on) and slow
            (why the encoder has no part in it on this machine); estimate (why
            its threshold is one, if it was not measured yet); needless and
            unfit (of the prompts that need no skill, and of those that need one
            which is not there: prompts, how many were ranked here, offered,
            how many get an offer, near and higher, as in "why --json"); of a
            copy of
            a shared catalog also store and heard (when it was last known to be
            current)
  usage     whether the log of usage is on
  offers    the last ones: time, client, skills (IDs), and because (why the
            prompt wanted none, such as "reply")
  prompts   what the last 50 got, if that is noted: all, skills (that got some),
            silent (that got none, by why; "" where no skill stands out), late
            (whose answer was too late for the client)
  late      prompts of the last day whose answer was too late
  waiting   number of proposed changes that wait for your decision
  verdict   what is wrong, as "doctor --json" counts it: skills, unseen,
            confusing, author, setup, ignored, first and next
  unchecked whether the skills are so many, or shared, that verdict leaves them
            out
  next      the most useful command now, and why`

func newStatusCommand(e env) *cobra.Command {
	return &cobra.Command{
		Use:     "status",
		Short:   "Show how things stand, and what to do next",
		Long:    statusHelp,
		Example: "  skills status --json",
		Args:    args(0, 0),
		RunE: func(cmd *cobra.Command, _ []string) error {
			return runStatus(cmd.Context(), e.session(cmd), cmd.Root().Name())
		},
	}
}

// runStatus prints how things stand. program is the name by which people call this one.
func runStatus(ctx context.Context, s *session, program string) error {
	var mistaken []skill.Problem
	s.lastGood, s.warn = true, func(err error) { mistaken = append(mistaken, mistakes(err)...) }
	if _, err := s.options(); err != nil {
		return err
	}
	look := status.Look{Open: s.openForStatus, Building: func(db string) bool { return hook.Indexing(stateDir(), db) }, State: stateDir(), Late: hook.Late(stateDir()),
		Mistakes: func(unusable error) []skill.Problem {
			if unusable != nil {
				return append(mistaken, mistakes(unusable)...)
			}
			return mistaken
		}}
	look.Env, _ = s.setupEnv("") // without a home nothing is set up
	now, err := status.Gather(ctx, look)
	if err != nil {
		return err
	}
	if s.json {
		return s.printJSON(now)
	}
	p := s.page()
	p.width = min(p.width, 100)
	return s.printText(statusScreen{now, program, p, s.start}.String())
}

// openForStatus opens the catalog without bringing it up to date.
func (s *session) openForStatus(ctx context.Context) (*repertoire.Catalog, *repertoire.Agent, error) {
	c, err := s.open(ctx)
	if err != nil {
		return nil, nil, err
	}
	return c.Catalog, c.agent, nil
}

// stateDir returns the state folder; "" if there is none.
func stateDir() string {
	state, _ := config.StateDir()
	return state
}

// A statusScreen is a Status for people.
type statusScreen struct {
	*status.Status
	program string
	page
	now time.Time
}

// A line of the screen: what it is about, and what it says.
type line struct{ label, text string }

const (
	labels     = 10 // characters of the column of labels
	maxSources = 7  // lines of sources
)

// String returns the screen: at most 24 lines.
func (s statusScreen) String() string {
	if s.New() {
		return s.welcome()
	}
	var b strings.Builder
	for _, part := range [][]line{s.clients(), s.skills(), s.catalog(), s.ranking(), s.offers(), s.waiting(), s.problems(), s.next()} {
		for _, l := range part {
			text := cut(tidy.Visible(l.text), s.width-labels)
			b.WriteString(strings.TrimRight(fmt.Sprintf("%-*s%s", labels, l.label, text), " ") + "\n")
		}
	}
	return b.String()
}

// lines returns a text in at most two lines.
func (s statusScreen) lines(label, text string) []line { return s.linesUpTo(2, label, text) }

// linesUpTo returns a text in at most most lines. The last one may be too long.
func (s statusScreen) linesUpTo(most int, label, text string) []line {
	text = tilde(s.home, oneLine(text))
	first, rest := fill(text, s.width-labels)
	if rest == "" || most == 1 {
		return []line{{label, text}}
	}
	return append([]line{{label, first}}, s.linesUpTo(most-1, "", rest)...)
}

// fill returns as many words of a text as fit into a width, and the others.
func fill(text string, width int) (first, rest string) {
	if lipgloss.Width(text) <= width {
		return text, ""
	}
	first, _, _ = strings.Cut(lipgloss.Wrap(text, width, ""), "\n")
	return strings.TrimRight(first, " "), strings.TrimLeft(strings.TrimPrefix(text, first), " ")
}

// welcome says what to do on a machine where nothing is set up and there are no skills.
func (s statusScreen) welcome() string {
	clients := "no client is found on this machine"
	if len(s.Clients) > 0 {
		clients = "found here: " + titles(s.Clients)
	}
	first, rest := fill(clients, s.width-len("2. Connect your clients ()."))
	if rest != "" {
		first += " …"
	}
	return fmt.Sprintf(`Welcome. This program gives a model the few skills that fit a prompt, or none.
Nothing is set up yet, and there are no skills but the %[3]d that come with it.

1. Get skills, which are folders with a SKILL.md:
     %[1]s install OWNER/REPOSITORY   from GitHub; or a folder, archive or site
     %[1]s root add FOLDER            if you have a folder of skills
2. Connect your clients (%[2]s):
     %[1]s setup
3. See what a prompt gets:
     %[1]s try "PROMPT"

"%[1]s --help" lists all commands.
`, s.program, first, s.Skills)
}

// titles names clients.
func titles(clients []status.Client) string {
	var names []string
	for _, c := range clients {
		names = append(names, c.Title)
	}
	return strings.Join(names, ", ")
}

func (s statusScreen) clients() []line {
	var set, idle []status.Client
	for _, c := range s.Clients {
		if c.SetUp() {
			set = append(set, c)
		} else {
			idle = append(idle, c)
		}
	}
	var lines []line
	switch {
	case len(s.Clients) == 0:
		return s.lines("Clients", "none found on this machine")
	case len(set) == 0:
		lines = s.lines("Clients", "none is set up")
	default:
		lines = s.lines("Clients", "set up: "+titles(set))
	}
	asking := make(map[string][]status.Client) // by server
	for _, c := range set {
		if c.Server != "" {
			asking[c.Server] = append(asking[c.Server], c)
		}
	}
	for _, host := range slices.Sorted(maps.Keys(asking)) {
		lines = append(lines, s.lines("", fmt.Sprintf("asking the server %s first: %s", host, titles(asking[host])))...)
	}
	if len(idle) > 0 {
		lines = append(lines, s.lines("", "found, but not set up: "+titles(idle))...)
	}
	for _, c := range s.Clients {
		if c.Refused != nil {
			lines = append(lines, s.lines("", fmt.Sprintf("%s, %s: %s", c.Title, figures.Ago(s.now.Sub(c.Refused.Time)), c.Refused.Text))...)
		}
		if c.Off != nil {
			lines = append(lines, s.lines("", fmt.Sprintf("%s does not run hooks: %s in %s", c.Title, c.Off.Setting, c.Off.File))...)
		}
		for _, l := range c.Lost {
			lines = append(lines, s.lines("", fmt.Sprintf("%s: its %s is gone from %s; \"%s setup %s\" writes it again", c.Title, kindName(l.Kind), l.File, s.program, l.Client))...)
		}
	}
	return lines
}

func (s statusScreen) skills() []line {
	what := count(s.Skills, "skill") + " offered"
	switch {
	case s.Catalog.State == status.Broken:
		return nil
	case s.Skills+s.Held == 0:
		what = "none"
	case s.Catalog.State == status.Missing:
		what = count(s.Skills, "skill") + " found, and none is read yet"
	case s.Held > 0:
		what += fmt.Sprintf(", %s not (shadowed, disabled, lacking a command …)", figures.Thousands(s.Held))
	}
	lines := s.lines("Skills", what)
	shown, more := s.Sources, 0
	if len(shown) > maxSources+1 {
		for _, src := range shown[maxSources:] {
			more += src.Skills
		}
		shown = shown[:maxSources]
	}
	for _, src := range shown {
		lines = append(lines, line{"", fmt.Sprintf("%6s  %s", figures.Thousands(src.Skills), oneLine(s.place(src)))})
	}
	if more > 0 {
		lines = append(lines, line{"", fmt.Sprintf("%6s  in %d more places", figures.Thousands(more), len(s.Sources)-maxSources)})
	}
	return lines
}

// place says where skills come from.
func (s statusScreen) place(src status.Source) string {
	place := cmp.Or(tilde(s.home, src.Folder), src.Source)
	if src.Kind == source.KindBundled {
		place = "come with this program"
	}
	if src.Away {
		place += " (cannot be read now)"
	}
	return place
}

func (s statusScreen) catalog() []line {
	if s.Catalog.State == status.Broken {
		return s.linesUpTo(4, "Catalog", "cannot be used: "+s.Catalog.Error)
	}
	if s.Catalog.Store != "" {
		what := "no copy of the shared one yet, which is in "
		switch {
		case s.Catalog.State == status.Current && s.Catalog.Heard != nil:
			what = "as of " + figures.Ago(s.now.Sub(*s.Catalog.Heard)) + ", a copy of the shared one in "
		case s.Catalog.State == status.Current:
			what = "a copy of the shared one in "
		}
		return s.lines("Catalog", what+s.Catalog.Store)
	}
	return s.lines("Catalog", map[string]string{
		status.Current:  "up to date",
		status.Changed:  "some skills may have changed; the next question looks",
		status.Partial:  "not all skills are read yet; the next question goes on",
		status.Building: "another process reads skills now",
		status.Missing:  "not built yet",
	}[s.Catalog.State])
}

// ranking says what ranking is based on, unless that is what everybody expects.
func (s statusScreen) ranking() []line {
	switch m := s.Catalog.Mode; {
	case s.Catalog.Slow != "":
		return s.lines("Ranking", "without the encoder: "+s.Catalog.Slow)
	case m != "" && !search.Usual(m):
		return s.lines("Ranking", m)
	case s.Catalog.Estimate != "" && s.Catalog.State != status.Building:
		return s.lines("Ranking", "its threshold is an estimate until \"skills index\": "+s.Catalog.Estimate)
	case s.Catalog.Estimate != "":
		return s.lines("Ranking", "its threshold is an estimate until the process is done")
	case s.Catalog.Measured != "":
		return s.lines("Silence", s.Catalog.Measured)
	}
	return nil
}

func (s statusScreen) offers() []line {
	switch {
	case s.Catalog.State == status.Broken:
		return nil
	case !s.Usage:
		lines := s.lines("Offers", "not noted; \"skills config set usage true\" notes them")
		if s.Late > 0 {
			lines = append(lines, s.lines("", fmt.Sprintf("%s of the last day got no answer in time (hook.log); the hook waits longer now", count(s.Late, "prompt")))...)
		}
		return lines
	case s.Prompts == nil:
		return s.lines("Offers", "none yet")
	}
	lines := s.lines("Offers", said(s.Prompts))
	for _, o := range s.Offers {
		what := strings.Join(o.Skills, ", ")
		if what == "" {
			what = "nothing"
			if o.Because != "" {
				what += " (" + o.Because + ")"
			}
		}
		lines = append(lines, line{"", oneLine(fmt.Sprintf("%s, %s: %s", figures.Ago(s.now.Sub(o.Time)), cmp.Or(o.Client, "unknown"), what))})
	}
	return lines
}

// said says what the last prompts got.
func said(p *status.Prompts) string {
	unwanted := 0
	for why, n := range p.Silent {
		if why != "" {
			unwanted += n
		}
	}
	text := fmt.Sprintf("of %s %d got skills", count(p.All, "prompt"), p.Skills)
	for _, part := range []struct {
		n    int
		what string
	}{{unwanted, "wanted none"}, {p.Silent[""], "found none"}, {p.Late, "too late"}} {
		if part.n > 0 {
			text += fmt.Sprintf(", %d %s", part.n, part.what)
		}
	}
	return text
}

func (s statusScreen) waiting() []line {
	if s.Waiting == 0 {
		return nil
	}
	return s.lines("Proposals", fmt.Sprintf("%s of skills to decide on; \"%s proposals\" shows more", count(s.Waiting, "change"), s.program))
}

func (s statusScreen) problems() []line {
	v := s.Verdict
	var parts []string
	say := func(n int, noun, what string) {
		if n > 0 {
			parts = append(parts, count(n, noun)+" "+what)
		}
	}
	say(v.Setup, "problem", "of clients or settings")
	say(v.Unseen, "skill", "that no model sees")
	if n := v.Confusing + v.Author; n > 0 { // without a look at the files
		parts = append(parts, fmt.Sprintf("at least %s with flaws (\"%s doctor\" looks closer)", count(n, "skill"), s.program))
	}
	switch {
	case s.Catalog.State == status.Broken:
	case s.Catalog.Store != "":
		parts = append(parts, "whoever pushes the shared catalog checks its skills")
	case s.Unchecked:
		parts = append(parts, fmt.Sprintf("so many skills are checked by \"%s doctor\" only", s.program))
	case len(parts) == 0:
		parts = append(parts, fmt.Sprintf("none known; \"%s doctor\" looks closer", s.program))
	}
	lines := s.lines("Problems", strings.Join(parts, ", "))
	if v.Setup+v.Unseen > 0 && v.First != "" && s.Catalog.State != status.Broken {
		lines = append(lines, s.lines("", "First: "+v.First)...)
	}
	return lines
}

func (s statusScreen) next() []line {
	return s.lines("Next", fmt.Sprintf("%s %s  (%s)", s.program, s.Next.Command, s.Next.Why))
}
