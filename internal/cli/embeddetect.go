package cli

import (
	"cmp"
	"context"
	"fmt"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/repertoire-skills/repertoire/embed/openai"
	"github.com/repertoire-skills/repertoire/internal/config"
	"github.com/repertoire-skills/repertoire/internal/detect"
	"github.com/repertoire-skills/repertoire/internal/figures"
)

// portFlag is the flag --port, which says where to look for servers.
type portFlag []int

func (p *portFlag) flag(cmd *cobra.Command) {
	cmd.Flags().IntSliceVar((*[]int)(p), "port", nil, "look for servers on this `port` of this machine only (repeatable)")
}

func (p portFlag) check() error {
	for _, port := range p {
		if port < 1 || port > 65535 {
			return fmt.Errorf("--port is a number from 1 to 65535, not %d", port)
		}
	}
	return nil
}

// find returns the servers that answer; used is what the configuration names, or nil.
func (p portFlag) find(ctx context.Context, used *openai.Config) []detect.Server {
	servers := detect.Find(ctx, &detect.Options{Ports: p})
	detect.Mark(servers, used)
	return servers
}

// detectRun is one call of "embed --detect".
type detectRun struct {
	*session
	on, yes bool
	model   string // the wanted one; "" means any
	ports   portFlag

	user     *person // nil means that nobody can be asked
	settings config.Settings
	result   detect.Proposal
}

func (d *detectRun) flags(cmd *cobra.Command) {
	cmd.Flags().BoolVar(&d.on, "detect", false, "look for embedding servers on this machine, and propose one")
	cmd.Flags().BoolVar(&d.yes, "yes", false, "with --detect: write the configuration without asking")
	d.ports.flag(cmd)
}

func (d *detectRun) check(cmd *cobra.Command) error {
	switch {
	case !d.on && (d.yes || cmd.Flags().Changed("port")):
		return fmt.Errorf("--yes and --port are for --detect")
	case d.on && d.model == allEmbedders:
		return fmt.Errorf("--model needs the name of a model with --detect: --model=NAME")
	}
	return d.ports.check()
}

// run finds servers, lets the user choose a model, times it, and writes the configuration if
// the user agrees.
func (d *detectRun) run(ctx context.Context) (err error) {
	if d.settings, err = d.session.settings(); err != nil {
		return err
	}
	if !d.yes {
		d.user = d.reader()
	}
	d.result.Servers = d.ports.find(ctx, d.settings.Embedder.OpenAI)
	c, err := d.choose()
	if err == nil {
		err = d.propose(ctx, c)
	}
	if d.json {
		if failed := d.printJSON(d.result); err == nil {
			err = failed
		}
	}
	return err
}

// choose shows what was found and returns one model. On a terminal the user chooses.
func (d *detectRun) choose() (detect.Choice, error) {
	list := detect.Choices(d.result.Servers)
	if err := d.printFound(list); err != nil {
		return detect.Choice{}, err
	}
	c, err := detect.Choose(d.result.Servers, d.model)
	if err != nil || d.user == nil || d.model != "" || len(list) == 1 {
		return c, err
	}
	answer := d.user.ask("which model? 1 to %d [1]", len(list))
	n, err := strconv.Atoi(cmp.Or(answer, "1"))
	if err != nil || d.user.left || n < 1 || n > len(list) {
		d.note("nothing was written")
		return c, errReported
	}
	return list[n-1], nil
}

// printFound prints the models, with numbers if the user is to choose one, and what is wrong
// with servers.
func (d *detectRun) printFound(list []detect.Choice) error {
	for _, s := range d.result.Servers {
		if s.Problem != "" {
			d.note("%s: %s", strings.TrimSpace(s.Kind+" "+s.Address), s.Problem)
		}
	}
	if d.json || len(list) == 0 {
		return nil
	}
	header := []string{"SERVER", "ADDRESS", "MODEL", "DIMENSION", ""}
	var rows [][]string
	for i, c := range list {
		use, dim := "", ""
		if c.InUse {
			use = "in use"
		}
		if c.Dim > 0 {
			dim = strconv.Itoa(c.Dim)
		}
		row := []string{c.Kind, c.Address, c.Name, dim, use}
		if d.user != nil {
			row = append([]string{strconv.Itoa(i + 1)}, row...)
		}
		rows = append(rows, row)
	}
	if d.user != nil {
		header = append([]string{""}, header...)
	}
	return d.rows(header, rows)
}

