//go:build soak && unix

package soak

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
	"time"
)

// patience is how long a command may take before it counts as hanging.
const patience = 20 * time.Second

// doors says which doors a round has besides the command.
type doors struct {
	library, server bool
	hung            *difference // set by a command that did not end
}

// A result is what a command printed.
type result struct {
	out, err string
	code     int
}

// command returns a command over the catalog of the world, or over another one.
func (w *world) command(ctx context.Context, db string, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, w.s.bin, append([]string{"--config", w.path("config.yaml"), "--db", db}, args...)...)
	cmd.Dir = w.path(project)
	return cmd
}

// db returns the path of the catalog of the world.
func (w *world) db() string { return w.path("cache", "catalog.db") }

// run runs a command to its end.
func (w *world) run(db string, args ...string) result {
	ctx, cancel := context.WithTimeout(w.s.t.Context(), patience)
	defer cancel()
	cmd := w.command(ctx, db, args...)
	var out, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &stderr
	err := cmd.Run()
	w.s.counts["commands"]++
	if ctx.Err() != nil {
		w.doors.hung = &difference{door: "hang", what: fmt.Sprintf("%q does not end", strings.Join(args, " ")), detail: stderr.String()}
	}
	if exit := new(exec.ExitError); err != nil && !errors.As(err, &exit) && ctx.Err() == nil {
		w.s.t.Fatal(err)
	}
	return result{out.String(), stderr.String(), cmd.ProcessState.ExitCode()}
}

// asked are the commands that steps run or kill. The text is a prompt.
var asked = []string{"index", "list", "search", "context"}

// args returns the arguments of one of them.
func (w *world) args(name string) []string {
	switch name {
	case "full":
		return []string{"index", "--full"}
	case "search", "context":
		return []string{name, sentence(w.Rand)}
	}
	return []string{name}
}

// runs are the kinds of steps that start commands, and that kill them.
var runs = []kind{
	{"run index", 0, func(w *world) string { return w.runStep("index") }},
	{"run index --full", 1, func(w *world) string { return w.runStep("full") }},
	{"run list", 0, func(w *world) string { return w.runStep("list") }},
	{"run search", 0, func(w *world) string { return w.runStep("search") }},
	{"run context", 0, func(w *world) string { return w.runStep("context") }},
	{"kill index", 0, func(w *world) string { return w.kill("index") }},
	{"kill index --full", 2, func(w *world) string { return w.kill("full") }},
	{"kill list", 0, func(w *world) string { return w.kill("list") }},
	{"kill search", 2, func(w *world) string { return w.kill("search") }},
	{"kill context", 0, func(w *world) string { return w.kill("context") }},
	{"kill at birth", 0, (*world).killAtBirth},
	{"kill one of three", 0, (*world).killOneOfThree},
	{"kill resident", 0, func(w *world) string {
		if w.server == nil {
			w.startServer()
			return "start"
		}
		w.stopServer()
		return "kill"
	}},
	{"edit during index", 0, func(w *world) string {
		cmd := w.startCommand("index")
		line := w.anyEdit().do(w)
		cmd.Wait()
		return line
	}},
	{"root away", 1, (*world).rootAway},
}

// anyEdit returns a kind of edits that this round uses.
func (w *world) anyEdit() kind {
	used := slices.DeleteFunc(slices.Clone(edits), func(e kind) bool {
		return !slices.ContainsFunc(w.kinds, func(k kind) bool { return k.name == e.name })
	})
	return used[w.IntN(len(used))]
}

func (w *world) runStep(name string) string {
	r := w.run(w.db(), w.args(name)...)
	return fmt.Sprintf("exit %d %s", r.code, firstLine(r.err))
}

// startCommand starts a command whose output nobody reads.
func (w *world) startCommand(name string) *exec.Cmd {
	cmd := w.command(w.s.t.Context(), w.db(), w.args(name)...)
	w.must(cmd.Start())
	return cmd
}

// kill starts a command and kills it after a random time.
func (w *world) kill(name string) string {
	cmd := w.startCommand(name)
	delay := time.Duration(w.Float64() * float64(80*time.Millisecond))
	<-time.After(delay)
	return fmt.Sprintf("after %v%s", delay.Round(time.Millisecond), w.end(cmd))
}

// end kills a process and says if it had already ended.
func (w *world) end(cmd *exec.Cmd) string {
	cmd.Process.Kill()
	if cmd.Wait(); cmd.ProcessState.Exited() {
		return ", it had ended"
	}
	w.s.counts["kills"]++
	return ""
}

// killAtBirth kills a command just after it has made a catalog file.
func (w *world) killAtBirth() string {
	w.removeCache()
	cmd := w.startCommand(asked[w.IntN(len(asked))])
	for wait := time.Now().Add(2 * time.Second); time.Now().Before(wait); {
		if _, err := os.Lstat(w.db()); err == nil {
			break
		}
	}
	delay := time.Duration(w.Float64() * w.Float64() * float64(30*time.Millisecond))
	<-time.After(delay)
	return fmt.Sprintf("%v after catalog.db appeared%s", delay.Round(100*time.Microsecond), w.end(cmd))
}

// killOneOfThree runs three commands at once and kills one of them.
func (w *world) killOneOfThree() string {
	var list []*exec.Cmd
	var names []string
	for range 3 {
		name := asked[w.IntN(len(asked))]
		list, names = append(list, w.startCommand(name)), append(names, name)
	}
	<-time.After(time.Duration(w.IntN(60)) * time.Millisecond)
	ended := w.end(list[0])
	for _, cmd := range list[1:] {
		timer := time.AfterFunc(patience, func() { cmd.Process.Kill() })
		if cmd.Wait(); !timer.Stop() {
			w.doors.hung = &difference{door: "hang", what: fmt.Sprintf("commands at once do not end: %q", names)}
		}
	}
	return strings.Join(names, ", ") + ended
}

// rootAway asks while a root of the configuration is not there. Answers may hold
// its skills or not, but there must be answers.
func (w *world) rootAway() string {
	root := w.pick(w.conf.roots)
	w.rename(root, root+".away")
	name := []string{"list", "context"}[w.IntN(2)]
	r := w.run(w.db(), w.args(name)...)
	w.rename(root+".away", root)
	if r.code != 0 {
		w.doors.hung = &difference{door: "root away", what: fmt.Sprintf("%s ends with %d while %s is away", name, r.code, root), detail: r.err}
	}
	return fmt.Sprintf("%s while %s is away: exit %d", name, root, r.code)
}

func firstLine(text string) string {
	line, _, _ := strings.Cut(text, "\n")
	return line[:min(len(line), 160)]
}

// asks are the questions of one comparison.
func (w *world) asks() []ask {
	list := []ask{{kind: "list"}, {kind: "list", agent: agents[1+w.IntN(2)]}}
	for i := range 3 {
		list = append(list, ask{"search", agents[i%len(agents)], w.prompt()})
	}
	list = append(list, ask{"context", "", w.prompt()}, ask{"context", "narrow", w.prompt()})
	return list
}

// prompt returns a text that some skills fit.
func (w *world) prompt() string {
	folder := w.other(slices.DeleteFunc(w.skillFolders(sources...), func(f string) bool { return w.unreadable[f] }))
	switch w.IntN(4) {
	case 0:
		return "please " + sentence(w.Rand)
	case 1:
		if name := w.declared(folder); name != "" {
			return name
		}
	case 2:
		return noun(w.Rand) + " " + noun(w.Rand)
	}
	return "how do I " + strings.ToLower(w.field(folder, "description")) + " today"
}
