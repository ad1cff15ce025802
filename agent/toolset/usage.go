package toolset

import (
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"
)

// A param is one parameter of a script, in the order of the command line.
type param struct {
	name     string // of the property
	flag     string // "--dpi", "-o"; "" for a positional one, "--" for the end of the options
	kind     string // "string", "integer", "number" or "boolean"
	enum     []string
	required bool
	list     bool // it may be given several times
	equals   bool // the value follows the flag after "=", in the same argument
	text     string
	shown    string // as the usage line has it
}

// maxUsage bounds a usage line, in bytes.
const maxUsage = 2000

// parseUsage reads a usage line without the word Usage:. script is the name of the file.
// The error says what can be read in more than one way.
func parseUsage(line, script string) ([]param, error) {
	if len(line) > maxUsage {
		return nil, fmt.Errorf("the usage line is longer than %d bytes", maxUsage)
	}
	tokens, err := tokensOf(line)
	if err != nil {
		return nil, err
	}
	p := &usageParser{tokens: tokens}
	if err := p.program(script); err != nil {
		return nil, err
	}
	for len(p.tokens) > 0 {
		if err := p.item(); err != nil {
			return nil, err
		}
	}
	return p.params, p.check()
}

// tokensOf cuts a usage line into words, <names> and punctuation.
func tokensOf(line string) ([]string, error) {
	line = strings.ReplaceAll(line, "…", "...")
	var tokens []string
	for line = strings.TrimSpace(line); line != ""; line = strings.TrimSpace(line) {
		n := strings.IndexAny(line, " \t[]{}()|,=<")
		switch {
		case strings.HasPrefix(line, "..."):
			n = 3
		case line[0] == '<':
			if n = strings.IndexByte(line, '>') + 1; n == 0 {
				return nil, errors.New("the usage line has a < without >")
			}
		case n == 0:
			n = 1
		default:
			if n < 0 {
				n = len(line)
			}
			if dots := strings.Index(line[:n], "..."); dots > 0 {
				n = dots
			}
		}
		tokens, line = append(tokens, line[:n]), line[n:]
	}
	return tokens, nil
}

type usageParser struct {
	tokens []string
	params []param
}

func (p *usageParser) peek() string {
	if len(p.tokens) == 0 {
		return ""
	}
	return p.tokens[0]
}

func (p *usageParser) next() string {
	t := p.peek()
	p.tokens = p.tokens[min(1, len(p.tokens)):]
	return t
}

// take takes the next token if it is t.
func (p *usageParser) take(t string) bool {
	if p.peek() != t || t == "" {
		return false
	}
	p.next()
	return true
}

// program takes the name of the script, and the interpreter before it.
func (p *usageParser) program(script string) error {
	interpreters := []string{"python", "python3", "bash", "sh", "zsh", "node", "deno", "bun", "ruby", "perl", "php", "lua", "Rscript", "pwsh", "uv", "npx", "tsx", "run", "$"}
	for n := 0; n < 4; n++ {
		word := p.next()
		base := path.Base(word)
		switch {
		case base == script, base == strings.TrimSuffix(script, path.Ext(script)), word == "$0", word == "%(prog)s":
			return nil
		case !slices.Contains(interpreters, word):
			return fmt.Errorf("the usage line does not start with %s", script)
		}
	}
	return fmt.Errorf("the usage line does not start with %s", script)
}

// item takes one parameter, or one in brackets.
func (p *usageParser) item() error {
	if !p.take("[") {
		if p.take("--") {
			return p.add(param{flag: "--"})
		}
		one, err := p.parameter()
		if err != nil {
			return err
		}
		if one.kind == "boolean" {
			return fmt.Errorf("%s stands without brackets, and has no value: whether it is always needed is not said", one.shown)
		}
		one.required = true
		one.list = p.take("...")
		return p.add(one)
	}
	if p.take("--") {
		if !p.take("]") {
			return errors.New("[--] is not closed")
		}
		return p.add(param{flag: "--"})
	}
	one, err := p.parameter()
	if err != nil {
		return err
	}
	inside := p.take("...")
	if !p.take("]") {
		return fmt.Errorf("%q in brackets with %s can be read in several ways", p.peek(), one.shown)
	}
	outside := p.take("...")
	if inside && one.flag != "" {
		return fmt.Errorf("how several values of %s are written is not said", one.shown)
	}
	one.list = inside || outside
	return p.add(one)
}

