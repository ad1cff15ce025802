package client

import (
	"slices"
	"strings"
)

// The forms of the entry of an MCP server.

func bare(_ string, words []string) Object {
	return Object{{"command", words[0]}, {"args", words[1:]}}
}

func stdio(name string, words []string) Object {
	return append(Object{{"type", "stdio"}}, bare(name, words)...)
}

func custom(name string, words []string) Object {
	return append(Object{{"source", "custom"}}, append(bare(name, words), Member{"env", Object{}})...)
}

func localTools(name string, words []string) Object {
	return append(Object{{"type", "local"}}, append(bare(name, words), Member{"tools", []string{"*"}})...)
}

func localList(_ string, words []string) Object {
	return Object{{"type", "local"}, {"command", words}, {"enabled", true}}
}

func gooseExtension(name string, words []string) Object {
	return Object{{"type", "stdio"}, {"name", name}, {"enabled", true}, {"cmd", words[0]}, {"args", words[1:]}, {"envs", Object{}}, {"timeout", 300}}
}

// The forms of the entry of a server at a URL.

// remote returns a form with some members before and after the URL. variable is how the
// client refers to the environment variable VAR.
func remote(before Object, urlKey, variable string, after ...Member) func(name, url, env string) Object {
	return func(_, url, env string) Object {
		entry := append(slices.Clone(before), Member{urlKey, url})
		if env != "" {
			entry = append(entry, bearer(strings.ReplaceAll(variable, "VAR", env)))
		}
		return append(entry, after...)
	}
}

func bearer(token string) Member {
	return Member{"headers", Object{{"Authorization", "Bearer " + token}}}
}

func bearerVariable(_, url, env string) Object {
	entry := Object{{"url", url}}
	if env != "" {
		entry = append(entry, Member{"bearer_token_env_var", env})
	}
	return entry
}

func gooseRemote(name, url, env string) Object {
	entry := Object{{"type", "streamable_http"}, {"name", name}, {"enabled", true}, {"uri", url}}
	if env != "" {
		entry = append(entry, bearer("${"+env+"}"), Member{"env_keys", []string{env}})
	}
	return append(entry, Member{"envs", Object{}}, Member{"timeout", 300})
}

// The forms of a handler. The time limit is far above what a hook takes, and
// far below what people wait for.

func commandOnly(_, line string) Object { return Object{{"command", line}} }

func commandSeconds(_, line string) Object {
	return Object{{"type", "command"}, {"command", line}, {"timeout", 5}}
}

// hookName is the name of our hooks where hooks have one.
const hookName = "skills"

func namedMilliseconds(_, line string) Object {
	return Object{{"name", hookName}, {"type", "command"}, {"command", line}, {"timeout", 5000}}
}

func perShell(os, line string) Object {
	key := "bash"
	if os == "windows" {
		key = "powershell"
	}
	return Object{{"type", "command"}, {key, line}, {"timeoutSec", 5}}
}
