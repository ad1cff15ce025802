package skill

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"go.yaml.in/yaml/v3"

	"github.com/repertoire-skills/repertoire/internal/tidy"
)

// A cut is a value of which YAML leaves out a part that its author wrote as text: after " #" it
// reads a comment, and a word with & or ! at the start is an anchor or a tag.
type cut struct {
	line, column int    // of the value in the text that was read, from 1
	end          string // of the comment; "" means that the start was left out
	whole        string // the value as it was written
}

// restore puts back what YAML leaves out of the texts of a field, and reports it. text is the
// YAML from which the field was read.
func (p *parser) restore(f *field, text string) []cut {
	r := restorer{parser: p, field: f, text: text}
	r.read(f.key, f.node, 0)
	return r.cuts
}

type restorer struct {
	*parser
	field *field
	text  string
	cuts  []cut
}

// read restores the texts below a key. Maps hold texts for people in known keys only.
func (r *restorer) read(key string, n *yaml.Node, depth int) {
	key = strings.ToLower(key)
	isProse := slices.Contains([]string{"description", "when_to_use", "when-to-use", "whentouse"}, key)
	isList := slices.Contains([]string{"triggers", "keywords", "phrases", "verbs", "patterns", "tags", "examples"}, key)
	switch {
	case depth > 4 || n.Kind == yaml.AliasNode:
	case n.Kind == yaml.MappingNode && (key == "metadata" || key == "triggers"):
		for k, value := range pairs(n) {
			r.read(k.Value, value, depth+1)
		}
	case n.Kind == yaml.SequenceNode && isList:
		for _, item := range n.Content {
			r.read(key, item, depth+1)
		}
	case n.Kind == yaml.ScalarNode && (isProse || isList):
		r.scalar(key, n, isProse)
	}
}

// scalar restores one text.
func (r *restorer) scalar(key string, n *yaml.Node, isProse bool) {
	comment, end := r.comment(n)
	start := ""
	if !isHashtag(comment) && (!isProse || n.Style != 0 || endsSentence(n.Value)) {
		comment, end = "", ""
	}
	switch {
	case !isProse:
	case n.Anchor != "" && !strings.Contains(r.block.yaml, "*"+n.Anchor):
		start = "&" + n.Anchor
	case n.Style&yaml.TaggedStyle != 0 && !strings.HasPrefix(n.ShortTag(), "!!"):
		start = n.Tag
	}
	if comment == "" && start == "" {
		return
	}
	message := "YAML reads " + quote(start) + " as an anchor or a tag"
	if comment != "" {
		message = "YAML reads a comment after \" #\", so clients lose " + quote(tidy.Shorten(comment, 60))
	}
	n.Value = strings.Join(slices.DeleteFunc([]string{start, n.Value, comment}, func(s string) bool { return s == "" }), " ")
	r.cuts = append(r.cuts, cut{n.Line, n.Column, end, n.Value})
	n.Style, n.Tag, n.Anchor = yaml.SingleQuotedStyle, "!!str", ""
	r.fault("yaml-cut", r.field.base+n.Line, key+": "+message, "put the whole value in quotes; \"skills doctor --fix\" does it")
}

// comment returns what YAML reads as comments on the line on which a value ends, and as lines
// of the value that begin with a word such as #channel. end is the last of these.
func (r *restorer) comment(n *yaml.Node) (comment, end string) {
	lines := strings.Split(r.text, "\n")
	if n.Line > len(lines) {
		return "", ""
	}
	end, _, _ = strings.Cut(n.LineComment, "\n")
	if runes := []rune(lines[n.Line-1]); n.Value == "" && n.Style == 0 {
		if rest := strings.TrimSpace(string(runes[min(n.Column-1, len(runes)):])); strings.HasPrefix(rest, "#") {
			end = rest
		}
	}
	comment = end
	for _, line := range lines[n.Line:] {
		if n != r.field.node || n.Style&^yaml.TaggedStyle != 0 || strings.TrimLeft(line, " ") == line {
			break
		}
		if line = strings.TrimSpace(line); isHashtag(line) {
			comment, end = strings.TrimSpace(comment+" "+line), line
		}
	}
	return comment, end
}

// isHashtag reports whether a comment begins with a word, such as #channel or ##contig. Of
// 20,000 skills two have a comment in the line of their description, and both mean a word.
func isHashtag(comment string) bool {
	word := strings.TrimLeft(comment, "#")
	r, _ := utf8.DecodeRuneInString(word)
	return word != comment && (unicode.IsLetter(r) || unicode.IsDigit(r))
}

// endsSentence reports whether a text is whole, so that a comment after it is one.
func endsSentence(text string) bool {
	return text == "" || strings.ContainsAny(text[len(text)-1:], ".!?)") || strings.HasSuffix(text, "。")
}

// quoted returns a text of YAML in which the values that were cut stand in quotes. Mend finds
// out whether that is what was meant.
func quoted(text string, cuts []cut) string {
	lines := strings.Split(text, "\n")
	for _, c := range slices.Backward(cuts) {
		last := c.line - 1
		for last < len(lines) && !strings.HasSuffix(strings.TrimRight(lines[last], " \t"), c.end) {
			last++
		}
		runes := []rune(lines[c.line-1])
		if last == len(lines) || c.column > len(runes) {
			continue
		}
		before := strings.TrimRight(string(runes[:c.column-1]), " ") + " "
		value := before + "'" + strings.ReplaceAll(c.whole, "'", "''") + "'"
		lines = slices.Replace(lines, c.line-1, last+1, value)
	}
	return strings.Join(lines, "\n")
}
