package skill

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"go.yaml.in/yaml/v3"

	"github.com/repertoire-skills/repertoire/internal/tidy"
)

// maxNameKept is the longest name that is kept. Anything longer is a sentence in
// the wrong place; then the folder's name is used.
const maxNameKept = 4 * MaxName

// fill sets the skill's fields from the frontmatter.
func (p *parser) fill(b *block) error {
	if err := p.fillDescription(b); err != nil {
		return err
	}
	if err := p.fillName(b); err != nil {
		return err
	}
	s, meta := p.skill, p.metadata()
	list := func(key string) []string {
		return append(listItems(p.lookup(key).node), listItems(meta[key])...)
	}
	s.License, s.Compatibility = short(p.textOnly("license")), short(p.textOnly("compatibility"))
	s.WhenToUse = cmp.Or(p.text("when_to_use"), p.text("when-to-use"), p.text("whenToUse"))
	s.Author = short(cmp.Or(p.text("author"), nodeText(meta["author"])))
	s.Version = short(cmp.Or(p.text("version"), nodeText(meta["version"])))
	s.InvokedBy = p.invokedBy(meta)
	s.Tags = distinct(list("tags"))
	s.Needs = p.needs(meta)
	s.Triggers = p.triggers(meta)
	s.Examples = p.examples(meta)
	s.AllowedTools = tools(p.lookup("allowed-tools").node)
	return nil
}

// short bounds a text that is kept for each skill and that ranking does not use.
func short(text string) string { return strings.TrimSpace(tidy.First(text, 2*maxCompatibility)) }

// lookup returns the last non-empty field named key. If there is none, it returns
// a non-empty field whose name differs only in case, else an empty one named key. A
// field without a node means that there is none.
func (p *parser) lookup(key string) field {
	var found field
	for _, f := range p.fields {
		if f.key == key && (found.node == nil || nodeText(f.node) != "") {
			found = f
		}
	}
	if nodeText(found.node) != "" {
		return found
	}
	for _, f := range p.fields {
		if strings.EqualFold(f.key, key) && nodeText(f.node) != "" {
			return f
		}
	}
	return found
}

// required returns the field named key. It warns if the file spells the key in
// another case.
func (p *parser) required(key string) field {
	f := p.lookup(key)
	if f.node != nil && f.key != key {
		p.warn("key-case", f.line, "key "+quote(key)+" is written "+quote(f.key), "write it in lower case")
	}
	return f
}

// text returns the value of a field as one text; "" if the field is missing.
func (p *parser) text(key string) string { return nodeText(p.lookup(key).node) }

// textOnly is text for a field that must not be a list or a map: it warns about one.
func (p *parser) textOnly(key string) string {
	f := p.lookup(key)
	if !isText(f.node) {
		p.warn("field-type", f.line, key+" is not a text", "write it as one line")
	}
	return nodeText(f.node)
}

func (p *parser) fillDescription(b *block) error {
	const hint = "say what the skill does and when to use it"
	f := p.required("description")
	description := nodeText(f.node)
	switch {
	case description == "" && !b.closed:
		return p.refuse("unclosed-frontmatter", b.line-1, "the frontmatter is never closed and holds no description", "end it with a line ---")
	case f.node == nil:
		return p.refuse("missing-description", max(b.line-1, 1), "missing description", hint)
	case description == "":
		return p.refuse("empty-description", f.line, "the description is empty", hint)
	case !isText(f.node):
		p.warn("field-type", f.line, "the description is not a text; its parts were joined", "quote it")
	}
	n, kept := utf8.RuneCountInString(description), max(MaxDescription, p.limits.Description)
	switch {
	case n > kept:
		p.warn("description-too-long", f.line, fmt.Sprintf("description of %d characters; %d are used", n, kept),
			"move details into the body")
		description = tidy.Clean(strings.TrimSpace(tidy.First(description, kept)))
	case n > p.limits.Description:
		p.warn("description-too-long", f.line, fmt.Sprintf("description of %d characters; the limit is %d", n, p.limits.Description),
			"move details into the body")
	}
	p.skill.Description = description
	return nil
}

func (p *parser) fillName(b *block) error {
	f := p.required("name")
	name := strings.Join(strings.Fields(nodeText(f.node)), " ")
	line, message := f.line, ""
	switch n := utf8.RuneCountInString(name); {
	case f.node == nil:
		line, message = max(b.line-1, 1), "missing name"
	case name == "":
		message = "the name is empty"
	case !isText(f.node):
		message = "the name is not a text"
	case n > maxNameKept:
		message = fmt.Sprintf("name of %d characters", n)
	default:
		p.skill.Name = name
		p.judgeName(name, n, line)
		return nil
	}
	folder := tidy.Line(p.folder)
	switch folder {
	case "", ".", "/", "..":
		return p.refuse("missing-name", line, message+", and there is no folder to take it from", "add name: my-skill")
	}
	p.skill.Name = folder
	p.warn("missing-name", line, message+"; the folder's name is used: "+folder, "add name: "+folder)
	return nil
}