// propose times a model and proposes its configuration, unless that is the present one.
func (d *detectRun) propose(ctx context.Context, c detect.Choice) error {
	d.note("timing %s; the server may have to load it first", c.Name)
	t, err := c.Time(ctx)
	if err != nil {
		return err
	}
	missing := d.missing(ctx, c)
	d.result.Choose(c, t, missing)
	d.note("%s: %s dimensions; %s for a prompt, %s for %s (medians of %d)",
		c.Name, figures.Thousands(t.Dim), figures.Duration(t.Prompt), figures.Duration(t.Batch), count(t.Size, "text"), t.Rounds)
	if deadline := cmp.Or(d.settings.Deadline, 250*time.Millisecond); t.Prompt > deadline {
		d.note("prompts must be embedded within %v, so most would be ranked by text alone; set a longer deadline in the configuration, or take a smaller model", deadline)
	}
	if c.InUse {
		d.note("the configuration uses %s already", c.Name)
		return nil
	}
	if err := d.plan(c); err != nil {
		return err
	}
	err = d.carryOut()
	if d.result.Written {
		d.printNext(missing, t)
	}
	return err
}

// plan plans the change of the configuration that this call reads.
func (d *detectRun) plan(c detect.Choice) error {
	env, err := d.setupEnv("")
	if err != nil {
		return err
	}
	file := d.config
	if file == "" {
		file, err = config.File()
	} else {
		file, err = filepath.Abs(file)
	}
	if err != nil {
		return err
	}
	return d.result.Plan(env, file, d.config != "", c)
}

// carryOut shows what is planned and writes it if the user agrees.
func (d *detectRun) carryOut() error {
	r := &d.result
	switch {
	case r.Refused != "":
		fmt.Fprintf(d.stderr, "skills: %s\n", message(r.Refused))
		if r.Lines != "" && !d.json {
			fmt.Fprintf(d.stderr, "skills: hint: put this into %s, in place of its embedder:\n%s\n", r.File, r.Lines)
		}
		return errReported
	case r.Diff == "":
		d.note("%s says so already", r.File)
		return nil
	}
	if !d.yes && d.user == nil {
		d.note("nothing was written; put these lines into %s, in place of its embedder, or let --yes do it", r.File)
		if d.json {
			return nil
		}
		return d.printText("\n" + r.Lines)
	}
	if !d.json {
		fmt.Fprint(d.stdout, r.Diff)
	}
	if !d.yes && !d.user.agrees("write this?") {
		d.note("nothing was written")
		return errReported
	}
	if err := r.Write(); err != nil {
		return err
	}
	undo := fmt.Sprintf("to undo this, set \"embedder: static\" in %s", r.File)
	if r.Backup != "" {
		undo += ", or put back " + r.Backup
	}
	d.note("%s", undo)
	return nil
}

// printNext says what to do after the configuration was written.
func (d *detectRun) printNext(missing int, t detect.Timing) {
	if missing == 0 {
		d.note("next: \"skills index\" finds the skills and embeds them")
	} else {
		d.note("next: \"skills embed\" embeds %s, in about %s; until then ranking goes on without it", count(missing, "text"), figures.Duration(t.Estimate(missing)))
	}
	d.note("to see on the evals beside your skills what it buys: \"skills evals --embedder static --json >before.json\", then \"skills evals --compare before.json\"")
}

// missing returns how many texts of the catalog have no vector of a model; 0 if that is not
// known.
func (d *detectRun) missing(ctx context.Context, c detect.Choice) int {
	e, err := c.Embedder()
	if err != nil {
		return 0
	}
	cat, err := d.open(ctx)
	if err != nil {
		d.noteVerbose("%s", messageOf(err))
		return 0
	}
	defer cat.Close()
	covered, err := cat.Owner().Coverage(ctx, e.Model())
	if err != nil {
		d.noteVerbose("%s", messageOf(err))
		return 0
	}
	return covered.Texts - covered.Embedded
}
