package agent

import (
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/repertoire-skills/repertoire/agent/tool"
	"github.com/repertoire-skills/repertoire/contextprovider"
	"github.com/repertoire-skills/repertoire/internal/tidy"
	"github.com/repertoire-skills/repertoire/sandbox"
	"github.com/repertoire-skills/repertoire/skill"
)

// Bounds of what a message holds.
const (
	maxFiles   = 40   // files of a skill
	maxMessage = 1000 // characters of an error
)

// skillText renders the instructions of a skill.
func skillText(b *contextprovider.Body, root string, again, scripts bool) string {
	attrs := attr("name", b.ID) + attr("root", root)
	if again {
		return element(skillContent, attrs+attr("loaded", "before"), "The instructions of this skill stand in this conversation already, and have not changed.")
	}
	return element(skillContent, attrs, shielded(about(b, scripts)+"Its SKILL.md, as its author wrote it:\n\n"+bounded(b.Text)))
}

// bounded returns the start of instructions that are too long for a message, and says so.
func bounded(text string) string {
	if len(text) <= maxText {
		return text
	}
	start := tidy.Cut(text, maxText)
	return fmt.Sprintf("%s\n[%d more bytes are left out here: a message has no room for them]", start, len(text)-len(start))
}

// about returns the lines that stand before the instructions of a skill.
func about(b *contextprovider.Body, scripts bool) string {
	var t strings.Builder
	if len(b.Resources) > 0 {
		t.WriteString("Its other files, by their paths in root")
		if scripts {
			t.WriteString(", where its commands run too")
		}
		t.WriteString(": " + filesText(b) + "\n")
	}
	for _, q := range b.Requires {
		if q.Available {
			t.WriteString("It asks for the skill " + tidy.Line(q.Name) + " too.\n")
		} else {
			t.WriteString("It asks for the skill " + tidy.Line(q.Name) + ", which is not there.\n")
		}
	}
	return t.String() + lackText(b)
}

// resourceText renders a file of a skill.
func resourceText(f *contextprovider.File) string {
	attrs := attr("skill", f.ID) + attr("path", f.Path)
	switch {
	case f.Binary:
		return element(resourceContent, attrs+attr("binary", "true"), fmt.Sprintf("This file is not text: %d bytes, which are not shown. A command of the skill may read it.", f.Size))
	case len(f.Text) > maxText:
		return element(resourceError, attrs, fmt.Sprintf("File %s is too large: %d bytes of text, and a message holds at most %d.\nRead a smaller file, or run a command of the skill that prints the part you need.",
			tool.Quoted(f.Path), len(f.Text), maxText))
	}
	return element(resourceContent, attrs, shielded(f.Text))
}

// runText renders what became of a command; skill is "" if it was of none.
func runText(r *sandbox.Result, skill string) string {
	attrs := attr("exit_code", strconv.Itoa(r.ExitCode))
	if skill != "" {
		attrs = attr("skill", skill) + attrs
	}
	if r.Signal != "" {
		attrs += attr("signal", r.Signal)
	}
	if r.Stopped != "" {
		attrs += attr("stopped", r.Stopped)
	}
	out, err, cut := printed(r)
	if cut {
		attrs += attr("truncated", "true")
	}
	return element(scriptResult, attrs, element(stdout, "", shielded(out))+element(stderr, "", shielded(err)))
}

// maxOutput is how many bytes a model gets of what a command prints, to standard output and
// to standard error: some 8,000 tokens each. The Result has all.
const maxOutput = 32_000

// printed returns what a model gets of what a command printed, and whether that is not all.
func printed(r *sandbox.Result) (stdout, stderr string, cut bool) {
	stdout, cutOut := readable(r.Stdout)
	stderr, cutErr := readable(r.Stderr)
	return stdout, stderr, r.Truncated || cutOut || cutErr
}

// readable returns an output without characters that a reader cannot see, and of a long one
// the start and the end.
func readable(output []byte) (text string, cut bool) {
	text = tidy.Clean(string(output))
	if len(text) <= maxOutput {
		return text, false
	}
	start, end := tidy.Cut(text, maxOutput*3/4), text[len(text)-maxOutput/4:]
	for len(end) > 0 && !utf8.RuneStart(end[0]) {
		end = end[1:]
	}
	return fmt.Sprintf("%s\n[%d bytes are left out here: a message has no room for them; let the command print less]\n%s",
		start, len(text)-len(start)-len(end), end), true
}

// failure renders an error about something that a model asked for with a tag.
func failure(tag string, in *instruction, p *tool.Problem) string {
	attrs := attr("skill", tidy.Shorten(tidy.Line(in.skill), skill.MaxName))
	if in.tag == tagRead {
		attrs += attr("path", tidy.Shorten(tidy.Line(in.what), skill.MaxName))
	}
	return element(tag, attrs, shielded(tidy.Shorten(tidy.Line(p.Fact), maxMessage)+"\n"+tidy.Shorten(sentence(p.Hint), maxMessage)))
}

// misuse renders the fault of a tag, and how the tag is written. Its … makes it no instruction.
func (in *instruction) misuse(scripts bool) string {
	tag, form := skillError, "<use_skill>…</use_skill> with the name of a skill for …"
	switch in.tag {
	case tagRead:
		tag, form = resourceError, `<read_resource skill="…">…</read_resource> with the name of a skill for the first … and the path of one of its files for the second`
	case tagFind:
		tag, form = searchError, "<search_skills>…</search_skills> with what is to be done for …"
	case tagRun:
		tag, form = scriptError, `<execute_script skill="…">…</execute_script> with the name of a skill for the first … and a command for the second`
		if !scripts {
			return element(tag, "", noScripts)
		}
	}
	return element(tag, "", shielded(upper(in.fault))+".\nWrite it as plain text, on a line of its own, like this: "+form+".")
}

const noScripts = "Scripts do not run here.\nThe program that runs this agent has no executor for them. Go on without it, and tell the user what the script would have done."

// upper returns a sentence with an upper-case letter at its start.
func upper(s string) string {
	if s != "" && s[0] >= 'a' && s[0] <= 'z' {
		return string(s[0]-'a'+'A') + s[1:]
	}
	return s
}

// sentence returns the end of a message as a sentence.
func sentence(s string) string {
	if s = upper(tidy.Line(s)); s != "" && !strings.ContainsAny(s[len(s)-1:], ".?!") {
		s += "."
	}
	return s
}