// judgeName warns about names that cause trouble in other programs. Check applies
// all rules for names.
func (p *parser) judgeName(name string, length, line int) {
	if length > p.limits.Name {
		p.warn("name-too-long", line, fmt.Sprintf("name of %d characters; the limit is %d", length, p.limits.Name), "shorten it")
	}
	if strings.ContainsAny(name, `/\@<>`) || strings.Contains(name, "..") {
		p.warn("name-unsafe", line, "name "+quote(name)+" looks like a path or an address", "use letters, digits and hyphens")
	}
}

// metadata returns the entries of the metadata field, if it is a map.
func (p *parser) metadata() map[string]*yaml.Node {
	f := p.lookup("metadata")
	n := target(f.node)
	if n != nil && n.Kind == yaml.MappingNode {
		return entriesOf(n)
	}
	text := nodeText(n)
	if text != "" {
		p.warn("field-type", f.line, "metadata is not a map", "write it as indented key: value lines")
	}
	if !strings.HasPrefix(text, "{") {
		return nil
	}
	n, _ = parseMapping(text) // a map that was written as a text of JSON; nil if it is none
	return entriesOf(n)
}

// entriesOf returns the entries of a map; nil if n is none.
func entriesOf(n *yaml.Node) map[string]*yaml.Node {
	n = target(n)
	if n == nil || n.Kind != yaml.MappingNode {
		return nil
	}
	entries := make(map[string]*yaml.Node, len(n.Content)/2)
	for key, value := range pairs(n) {
		entries[key.Value] = value
	}
	return entries
}

// target returns the node that an alias stands for; any other n is its own target.
func target(n *yaml.Node) *yaml.Node {
	if n != nil && n.Kind == yaml.AliasNode {
		return n.Alias
	}
	return n
}

// isText reports whether n is a scalar or nil.
func isText(n *yaml.Node) bool {
	n = target(n)
	return n == nil || n.Kind == yaml.ScalarNode
}

// nodeText returns n as clean text.
func nodeText(n *yaml.Node) string {
	if n == nil {
		return ""
	}
	return strings.TrimSpace(tidy.Clean(flatText(n)))
}

// listItems returns the items of a list, or the parts of a text that is separated
// by commas, else by blanks. A map is not a list: it returns nil.
func listItems(n *yaml.Node) []string {
	var list []string
	n = target(n)
	switch {
	case n == nil:
	case n.Kind == yaml.ScalarNode:
		s := strings.Trim(nodeText(n), "[]")
		if strings.ContainsAny(s, ",，、") {
			list = strings.FieldsFunc(s, func(r rune) bool { return strings.ContainsRune(",，、\n", r) })
		} else {
			list = strings.Fields(s)
		}
	case n.Kind == yaml.SequenceNode:
		for _, c := range n.Content {
			if isText(c) {
				list = append(list, nodeText(c))
			}
		}
	}
	for i, w := range list {
		list[i] = strings.Trim(w, " \t\"'#")
	}
	return slices.DeleteFunc(list, func(w string) bool { return w == "" })
}

// distinct removes repeated words, ignoring case, and keeps the first of each.
func distinct(list []string) []string {
	seen := make(map[string]bool, len(list))
	return slices.DeleteFunc(list, func(w string) bool {
		w = strings.ToLower(w)
		again := seen[w]
		seen[w] = true
		return again
	})
}

// cannotBeName reports whether w cannot be a skill's name. Authors also write other
// requirements ("Python 3.11+") into the field.
func cannotBeName(w string) bool {
	return strings.ContainsFunc(w, func(r rune) bool {
		return !unicode.IsLetter(r) && !unicode.IsDigit(r) && !strings.ContainsRune("-_./:", r)
	})
}

// tools returns the entries of allowed-tools; nil for a map.
func tools(n *yaml.Node) []string {
	n = target(n)
	if n == nil || n.Kind == yaml.MappingNode {
		return nil
	}
	if n.Kind == yaml.ScalarNode {
		return splitTools(strings.Trim(nodeText(n), "[]"))
	}
	var list []string
	for _, c := range n.Content {
		list = append(list, splitTools(nodeText(c))...)
	}
	return list
}

// splitTools cuts s at commas and blanks that are not inside parentheses.
func splitTools(s string) []string {
	depth := 0
	return strings.FieldsFunc(s, func(r rune) bool {
		switch r {
		case '(':
			depth++
		case ')':
			depth = max(depth-1, 0)
		}
		return depth == 0 && (r == ',' || unicode.IsSpace(r))
	})
}
