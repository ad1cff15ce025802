package intent

import (
	"slices"
	"strings"

	"github.com/repertoire-skills/repertoire/internal/words"
)

// isShell reports whether the line is a shell command. After a "$ ", anything is one.
// Without it, the names of commands also occur in requests ("git commit messages",
// "find duplicates"), so the rest of the line must look like arguments, and a line
// that may be a topic ("git rebase") is not a command.
func isShell(line string) bool {
	if rest, ok := strings.CutPrefix(line, "$ "); ok {
		return strings.TrimSpace(rest) != ""
	}
	line = strings.TrimPrefix(line, "!")
	if strings.HasSuffix(line, "?") || strings.ContainsAny(line, "`\n") {
		return false
	}
	parts := strings.FieldsFunc(line, func(r rune) bool { return r == '|' || r == '&' || r == ';' })
	return len(parts) > 0 && !slices.ContainsFunc(parts, func(part string) bool { return !isCommand(strings.Fields(part)) })
}

// isCommand reports whether the words are one command with its arguments.
func isCommand(fields []string) bool {
	if len(fields) > 0 && fields[0] == "sudo" {
		fields = fields[1:]
	}
	if len(fields) == 0 {
		return false
	}
	verbs, known := shellCommands[fields[0]]
	args := fields[1:]
	switch {
	case !known:
		return strings.HasPrefix(fields[0], "./") && areArguments(args)
	case verbs == "":
		return areArguments(args) && (len(args) > 0 || bareCommands()[fields[0]])
	case len(args) == 0:
		return false
	case slices.Contains(strings.Fields(verbs), args[0]):
		return areArguments(args[1:])
	}
	// After an unknown verb, only a flag shows that this is not a topic.
	flag := slices.ContainsFunc(args, func(a string) bool { return len(a) > 1 && a[0] == '-' })
	return flag && areArguments(args[1:])
}

// areArguments reports whether all words are flags, paths, assignments, quoted strings
// or names of branches and targets, so that none is prose.
func areArguments(fields []string) bool {
	quote := "" // the quote that is open
	for i, w := range fields {
		switch {
		case quote != "":
			if strings.HasSuffix(w, quote) {
				quote = ""
			}
		case w[0] == '"' || w[0] == '\'':
			if quote = w[:1]; len(w) > 1 && strings.HasSuffix(w, quote) {
				quote = ""
			}
		case strings.HasSuffix(w, ",") || strings.HasSuffix(w, ".") && strings.Trim(w, "./") != "":
			return false
		case i > 0 && fields[i-1][0] == '-': // the value of a flag
		case w == "." || w == ".." || w[0] == '-' || argumentWords()[w]:
		case !strings.ContainsAny(w, "./=:@~*$_<>") || strings.Trim(w, "0123456789.") == "": // "python 3.12" is a topic
			return false
		}
	}
	return true
}

// noVerb is the entry in shellCommands of a command that has no verbs.
const noVerb = "-"

var (
	// shellCommands maps a command to its verbs. Only arguments follow a verb. ""
	// means that arguments follow the command itself.
	shellCommands = map[string]string{
		"git": "status log diff pull push fetch branch checkout switch stash show remote add reset restore clone blame",
		"npm": "test install ci run start", "pnpm": "test install run dev build", "yarn": "test install run dev build add",
		"go": "test build run vet mod fmt", "cargo": "test build run check fmt clippy", "docker": "ps images compose logs exec",
		"kubectl": "get describe logs apply delete", "pip": "install list freeze", "make": "test build all install clean lint check run",
		"brew": "install update upgrade list", "apt": "install update upgrade", "apt-get": "install update upgrade",
		"ls": "", "cd": "", "pwd": "", "cat": "", "rm": "", "mkdir": "", "cp": "", "mv": "", "grep": "", "rg": "", "wc": "", "chmod": "", "chown": "",
		"curl": "", "wget": "", "ssh": "", "ps": "", "df": "", "du": "", "whoami": "", "xargs": "", "pytest": "",
		// Everyday words: only a flag makes them commands.
		"awk": noVerb, "echo": noVerb, "head": noVerb, "node": noVerb, "npx": noVerb, "python": noVerb, "python3": noVerb, "sed": noVerb,
		"sort": noVerb, "tail": noVerb, "tar": noVerb, "touch": noVerb, "uniq": noVerb,
	}
	// bareCommands are commands, not topics, even if no argument follows.
	bareCommands  = words.Set(`ls pwd ps df du whoami`)
	argumentWords = words.Set(`origin main master develop upstream up down pods nodes deployments services install test build dev start src dist`)
)
