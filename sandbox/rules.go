package sandbox

import (
	"path"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// A rule allows the commands whose words match its patterns. A command of PATH is written
// as its name, a file of the skill as "./" and its path, so neither can pass for the other.
type rule struct {
	words []string
	open  bool // more words may follow
	all   bool // any command
}

// shells are the names under which clients offer a shell as a tool. "bash" and "sh" in
// lower case without parentheses are programs, which rules may name too.
var shells = [...]string{"Bash", "Shell", "shell", "Terminal", "PowerShell", "ShellTool", "run_shell_command", "execute_bash", "run_in_terminal"}

// others are tools of clients that are no commands.
var others = [...]string{"Read", "Write", "Edit", "MultiEdit", "Glob", "Grep", "LS", "LSP", "Task", "Agent", "Skill", "Monitor", "WebFetch",
	"WebSearch", "TodoRead", "TodoWrite", "NotebookRead", "NotebookEdit", "AskUserQuestion", "SlashCommand", "BashOutput", "KillShell",
	"KillBash", "EnterPlanMode", "ExitPlanMode", "EnterWorktree", "ExitWorktree", "ToolSearch"}

// toolPrefix begins the names of tools of MCP servers.
const toolPrefix = "mcp__"

// rules returns what the entries of allowed-tools allow. An entry that names another tool
// allows no command.
func rules(allowed []string) []rule {
	var list []rule
	for _, entry := range allowed {
		entry = strings.Trim(strings.TrimSpace(entry), `"'`)
		tool, inside, found := strings.Cut(entry, "(")
		tool = strings.TrimSpace(tool)
		switch {
		case found && isShell(tool):
			for spec := range strings.SplitSeq(strings.TrimSuffix(strings.TrimSpace(inside), ")"), ",") {
				list = append(list, specRules(spec)...)
			}
		case found, slices.Contains(others[:], entry), strings.HasPrefix(entry, toolPrefix):
		case entry == "*", slices.Contains(shells[:], entry):
			list = append(list, rule{all: true})
		default:
			list = append(list, patterns(strings.TrimSuffix(entry, ":*"), true)...)
		}
	}
	return list
}

// isShell reports whether a tool whose commands stand in parentheses is a shell.
func isShell(tool string) bool {
	return slices.ContainsFunc(shells[:], func(s string) bool { return strings.EqualFold(s, tool) })
}

// specRules returns the rules of what stands between the parentheses of "Bash(…)":
// "git status" is this command alone, "git status:*" and "git status *" with any
// arguments, "go test*" also words that begin alike.
func specRules(spec string) []rule {
	spec = strings.TrimSpace(spec)
	if spec == "*" {
		return []rule{{all: true}}
	}
	if prefix, ok := strings.CutSuffix(spec, ":*"); ok {
		return patterns(prefix, true)
	}
	if prefix, ok := strings.CutSuffix(spec, " *"); ok {
		return patterns(prefix, true)
	}
	return patterns(spec, strings.HasSuffix(spec, "*"))
}

// patterns returns the rules for a command that is written as words.
func patterns(command string, open bool) []rule {
	words := strings.Fields(command)
	if len(words) == 0 {
		return nil
	}
	var list []rule
	for _, first := range firstWords(words[0]) {
		list = append(list, rule{words: append([]string{first}, words[1:]...), open: open})
	}
	return list
}

// firstWords returns the names that the first word of a rule stands for: "git" is a
// command, "scripts/x.sh" and "./x" are files of the skill. "x.sh" is both, as authors write
// their scripts this way; "python3.11" is a command.
func firstWords(w string) []string {
	if strings.Contains(w, "/") {
		clean := path.Clean(w)
		if path.IsAbs(clean) || clean == ".." || strings.HasPrefix(clean, "../") {
			return nil
		}
		if strings.HasSuffix(w, "/") {
			clean = path.Join(clean, "**")
		}
		return []string{"./" + clean}
	}
	if ext := path.Ext(w); len(ext) > 1 && len(ext) < len(w) && unicode.IsLetter(rune(ext[1])) {
		return []string{w, "./" + w}
	}
	return []string{w}
}

// matches reports whether the rule allows a command, given as its words.
func (r *rule) matches(command []string) bool {
	if r.all {
		return true
	}
	if len(command) < len(r.words) || len(command) > len(r.words) && !r.open || !matchName(r.words[0], command[0]) {
		return false
	}
	for i := 1; i < len(r.words); i++ {
		if !wildcard(strings.TrimPrefix(r.words[i], "./"), strings.TrimPrefix(command[i], "./")) {
			return false
		}
	}
	return true
}

// matchName compares the name of a command or a path with its pattern, whose * does not
// match a slash; "**" at its end matches everything below.
func matchName(pattern, name string) bool {
	if dir, ok := strings.CutSuffix(pattern, "/**"); ok {
		for rest := path.Dir(name); rest != "."; rest = path.Dir(rest) {
			if ok, _ := path.Match(dir, "./"+rest); ok || dir == "." {
				return true
			}
		}
		return dir == "." && strings.HasPrefix(name, "./")
	}
	ok, err := path.Match(pattern, name)
	return ok && err == nil
}

// wildcard compares an argument with its pattern, in which * matches anything but "..":
// "cat docs/*" is for files in docs.
func wildcard(pattern, arg string) bool {
	start, rest, star := strings.Cut(pattern, "*")
	if !star || strings.Contains("/"+arg+"/", "/../") {
		return pattern == arg
	}
	arg, ok := strings.CutPrefix(arg, start)
	for ok {
		middle, next, more := strings.Cut(rest, "*")
		if !more {
			return strings.HasSuffix(arg, middle)
		}
		_, arg, ok = strings.Cut(arg, middle)
		rest = next
	}
	return false
}

// allows reports whether an entry of allowed allows one of the spellings of a command.
func allows(allowed []string, spellings ...[]string) bool {
	for _, r := range rules(allowed) {
		if slices.ContainsFunc(spellings, r.matches) {
			return true
		}
	}
	return false
}

// needed returns the entry of allowed-tools that a command needs: it allows this command, and
// can stand in the frontmatter without quotes.
func needed(allowed, command []string) string {
	name, isFile := strings.CutPrefix(command[0], "./")
	if name = literal(name); isFile {
		if !strings.Contains(name, "/") || strings.HasPrefix(name, toolPrefix) {
			name = "./" + name
		}
		return name
	}
	if len(command) > 1 && command[1] != "" && literal(command[1]) == command[1] {
		for _, r := range rules(allowed) {
			if len(r.words) > 1 && r.words[0] == name { // the author lists single subcommands
				return "Bash(" + name + " " + command[1] + ":*)"
			}
		}
	}
	if slices.Contains(shells[:], name) || slices.Contains(others[:], name) || strings.HasPrefix(name, toolPrefix) {
		return "Bash(" + name + ":*)" // the name alone is that of a tool
	}
	return name
}

// literal returns a name as a pattern, with ? for what has a meaning in entries, in patterns or
// in YAML.
func literal(name string) string {
	var b strings.Builder
	for i, r := range name {
		if r == utf8.RuneError || !unicode.IsLetter(r) && !unicode.IsDigit(r) && !strings.ContainsRune("._+/-", r) || i == 0 && r == '-' {
			r = '?'
		}
		b.WriteRune(r)
	}
	return b.String()
}
