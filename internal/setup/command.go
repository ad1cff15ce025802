package setup

import (
	"maps"
	"slices"
	"strings"

	"github.com/repertoire-skills/repertoire/internal/client"
	"github.com/repertoire-skills/repertoire/internal/lazyregexp"
)

// plainWord needs no quotes in any of the shells. On Windows a backslash is one
// of a path, which only a POSIX shell would take for an escape.
var (
	plainWord    = lazyregexp.New(`^[A-Za-z0-9_@%+=:,./-]+$`)
	plainWindows = lazyregexp.New(`^[A-Za-z0-9_:./\\-]+$`)
)

// commandLine writes words as one command line of a shell.
func commandLine(s client.Shell, words []string) string {
	quoted := make([]string, len(words))
	for i, word := range words {
		quoted[i] = quote(s, word)
	}
	line := strings.Join(quoted, " ")
	if s == client.PowerShell && strings.HasPrefix(line, "'") {
		line = "& " + line // else it is a text, not a command
	}
	return line
}

func quote(s client.Shell, word string) string {
	plain := plainWord()
	switch s {
	case client.GitBash:
		word = strings.ReplaceAll(word, `\`, "/")
	case client.CmdExe, client.PowerShell:
		plain = plainWindows()
	}
	if plain.MatchString(word) {
		return word
	}
	switch s {
	case client.GitBash:
		return `"` + strings.NewReplacer(`"`, `\"`, "$", `\$`, "`", "\\`").Replace(word) + `"`
	case client.CmdExe:
		return `"` + strings.ReplaceAll(word, `"`, `""`) + `"`
	case client.PowerShell:
		return "'" + strings.ReplaceAll(word, "'", "''") + "'"
	}
	return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
}

// wordsOf splits a command line by blanks and quotes as a POSIX shell does, or, with
// backslashes left as they are, roughly as the shells of Windows do.
func wordsOf(line string, backslashes bool) []string {
	var words []string
	var word strings.Builder
	open := false // within a word
	var quote rune
	escaped := false
	for _, r := range strings.TrimPrefix(line, "& ") {
		switch {
		case escaped:
			if quote == '"' && !strings.ContainsRune("\"\\$`", r) {
				word.WriteByte('\\')
			}
			word.WriteRune(r)
			escaped = false
		case r == '\\' && quote != '\'' && !backslashes:
			escaped, open = true, true
		case quote != 0 && r == quote:
			quote = 0
		case quote == 0 && (r == '\'' || r == '"'):
			quote, open = r, true
		case quote == 0 && (r == ' ' || r == '\t'):
			if open {
				words = append(words, word.String())
				word.Reset()
			}
			open = false
		default:
			word.WriteRune(r)
			open = true
		}
	}
	if open {
		words = append(words, word.String())
	}
	return words
}

// isProgram reports whether a word of a command is this program, perhaps at
// another place: it may have moved since it was set up.
func (e *Env) isProgram(word string) bool {
	name := programName(word)
	return name == "skills" || name == "repertoire" || name == programName(e.Program)
}

func programName(word string) string {
	word = word[strings.LastIndexAny(word, `/\`)+1:]
	return strings.TrimSuffix(strings.ToLower(word), ".exe")
}

// hookWords returns the words of a command line that runs our hook for one of
// some clients, nil for any other.
func (e *Env) hookWords(line string, clients ...string) []string {
	for _, backslashes := range []bool{false, true} {
		words := wordsOf(line, backslashes)
		if len(words) < 3 || !e.isProgram(words[0]) {
			continue
		}
		if i := slices.Index(words, "hook"); i > 0 && i+1 < len(words) && slices.Contains(clients, words[i+1]) {
			return words
		}
	}
	return nil
}

// mcpWords returns the words of the command of an entry that runs the MCP
// server of this program, nil for any other.
func (e *Env) mcpWords(entry any) []string {
	m, ok := entry.(map[string]any)
	if !ok {
		return nil
	}
	var words []string
	for _, key := range []string{"command", "cmd"} {
		switch v := m[key].(type) {
		case string:
			words = append([]string{v}, texts(m["args"])...)
		case []any:
			words = texts(v)
		case map[string]any: // as older versions of Zed had it
			program, _ := v["path"].(string)
			words = append([]string{program}, texts(v["args"])...)
		}
	}
	if len(words) < 2 || !e.isProgram(words[0]) || !slices.Contains(words[1:], "mcp") {
		return nil
	}
	return words
}

// texts returns the texts of a list.
func texts(v any) []string {
	l, _ := v.([]any)
	var out []string
	for _, e := range l {
		if s, ok := e.(string); ok {
			out = append(out, s)
		}
	}
	return out
}

// environOf returns the variables of the entry of a server.
func environOf(entry any) []string {
	m, _ := entry.(map[string]any)
	var list []string
	for _, key := range []string{"env", "envs", "environment"} {
		vars, _ := m[key].(map[string]any)
		for _, name := range slices.Sorted(maps.Keys(vars)) {
			if v, ok := vars[name].(string); ok {
				list = append(list, name+"="+v)
			}
		}
	}
	return list
}
