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
	w.running.Lock()
	defer w.running.Unlock()
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
	{"root away for a moment", 1, (*world).rootAway},
	{"root goes or is back", 6, (*world).moveRoot},
	{"forget root", 4, (*world).forgetRoot},
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
		w.s.counts["kills that came too late"]++
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
	if !w.exists(root) {
		return ""
	}
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

// moveRoot takes a root of the configuration away, or brings it back.
func (w *world) moveRoot() string {
	root := w.pick(roots)
	if w.exists(root) {
		if w.IntN(3) > 0 { // roots are mostly there: comparisons are stricter then
			return ""
		}
		w.rename(root, root+".away")
		w.away[root] = true
		w.s.counts["roots taken away"]++
		return root + " goes"
	}
	w.rename(root+".away", root)
	delete(w.away, root)
	return root + " is back"
}

// forgetRoot has the catalog forget a root that is away.
func (w *world) forgetRoot() string {
	root := w.pick(sorted(w.away))
	if !slices.Contains(w.conf.roots, root) {
		return ""
	}
	r := w.run(w.db(), "index", "--forget", w.conf.labels[root])
	if r.code != 0 {
		w.doors.hung = &difference{door: "forget", what: "a root that is away cannot be forgotten", detail: r.err}
	}
	w.away[root] = false
	return root
}

// rollBack copies the cache, changes skills and asks, puts some files of the copy back, and
// mostly does as much again: then two histories of the catalog have equally many changes.
func (w *world) rollBack() string {
	w.stopPrograms()
	w.run(w.db(), "index")
	from, times := w.copyCache(), 1+w.IntN(2)
	change := func(times int) (lines []string) {
		for range times {
			lines = append(lines, w.anyEdit().do(w))
			w.settle()
			w.number += 1000 // names hold it
			w.run(w.db(), w.args(asked[w.IntN(len(asked))])...)
		}
		return lines
	}
	before := change(times)
	line := w.putBack(from, w.groups(func(group string) string {
		if group == "catalog.db" {
			return "old"
		}
		return []string{"old", "new"}[w.IntN(2)]
	}), true)
	if w.IntN(3) == 0 {
		times = 0
	}
	return fmt.Sprintf("%q, %s, %q", before, line, change(times))
}

// asks are the questions of one comparison.
func (w *world) asks() []ask {
	list := []ask{{kind: "list"}, {kind: "list", agent: agents[1+w.IntN(3)]}}
	for i := range agents {
		list = append(list, ask{"search", agents[i], w.prompt()})
	}
	for _, agent := range []string{"", "narrow"} {
		list = append(list, ask{"context", agent, w.prompt()})
	}
	if name := w.declared(w.other(w.skillFolders(sources...))); name != "" {
		list = append(list, ask{"show", []string{"", "tagged"}[w.IntN(2)], name})
	}
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
