package registries

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"strings"
	"syscall"
	"time"

	"github.com/repertoire-skills/repertoire/internal/endpoint"
)

// maxAnswer is how many bytes of an answer are read: fifty skills take some fifty thousand. A server has
// several of them in memory at a time.
const maxAnswer = 1 << 20

// A call asks one registry.
type call struct {
	ctx    context.Context
	client *Client
	*Registry
	asOf time.Time // when the oldest answer was given, if it was a kept one; the zero time means now
	anew bool      // no kept answer will do, as for what is installed
	got  []got     // answers that are not kept yet
}

// A got is an answer with its name in the cache.
type got struct {
	name string
	data []byte
}

// keep keeps the answers, which somebody has understood: a web page in their place is asked for anew.
func (c *call) keep() {
	for _, g := range c.got {
		c.client.cache.write(g.name, g.data)
	}
	c.got = nil
}

// A WaitError says that a registry wants no question before a time.
type WaitError struct{ Until time.Time }

func (e *WaitError) Error() string {
	return fmt.Sprintf("it wants to be asked again from %s on", e.Until.Local().Format(time.TimeOnly))
}

// get asks for a path of the registry, and reads the answer as JSON.
func (c *call) get(path string, query url.Values, into any) error {
	if len(query) > 0 {
		path += "?" + query.Encode()
	}
	data, err := c.ask(http.MethodGet, path, nil)
	if err == nil {
		err = readJSON(data, into)
	}
	if err != nil {
		c.got = nil // what is not understood is not kept
	}
	return err
}

// readJSON reads an answer.
func readJSON(data []byte, into any) error {
	if err := json.Unmarshal(data, into); err != nil {
		return &notOneError{what: "it answers " + kindOf(data)}
	}
	return nil
}

// A notOneError says that a server is no registry of the form.
type notOneError struct {
	what string
	gone bool // it has nothing at the path
}

func (e *notOneError) Error() string { return e.what }

// kindOf says what an answer is that should be JSON of a form.
func kindOf(data []byte) string {
	data = bytes.TrimSpace(data)
	switch {
	case len(data) == 0:
		return "nothing"
	case data[0] == '<':
		return "an HTML page"
	case json.Valid(data):
		return "JSON of another form"
	}
	return "something that is no JSON"
}

// ask returns the answer to a request. A fresh answer that is kept is used again; an older one is
// used if the registry cannot be asked.
func (c *call) ask(method, path string, body []byte) ([]byte, error) {
	key, err := c.key()
	if err != nil {
		return nil, err
	}
	name := c.client.cache.name(method, c.URL+path, key, body)
	old, at := c.client.cache.read(name)
	if c.anew {
		old = nil
	}
	if old != nil && c.client.now().Sub(at).Abs() < fresh {
		return old, nil
	}
	data, err := c.send(method, path, key, body)
	if err == nil {
		c.got = append(c.got, got{name, data})
		return data, nil
	}
	if _, no := errors.AsType[*notOneError](err); old == nil || no {
		return nil, err
	}
	if c.asOf.IsZero() || at.Before(c.asOf) {
		c.asOf = at
	}
	return old, nil
}

// key returns the key of the registry; "" means that it has none.
func (c *call) key() (string, error) {
	if c.KeyEnv == "" {
		return "", nil
	}
	return endpoint.ReadKey(c.KeyEnv, true)
}

// patience is the longest pause that a registry may ask for within one command. A longer one is
// remembered.
const patience = time.Second

// send sends a request, once more if the registry asks for a short pause.
func (c *call) send(method, path, key string, body []byte) ([]byte, error) {
	if until := c.client.cache.waiting(c.URL); until.After(c.client.now()) {
		return nil, &WaitError{until}
	}
	for again := true; ; again = false {
		a, err := c.sendOnce(method, path, key, body)
		if err != nil {
			return nil, c.explained(err)
		}
		if a.Status != http.StatusTooManyRequests && a.Status != http.StatusServiceUnavailable {
			return a.Body, c.checked(a, key)
		}
		pause := min(endpoint.RetryAfter(a.Header.Get("Retry-After"), c.client.now()), maxWait)
		if again && pause <= patience {
			if err := endpoint.Sleep(c.ctx, cmp.Or(pause, patience)); err != nil {
				return nil, c.explained(err)
			}
			continue
		}
		until := c.client.now().Add(cmp.Or(pause, patience))
		c.client.cache.wait(c.URL, until)
		return nil, fmt.Errorf("%d %s: %w", a.Status, http.StatusText(a.Status), &WaitError{until})
	}
}

