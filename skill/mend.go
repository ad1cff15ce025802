package skill

import (
	"reflect"
	"slices"
	"strings"

	"github.com/repertoire-skills/repertoire/internal/tidy"
)

// mendable are the rules of the problems that Mend removes.
var mendable = []string{"byte-order-mark", "yaml-repaired", "yaml-cut", "opening-fence", "closing-fence"}

// Mend returns the text of a SKILL.md in which what Parse forgives is written as Parse
// reads it: malformed YAML, fences that are not plain, a byte order mark. rules are the
// rules of the problems that are gone. Without rules there is nothing to mend, or it cannot
// be mended without changing what the file says.
func Mend(data []byte, name, folder string) (mended []byte, rules []string) {
	read, err := Limits{}.read(data, name, folder)
	if err != nil {
		return nil, nil
	}
	for _, p := range read.skill.Problems {
		if slices.Contains(mendable, p.Rule) && !slices.Contains(rules, p.Rule) {
			rules = append(rules, p.Rule)
		}
	}
	if len(rules) == 0 {
		return nil, nil
	}
	text, bom := strings.CutPrefix(string(data), "\uFEFF")
	for _, try := range []string{read.rewrite(text), text} { // the second one only lacks the mark
		after, err := ParseBytes([]byte(try), name, folder)
		if err != nil || !sameMeaning(read.skill, after) {
			continue
		}
		gone := slices.DeleteFunc(slices.Clone(rules), func(rule string) bool {
			return slices.ContainsFunc(after.Problems, func(p Problem) bool { return p.Rule == rule })
		})
		if len(gone) == len(rules) || bom && try == text {
			return []byte(try), gone
		}
	}
	return nil, nil
}

// sameMeaning reports whether two files say the same.
func sameMeaning(a, b *Skill) bool {
	return a.Name == b.Name && a.Description == b.Description && a.Body == b.Body && reflect.DeepEqual(a.Frontmatter, b.Frontmatter)
}

// rewrite returns the file that was read with plain fences, and with each entry of its frontmatter
// as it was read; "" if hidden characters, or text around the frontmatter, would be lost.
func (p *parser) rewrite(text string) string {
	plain := strings.ReplaceAll(text, "\r\n", "\n")
	if tidy.Clean(plain) != plain || slices.ContainsFunc(p.block.found, func(p Problem) bool { return !slices.Contains(mendable, p.Rule) }) {
		return ""
	}
	yaml := p.block.yaml
	if p.repaired != "" {
		yaml = p.repaired
	}
	front, body := "---\n"+strings.TrimRight(yaml, "\n")+"\n---\n", text
	for range p.block.bodyLine - 1 { // the body keeps its line ends
		_, body, _ = strings.Cut(body, "\n")
	}
	if first, _, _ := strings.Cut(text, "\n"); strings.HasSuffix(first, "\r") {
		front = strings.ReplaceAll(front, "\n", "\r\n")
	}
	return front + body
}

// comments returns the comments before the first key.
func comments(yaml string) string {
	end := 0
	for line := range strings.Lines(yaml) {
		if !strings.HasPrefix(line, "#") {
			break
		}
		end += len(line)
	}
	return yaml[:end]
}
