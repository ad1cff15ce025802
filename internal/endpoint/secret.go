package endpoint

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"unicode"
)

// ReadOpenAIKey returns the key for a server that speaks OpenAI's protocol, and the name of
// its variable: env, which must be set, or OPENAI_API_KEY if env is "". Both are "" if env
// is "-".
func ReadOpenAIKey(env string) (key, name string, err error) {
	if env == "-" {
		return "", "", nil
	}
	name = cmp.Or(env, "OPENAI_API_KEY")
	if key, err = ReadKey(name, env != ""); err != nil {
		return "", "", err
	}
	return key, name, nil
}

// KeyHint returns advice for a key that was not accepted.
func KeyHint(key, name string) string {
	switch {
	case key != "" && name != "":
		return " (check the key in " + name + ")"
	case key != "":
		return " (check the key)"
	case name != "":
		return " (no key was sent: " + name + " is not set)"
	}
	return " (no key was sent: name its variable)"
}

// CheckHeaders returns an error if a header is malformed.
func CheckHeaders(headers map[string]string) error {
	for name, value := range headers {
		if name == "" || strings.ContainsFunc(name, notInName) || strings.ContainsFunc(value, unicode.IsControl) {
			return fmt.Errorf("header %q is malformed", name)
		}
	}
	return nil
}

// notInName reports whether r may not be in the name of a header. HTTP allows more
// characters than these, but no header uses them.
func notInName(r rune) bool {
	return r > unicode.MaxASCII || !unicode.IsLetter(r) && !unicode.IsDigit(r) && r != '-' && r != '_'
}

// CheckSecrecy refuses to send a credential over a connection that others can read. keyName
// is the variable of the key; "" means that it comes from elsewhere.
func CheckSecrecy(a Address, key, keyName string, headers map[string]string) error {
	if !a.Exposed {
		return nil
	}
	if key != "" {
		from := ""
		if keyName != "" {
			from = " in " + keyName // often set for other programs, so people may send it unknowingly
		}
		return fmt.Errorf("the key%s would go over plain http to %s; use https, no key (\"-\"), or allow it", from, a.Host)
	}
	for name := range headers {
		switch strings.ToLower(name) {
		case "authorization", "proxy-authorization", "api-key", "x-api-key", "cookie":
			return fmt.Errorf("the header %s would go over plain http to %s; use https or allow it", name, a.Host)
		}
	}
	return nil
}

// Scrubber returns what replaces the key and the values of headers in messages from a
// server. It keeps short values, which are no secrets and occur in any text.
func Scrubber(key string, headers map[string]string) *strings.Replacer {
	secrets := []string{key}
	for _, value := range headers {
		for _, word := range strings.Fields(value) { // "Bearer" and its token
			if len(word) >= 8 {
				secrets = append(secrets, word)
			}
		}
	}
	// The longest first: replacing a prefix first would leave the rest of a secret.
	slices.SortFunc(secrets, func(a, b string) int { return len(b) - len(a) })
	var pairs []string
	for _, secret := range secrets {
		if secret != "" {
			pairs = append(pairs, secret, "[secret]")
		}
	}
	return strings.NewReplacer(pairs...)
}
