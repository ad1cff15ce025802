package config

import (
	"errors"
	"fmt"
	"os"
	"strings"
)

// leastToken is the least length of a token in bytes. People need not remember tokens,
// so they can be long.
const leastToken = 16

// Token returns the token that requests to a server must bear, from a file, or
// from $REPERTOIRE_TOKEN if file is ""; "" means that there is none. It must not
// be a flag, because everyone on the machine sees flags.
func Token(file string) (string, error) {
	const variable = "REPERTOIRE_TOKEN"
	token, from := os.Getenv(variable), variable
	if file != "" {
		data, err := os.ReadFile(file)
		if err != nil {
			return "", fmt.Errorf("reading token: %w", err)
		}
		token, from = string(data), file
	}
	token = strings.TrimSpace(token)
	switch {
	case token == "" && file == "":
		return "", nil
	case len(token) < leastToken:
		return "", fmt.Errorf("the token in %s has %d characters; take %d or more, such as what \"openssl rand -hex 32\" prints", from, len(token), leastToken)
	case strings.ContainsFunc(token, func(r rune) bool { return r <= ' ' || r > '~' }):
		return "", errors.New("the token in " + from + " holds blanks or characters that are not ASCII")
	}
	return token, nil
}