// parameter takes a flag with or without a value, or a name. In brackets a flag without a
// value is a switch.
func (p *usageParser) parameter() (param, error) {
	word := p.next()
	if !strings.HasPrefix(word, "-") {
		name, err := p.value(word)
		name.shown = word
		if err == nil && name.name == "" {
			err = fmt.Errorf("%q is a choice without a name", word)
		}
		return name, err
	}
	one := param{flag: word, kind: "boolean", shown: word}
	if sep := p.peek(); sep == "|" || sep == "," {
		p.next()
		other := p.next()
		if short(word) == short(other) || !isFlag(other) {
			return one, fmt.Errorf("%s and %s can be read as one parameter or as two", word, other)
		}
		if short(word) {
			one.flag = other
		}
		one.shown = one.flag
	}
	if !isFlag(one.flag) {
		return one, fmt.Errorf("%q is no name of an option", one.flag)
	}
	if one.name = propertyName(strings.TrimLeft(one.flag, "-")); one.name == "" {
		return one, fmt.Errorf("%q is no name of an option", one.flag)
	}
	one.equals = p.take("=")
	if t := p.peek(); !one.equals && (t == "" || t == "]" || t == "[" || t == "..." || strings.HasPrefix(t, "-")) {
		return one, nil
	}
	v, err := p.value(p.next())
	one.kind, one.enum = v.kind, v.enum
	one.shown += " " + v.shown
	return one, err
}

// value takes what stands for a value: NAME, <name>, {a,b} or a|b. Its first token is word.
func (p *usageParser) value(word string) (param, error) {
	v := param{kind: "string", shown: word}
	switch inner, ok := strings.CutPrefix(word, "<"); {
	case word == "{":
		for {
			v.enum = append(v.enum, p.next())
			if p.take("}") {
				break
			}
			if !p.take(",") && !p.take("|") {
				return v, errors.New("the choice in { } is not a list")
			}
		}
		v.shown = "{" + strings.Join(v.enum, ",") + "}"
	case ok:
		if v.name = propertyName(strings.TrimSuffix(inner, ">")); v.name == "" {
			return v, fmt.Errorf("%s is no name", word)
		}
	case isName(word) && p.peek() != "|":
		v.name = propertyName(word)
	case p.peek() == "|":
		v.enum = []string{word}
		for p.take("|") {
			v.enum = append(v.enum, p.next())
		}
		v.shown = strings.Join(v.enum, "|")
	default:
		return v, fmt.Errorf("whether %q is a name or is to be typed as it is cannot be told; names are written NAME or <name>", word)
	}
	for _, choice := range v.enum {
		if choice == "" || strings.ContainsAny(choice, "[](){}<>|,=") || choice[0] == '-' || word != "{" && isName(choice) {
			return v, fmt.Errorf("the choice %s can be read in several ways", v.shown)
		}
	}
	switch strings.Trim(strings.ToUpper(word), "<>") {
	case "N", "INT", "INTEGER", "COUNT":
		v.kind = "integer"
	case "NUM", "NUMBER", "FLOAT":
		v.kind = "number"
	}
	return v, nil
}

// add adds a parameter. "FILE [FILE...]" is one, of which there is at least one.
func (p *usageParser) add(one param) error {
	if one.flag == "-h" || one.flag == "--help" {
		return nil
	}
	for i := range p.params {
		old := &p.params[i]
		if old.name != one.name {
			continue
		}
		if i == len(p.params)-1 && old.flag == "" && one.flag == "" && one.list && old.required && !old.list && !one.required {
			old.list = true
			return nil
		}
		return fmt.Errorf("there are two parameters %s", one.shown)
	}
	p.params = append(p.params, one)
	return nil
}

// check checks the order: which positional parameter an argument belongs to must be certain.
func (p *usageParser) check() error {
	var last *param
	for i := range p.params {
		one := &p.params[i]
		if one.flag != "" {
			continue
		}
		if last != nil && (last.list || !last.required && one.required) {
			return fmt.Errorf("%s follows %s, which may be left out or given several times: what belongs to which cannot be told", one.shown, last.shown)
		}
		last = one
	}
	return nil
}

func isFlag(s string) bool {
	name := strings.TrimPrefix(strings.TrimPrefix(s, "-"), "-")
	return name != s && name != "" && name[0] != '-' && (short(s) || strings.HasPrefix(s, "--")) &&
		strings.Trim(strings.ToLower(name), "abcdefghijklmnopqrstuvwxyz0123456789-_") == ""
}

// short reports whether a flag is a dash and one character.
func short(s string) bool { return len(s) == 2 && s[0] == '-' && s[1] != '-' }

// isName reports whether a word is a name by its capital letters.
func isName(s string) bool {
	return s != "" && s[0] >= 'A' && s[0] <= 'Z' && strings.Trim(s, "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_") == ""
}

// propertyName returns the name of a property: lower case letters, digits and "_", the first
// a letter; "" if there is none.
func propertyName(s string) string {
	name := strings.Map(func(r rune) rune {
		switch {
		case r >= 'a' && r <= 'z', r >= '0' && r <= '9':
			return r
		case r >= 'A' && r <= 'Z':
			return r + 'a' - 'A'
		case r == '-', r == '_', r == ' ':
			return '_'
		}
		return -1
	}, s)
	if name == "" || name[0] < 'a' || name[0] > 'z' || len(name) > maxName || len(name) != len(s) {
		return ""
	}
	return name
}
