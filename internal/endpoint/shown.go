package endpoint

import (
	"net/url"
	"strings"
)

const hidden = "xxxxx"

// shortestToken is the length of the shortest token that a path may hold, in bytes.
const shortestToken = 20

// HasToken reports whether a URL has what may be a token after /t/ in its path.
func HasToken(address string) bool {
	_, token, _ := cutToken(address)
	return token != ""
}

// cutToken cuts a URL around what may be a token after /t/ in its path; token is "" if there is none.
func cutToken(address string) (before, token, after string) {
	before, rest, ok := strings.Cut(address, "/t/")
	token, _, _ = strings.Cut(rest, "/")
	if !ok || !strings.Contains(before, "://") || len(token) < shortestToken {
		return address, "", ""
	}
	return before + "/t/", token, rest[len(token):]
}

// Shown returns a URL without what may be a secret: a password, a user alone, which is how
// tokens are written, unless of ssh or a database, the values of a query, except settings of a
// database, a fragment, and what follows /t/ in a path, where our servers take a token, if it is as long as
// one. A text that is no URL stays as it is, unless it may hold a password.
func Shown(address string) string {
	if before, token, after := cutToken(address); token != "" {
		address = before + hidden + after
	}
	u, err := url.Parse(address)
	if err != nil {
		scheme, rest, ok := strings.Cut(address, "://")
		rest, _, _ = strings.Cut(rest, "?")
		if at := strings.LastIndex(rest, "@"); at >= 0 {
			rest = hidden + rest[at:]
		}
		if !ok {
			return keywords(address)
		}
		return scheme + "://" + rest
	}
	database := u.Scheme == "postgres" || u.Scheme == "postgresql"
	if !database && u.Host == "" {
		return keywords(address)
	}
	if u.User == nil && u.RawQuery == "" && u.Fragment == "" {
		return address
	}
	if _, ok := u.User.Password(); u.User != nil && !ok && u.Scheme != "ssh" && !database {
		u.User = url.User(hidden)
	}
	var values []string
	for pair := range strings.SplitSeq(u.RawQuery, "&") {
		if key, value, ok := strings.Cut(pair, "="); ok && value != "" && (!database || !isSetting(key)) {
			pair = key + "=" + hidden
		} else if !ok && pair != "" {
			pair = hidden
		}
		values = append(values, pair)
	}
	u.RawQuery, u.Fragment, u.RawFragment = strings.Join(values, "&"), "", ""
	return u.Redacted()
}

// isSetting reports whether a parameter of a database's URL is no secret.
func isSetting(key string) bool {
	switch key {
	case "application_name", "connect_timeout", "dbname", "host", "port", "service", "sslmode", "sslrootcert", "user":
		return true
	}
	return false
}

// keywords returns the keywords that a database is named with (host=… dbname=…) up to the first
// that may be a password. Any other text stays as it is.
func keywords(text string) string {
	before, after, _ := strings.Cut(text, "password")
	if !strings.HasPrefix(strings.TrimSpace(after), "=") {
		return text
	}
	return before + "password=" + hidden
}
