package skill

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"path"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/repertoire-skills/repertoire/internal/lazyregexp"
	"github.com/repertoire-skills/repertoire/internal/tidy"
	"github.com/repertoire-skills/repertoire/internal/words"
)

// Parse reads one SKILL.md. The name is the slash-separated path of the file in
// its source: it appears in problems, and its folder is the fallback for the
// skill's name. Parse returns a *ParseError when the file holds no usable skill,
// and another error when reading r fails.
func Parse(r io.Reader, name string) (*Skill, error) {
	data, err := io.ReadAll(io.LimitReader(r, MaxFile+1))
	if err != nil {
		return nil, fmt.Errorf("reading %s: %w", name, err)
	}
	return ParseBytes(data, name, "")
}

// ParseBytes is Parse for a SKILL.md that is in memory already. The folder is the
// base name of the skill's folder; "" means the last folder in name.
func ParseBytes(data []byte, name, folder string) (*Skill, error) {
	return Limits{}.Parse(data, name, folder)
}

// Parse is ParseBytes with other limits than the default.
func (l Limits) Parse(data []byte, name, folder string) (*Skill, error) {
	p, err := l.read(data, name, folder)
	if err != nil {
		return nil, err
	}
	return p.skill, nil
}

// read returns the parser of a file after it has read it.
func (l Limits) read(data []byte, name, folder string) (*parser, error) {
	p := &parser{limits: l.OrDefault(), skill: &Skill{Meta: Meta{Path: path.Clean(name)}}, path: name, folder: folder}
	if folder == "" {
		p.folder = path.Base(p.skill.Dir())
	}
	p.values.found = func(rule string, n *yaml.Node, message string) {
		report := p.warn
		if rule == "duplicate-key" {
			report = p.fault
		}
		report(rule, p.base+n.Line, message, "")
	}
	if err := p.parse(string(data)); err != nil {
		return nil, err
	}
	slices.SortStableFunc(p.skill.Problems, func(a, b Problem) int { return cmp.Compare(a.Line, b.Line) })
	return p, nil
}

// A parser reads one file into a Skill.
type parser struct {
	skill  *Skill
	path   string
	folder string // the skill's name if the file states none
	limits Limits // without zero values

	block    *block
	repaired string // YAML in which each entry of the block stands as it was read; "" if the block is sound

	values resolver
	fields []field
	base   int // line of the file = base + line of the YAML being resolved
}

// A field is one top-level entry of the frontmatter.
type field struct {
	key  string
	line int // of the file
	base int // line of the file = base + line in node
	node *yaml.Node
}

// warn adds a warning to the skill.
func (p *parser) warn(rule string, line int, message, hint string) {
	p.skill.Problems = append(p.skill.Problems,
		Problem{Rule: rule, Severity: Warning, Path: p.path, Line: line, Message: message, Hint: hint})
}

// fault adds an error: a part of the file is lost to other clients, though the skill can be used.
func (p *parser) fault(rule string, line int, message, hint string) {
	p.warn(rule, line, message, hint)
	p.skill.Problems[len(p.skill.Problems)-1].Severity = Error
}

// refuse returns the error for a file that holds no usable skill.
func (p *parser) refuse(rule string, line int, message, hint string) error {
	return &ParseError{Problem{Rule: rule, Severity: Error, Path: p.path, Line: line, Message: message, Hint: hint}}
}

func (p *parser) parse(data string) error {
	if len(data) > MaxFile {
		return p.refuse("file-too-large", 0, fmt.Sprintf("larger than %d bytes", MaxFile), "move details into references/")
	}
	p.skill.raw = data
	if IsUTF16(data) {
		return p.refuse("utf-16", 1, "the file is text in UTF-16, which clients cannot read", "save it as UTF-8")
	}
	data, bom := strings.CutPrefix(data, "\uFEFF")
	if bom {
		p.warn("byte-order-mark", 1, "the file starts with a byte order mark", "save it as UTF-8 without BOM")
	}
	text, hidden := tidy.CleanAndCount(data)
	if err := p.refuseOtherKinds(text); err != nil {
		return err
	}
	p.skill.Problems = append(p.skill.Problems, Hidden(p.path, hidden)...)
	b, ok := split(text)
	if !ok {
		return p.refuse("no-frontmatter", 1, "no frontmatter", "start the file with ---, name, description, ---")
	}
	p.block = b
	for _, f := range b.found {
		p.warn(f.Rule, f.Line, f.Message, f.Hint)
	}
	if len(b.yaml) > MaxFrontmatter {
		return p.refuse("frontmatter-too-large", b.line, fmt.Sprintf("frontmatter larger than %d bytes", MaxFrontmatter), "move details into the body")
	}
	if err := p.readYAML(b); err != nil {
		return err
	}
	if err := p.fill(b); err != nil {
		return err
	}
	p.readBody(b)
	return nil
}

// refuseOtherKinds refuses files that are plainly of another kind. The rule of the error
// says which kind.
func (p *parser) refuseOtherKinds(text string) error {
	trimmed := strings.TrimSpace(text)
	line, _, more := strings.Cut(trimmed, "\n")
	switch {
	case trimmed == "":
		return p.refuse("empty-file", 0, "the file is empty", "write name and description between two lines of ---")
	case strings.HasPrefix(trimmed, `{\rtf`):
		return p.refuse("rich-text", 1, "an RTF document, not Markdown", "save it as plain text")
	case IsLFSPointer(text):
		return p.refuse("lfs-pointer", 1, "a pointer of Git LFS instead of the file", "run \"git lfs pull\" where it was checked out")
	case tarHeader().MatchString(line):
		return p.refuse("tar-header", 1, "an extended header of a tar archive, not a skill", "extract the archive with a tar that knows pax headers")
	case !more && isRelativePath(trimmed):
		return p.refuse("symlink-placeholder", 1, "a symbolic link that was checked out as text: "+trimmed,
			"check the repository out with core.symlinks=true, or copy the file")
	}
	return nil
}

