package endpoint

import (
	"bytes"
	"encoding/json"
	"net/http"
	"net/url"
	"strings"
	"unicode"

	"github.com/repertoire-skills/repertoire/internal/tidy"
)

// Message returns the server's message in an answer that is not OK. It begins with RefusedBy if
// the key or token is not accepted.
func (a Answer) Message() string {
	if a.Status >= 300 && a.Status < 400 {
		if where, err := url.Parse(a.Header.Get("Location")); err == nil && where.Host != "" {
			return "redirect to " + where.Scheme + "://" + where.Host + " refused"
		}
		return "redirect refused"
	}
	if Refused(a.Status) {
		return RefusedBy + a.host + ": " + Message(a.Body)
	}
	return Message(a.Body)
}

// RefusedBy begins messages about a server that does not accept a key or token; its host follows.
const RefusedBy = "refused by "

// Refused reports whether a status says that the key or token is not accepted.
func Refused(status int) bool {
	return status == http.StatusUnauthorized || status == http.StatusForbidden
}

// Hint returns the advice that fits the status, to append to a message: about the key,
// about the address, or "".
func (a Answer) Hint(key, address string) string {
	switch {
	case Refused(a.Status):
		return key
	case a.Status == http.StatusNotFound, a.Status == http.StatusMethodNotAllowed:
		return address
	}
	return ""
}

// Message finds the message in the body of an error. Servers put it in
// {"error": {"message": …}}, {"error": …}, {"message": …} or {"detail": …}.
func Message(body []byte) string {
	body = bytes.TrimSpace(body)
	var v any
	if json.Unmarshal(body, &v) == nil {
		if text := messageIn(v); text != "" {
			return text
		}
	}
	switch {
	case len(body) == 0:
		return "no message"
	case body[0] == '<':
		return "an HTML page"
	}
	return string(body)
}

func messageIn(v any) string {
	switch v := v.(type) {
	case string:
		return v
	case []any:
		if len(v) > 0 {
			return messageIn(v[0])
		}
	case map[string]any:
		for _, key := range []string{"error", "message", "detail", "msg"} {
			if text := messageIn(v[key]); text != "" {
				return text
			}
		}
	}
	return ""
}

// Clip returns the first n characters of a text for a server. A blank text becomes a
// space, because servers refuse empty strings.
func Clip(text string, n int) string {
	if strings.TrimSpace(text) == "" {
		return " "
	}
	return tidy.First(text, n)
}

// Tidy prepares text from outside for a message: on one line, without control
// characters (it may reach a terminal), and short. Remove secrets before you call it:
// shortening could leave a part of one.
func Tidy(text string) string {
	text = strings.Map(func(r rune) rune {
		if unicode.IsPrint(r) {
			return r
		}
		return ' '
	}, text)
	return tidy.Shorten(strings.Join(strings.Fields(text), " "), 200)
}
