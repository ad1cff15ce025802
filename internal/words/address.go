package words

import (
	"net/url"
	"strings"
)

const hidden = "xxxxx"

// Address returns a URL without what may be a secret: a password, a user alone unless of ssh, which
// is how tokens are written, the values of a query, and a fragment. A text that is no URL stays
// as it is, unless it may hold a password.
func Address(address string) string {
	u, err := url.Parse(address)
	if err != nil {
		scheme, rest, ok := strings.Cut(address, "://")
		rest, _, _ = strings.Cut(rest, "?")
		if at := strings.LastIndex(rest, "@"); at >= 0 {
			rest = hidden + rest[at:]
		}
		if !ok {
			return address
		}
		return scheme + "://" + rest
	}
	if u.Host == "" || u.User == nil && u.RawQuery == "" && u.Fragment == "" {
		return address
	}
	if _, ok := u.User.Password(); u.User != nil && !ok && u.Scheme != "ssh" {
		u.User = url.User(hidden)
	}
	var values []string
	for pair := range strings.SplitSeq(u.RawQuery, "&") {
		if key, value, ok := strings.Cut(pair, "="); ok && value != "" {
			pair = key + "=" + hidden
		} else if pair != "" {
			pair = hidden
		}
		values = append(values, pair)
	}
	u.RawQuery, u.Fragment, u.RawFragment = strings.Join(values, "&"), "", ""
	return u.Redacted()
}