// IsUTF16 reports whether a file begins with the mark of UTF-16, as some editors and shells of
// Windows write it.
func IsUTF16(text string) bool {
	return strings.HasPrefix(text, "\xff\xfe") || strings.HasPrefix(text, "\xfe\xff")
}

// IsLFSPointer reports whether a file begins as what Git LFS puts in the place of a file that was
// not fetched.
func IsLFSPointer(text string) bool {
	return strings.HasPrefix(text, "version https://git-lfs.github.com/spec/")
}

// tarHeader matches a record of a pax header, such as "30 mtime=1.5".
var tarHeader = lazyregexp.New(`^\d{1,4} [^ \t=]+=`)

// isRelativePath reports whether the line s looks like the path that git writes
// into a file where it cannot create a symbolic link.
func isRelativePath(s string) bool {
	return len(s) <= 1024 && !strings.ContainsAny(s, " \t:<>|`*\"") && (strings.Contains(s, "/") || strings.HasSuffix(s, ".md"))
}

// Hidden returns a warning for each kind of hidden character in a file.
func Hidden(path string, hidden []tidy.Hidden) []Problem {
	var found []Problem
	for _, h := range hidden {
		rule, hint := "hidden-"+h.Kind, "remove it: readers do not see it, models do"
		if h.Kind == tidy.InvalidUTF8 {
			rule, hint = h.Kind, "save the file as UTF-8"
		}
		found = append(found, Problem{Rule: rule, Severity: Warning, Path: path, Line: h.Line, Message: hiddenMessage(h), Hint: hint})
	}
	return found
}

func hiddenMessage(h tidy.Hidden) string {
	what := map[string]string{
		"tag": "Unicode tag", "bidi": "bidirectional control", "zero-width": "zero-width",
		"control": "control", "invisible": "invisible", "invalid-utf8": "malformed UTF-8",
	}[h.Kind]
	if h.Count == 1 {
		return "1 " + what + " character"
	}
	return fmt.Sprintf("%d %s characters", h.Count, what)
}

// readYAML sets the fields and the frontmatter from b, and repairs malformed YAML.
func (p *parser) readYAML(b *block) error {
	p.base = b.line - 1
	root, err := parseMapping(b.yaml)
	if err == nil {
		err = p.readMapping(root, b.yaml)
	} else {
		err = p.repair(b, err)
	}
	if err == nil {
		err = p.resolve()
	}
	if errors.Is(err, errTooDeep) || errors.Is(err, errTooMany) {
		return p.refuse("frontmatter-limits", p.base+1, "frontmatter "+err.Error(), "")
	}
	return err
}

// readMapping appends the entries of a mapping, which was read from text, to the fields.
func (p *parser) readMapping(root *yaml.Node, text string) error {
	var cuts []cut
	for k, value := range pairs(root) {
		key, err := p.values.key(k, 1)
		if err != nil {
			return err
		}
		f := field{key: key, line: p.base + k.Line, base: p.base, node: value}
		cuts = append(cuts, p.restore(&f, text)...)
		p.fields = append(p.fields, f)
	}
	if len(cuts) > 0 {
		p.repaired = quoted(text, cuts)
	}
	return nil
}

// resolve sets the frontmatter from the fields: the last non-empty value of each key.
func (p *parser) resolve() error {
	fm := make(map[string]any, len(p.fields))
	for _, f := range p.fields {
		p.base = f.base
		v, err := p.values.value(f.node, 1)
		if err != nil {
			return err
		}
		if _, twice := fm[f.key]; twice {
			p.fault("duplicate-key", f.line, "key "+quote(f.key)+" occurs twice; the last one that is not empty counts", "keep one of them")
			if v == nil {
				continue
			}
		}
		fm[f.key] = v
	}
	p.skill.Frontmatter = fm
	return nil
}

// frontmatterKeys are keys that tell a second frontmatter from a text between two lines.
func frontmatterKeys() []string {
	return append(known[:], "triggers", "tags", "version", "when_to_use", "disable-model-invocation", "user-invocable", "requires")
}

// readBody sets the body and reports its problems.
func (p *parser) readBody(b *block) {
	s := p.skill
	s.Body, s.BodyLine, s.Tokens = b.body, b.bodyLine, words.Tokens(b.body)
	trimmed := strings.TrimSpace(b.body)
	if trimmed == "" {
		p.skill.Problems = append(p.skill.Problems, Problem{Rule: "empty-body", Severity: Note, Path: p.path,
			Line: b.bodyLine, Message: "no instructions after the frontmatter"})
	}
	if strings.HasPrefix(trimmed, "---\n") {
		if second, ok := split(trimmed); ok && second.closed && slices.ContainsFunc(frontmatterKeys(), func(key string) bool { return hasKey(second.yaml, key) }) {
			p.fault("second-frontmatter", b.bodyLine, "the body starts with another frontmatter, whose keys no client reads", "merge the two")
		}
	}
	if n := s.Tokens; n > p.limits.Body {
		p.warn("body-too-long", b.bodyLine, fmt.Sprintf("instructions of about %d tokens", n), "move details into references/")
	}
}
