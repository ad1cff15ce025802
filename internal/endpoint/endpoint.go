// Package endpoint has what all clients of model servers need: the configured address
// and key, an HTTP client that follows no redirects, and answers of bounded size.
//
// The one rule: no error holds a secret.
package endpoint

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"slices"
	"strings"
	"unicode"
)

// ParseBase checks the base URL of a server and returns it with its scheme and host in
// lower case. It allows only the named query parameters. Errors never repeat the URL,
// which may hold a password in an unexpected place.
func ParseBase(raw string, parameters ...string) (*url.URL, error) {
	u, err := url.Parse(strings.TrimSpace(raw))
	switch {
	case raw == "":
		return nil, errors.New("base URL is empty")
	case err != nil:
		return nil, errors.New("base URL is malformed")
	case u.Scheme != "http" && u.Scheme != "https":
		return nil, errors.New("base URL does not start with http:// or https://")
	case u.Hostname() == "":
		return nil, errors.New("base URL has no host")
	case u.User != nil:
		return nil, errors.New("base URL holds a user or password; name a variable for the key instead")
	case u.Fragment != "":
		return nil, errors.New("base URL has a fragment")
	}
	for name := range u.Query() {
		if !slices.Contains(parameters, name) {
			return nil, errors.New("base URL has a query" + otherThan(parameters))
		}
	}
	u.Host, u.ForceQuery = strings.ToLower(u.Host), false
	return u, nil
}

func otherThan(parameters []string) string {
	if len(parameters) == 0 {
		return ""
	}
	return " other than " + strings.Join(parameters, ", ")
}

// Exposed reports whether others can read what is sent to u, because it goes over plain
// http to another machine.
func Exposed(u *url.URL) bool {
	return u.Scheme == "http" && !IsHere(u.Hostname())
}

// CheckKeyName checks the name of an environment variable for a key.
func CheckKeyName(name string) error {
	if strings.Trim(name, "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_") != "" {
		// Do not repeat the name: some people put the key itself here.
		return errors.New("the name of the variable for the key holds more than capitals, digits and underscores; is it the key itself?")
	}
	return nil
}

// ReadKey returns the key in the environment variable with this name; "" means that the
// variable is not set, which is an error if the key is required.
func ReadKey(name string, required bool) (string, error) {
	if err := CheckKeyName(name); err != nil {
		return "", err
	}
	key := strings.TrimSpace(os.Getenv(name))
	if strings.ContainsFunc(key, func(r rune) bool { return r > unicode.MaxASCII || !unicode.IsPrint(r) }) {
		return "", fmt.Errorf("the key in %s holds characters that no key has", name)
	}
	if required && key == "" {
		return "", fmt.Errorf("environment variable %s for the key is not set", name)
	}
	return key, nil
}

// Client returns a copy of c that refuses redirects; a nil c means a default client. A
// redirect would send the texts, and credentials in headers that the standard library
// does not know, to a host that nobody configured.
func Client(c *http.Client) http.Client {
	if c == nil {
		c = &http.Client{}
	}
	client := *c
	client.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	return client
}

// An Answer is an HTTP response, whatever its status.
type Answer struct {
	Status int
	Header http.Header
	Body   []byte
	Cut    bool // the body was longer than the limit
	host   string
}

// Send sends req and reads up to limit bytes of the answer. Its errors do not repeat the
// URL, which the caller knows.
func Send(client *http.Client, req *http.Request, limit int) (Answer, error) {
	resp, err := Do(client, req)
	if err != nil {
		return Answer{}, err
	}
	return Read(resp, limit)
}

// hostOf returns the host that has answered, unless a transport of somebody else does not say it.
func hostOf(resp *http.Response) string {
	if resp.Request == nil || resp.Request.URL == nil {
		return "the server"
	}
	return resp.Request.URL.Host
}

// Do sends req, as Send does, and leaves the response to the caller.
func Do(client *http.Client, req *http.Request) (*http.Response, error) {
	resp, err := client.Do(req)
	if outer, ok := errors.AsType[*url.Error](err); ok {
		err = outer.Err
	}
	return resp, err
}

// Read reads up to limit bytes of a response, and closes it.
func Read(resp *http.Response, limit int) (Answer, error) {
	defer resp.Body.Close()
	var all bytes.Buffer
	all.Grow(int(min(max(resp.ContentLength, 0), int64(limit)+1)) + bytes.MinRead) // so that it seldom grows, which takes several times as much
	_, err := all.ReadFrom(io.LimitReader(resp.Body, int64(limit)+1))
	body := all.Bytes()
	if err != nil {
		return Answer{}, err
	}
	n := min(len(body), limit)
	return Answer{resp.StatusCode, resp.Header, body[:n], n < len(body), hostOf(resp)}, nil
}

// OK reports whether the status is 2xx.
func (a Answer) OK() bool { return a.Status >= 200 && a.Status <= 299 }