func (c *call) sendOnce(method, path, key string, body []byte) (endpoint.Answer, error) {
	req, err := http.NewRequestWithContext(c.ctx, method, c.URL+path, bytes.NewReader(body))
	if err != nil {
		return endpoint.Answer{}, errors.New("its URL is malformed")
	}
	req.Header.Set("User-Agent", "repertoire")
	req.Header.Set("Accept", "application/json")
	if body != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	if key != "" {
		req.Header.Set("Authorization", "Bearer "+key)
	}
	client := &c.client.http
	if c.referrer != "" && !c.loopback {
		client = &c.client.abroad
	}
	return endpoint.Send(client, req, maxAnswer)
}

// A deadError says that a registry does not answer at all.
type deadError struct{ what string }

func (e *deadError) Error() string { return e.what }

// A quoteError is an error in which words of a registry stand, for people to read.
type quoteError struct {
	error
	brief string // what happened, without these words
}

func (e *quoteError) Unwrap() error { return e.error }

// briefly returns the message of an error without any word of a registry, for models.
func briefly(err error) string {
	if quote, ok := errors.AsType[*quoteError](err); ok {
		return quote.brief
	}
	return err.Error()
}

// explained says in plain words why a registry does not answer.
func (c *call) explained(err error) error {
	dns, isDNS := errors.AsType[*net.DNSError](err)
	switch {
	case errors.Is(err, context.DeadlineExceeded):
		return &deadError{"it did not answer in time"}
	case errors.Is(err, context.Canceled):
		return err
	case errors.Is(err, syscall.ECONNREFUSED):
		return &deadError{"nothing listens there"}
	case isDNS && dns.IsNotFound:
		return &deadError{"its host is not known; is there a network?"}
	case isDNS, errors.Is(err, syscall.ENETUNREACH), errors.Is(err, syscall.EHOSTUNREACH):
		return &deadError{"there is no way to it; is there a network?"}
	}
	return &quoteError{&deadError{endpoint.Tidy(err.Error())}, "it does not answer as a web server does"}
}

// checked returns the error in an answer, if it is one.
func (c *call) checked(a endpoint.Answer, key string) error {
	status := strings.TrimSpace(fmt.Sprintf("%d %s", a.Status, http.StatusText(a.Status)))
	message := endpoint.Tidy(endpoint.Scrubber(key, nil).Replace(a.Message()))
	quote := func(err error) error { return &quoteError{err, "it answers " + status} }
	switch {
	case a.Cut:
		return fmt.Errorf("its answer has more than %d bytes", maxAnswer)
	case a.OK():
		return nil
	case a.Status == http.StatusUnauthorized, a.Status == http.StatusForbidden:
		return quote(&keyError{fmt.Sprintf("%s: %s%s", status, message, endpoint.KeyHint(key, c.KeyEnv))})
	case a.Status >= 300 && a.Status < 400:
		return quote(&notOneError{what: message + "; name the address that it leads to"})
	case a.Status == http.StatusNotFound, a.Status == http.StatusMethodNotAllowed, a.Status == http.StatusNotImplemented:
		return &notOneError{status, true}
	}
	return quote(fmt.Errorf("%s: %s", status, message))
}

// A keyError says that a registry wants a key, or another one.
type keyError struct{ what string }

func (e *keyError) Error() string { return e.what }

// queryText returns a text as it is asked: on one line, and not longer than a question is.
func queryText(text string, most int) string {
	return strings.TrimSpace(endpoint.Clip(strings.Join(strings.Fields(text), " "), most))
}
