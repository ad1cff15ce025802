package openai

import (
	"cmp"
	"crypto/sha256"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"time"
	"unicode"

	"github.com/repertoire-skills/repertoire/internal/endpoint"
)

// checkConfig checks the settings other than the address, and fills in defaults.
func checkConfig(cfg *Config) error {
	switch {
	case cfg.Model == "":
		return errors.New("embedding endpoint: model is empty")
	case cfg.Encoding != "" && cfg.Encoding != "float" && cfg.Encoding != "base64":
		return fmt.Errorf("embedding endpoint: encoding %q is neither float nor base64", cfg.Encoding)
	case cfg.Dimensions < 0 || cfg.MaxBatch < 0 || cfg.MaxChars < 0 || cfg.Timeout < 0:
		return errors.New("embedding endpoint: Dimensions, MaxBatch, MaxChars and Timeout must not be negative")
	}
	for name, value := range cfg.Headers {
		if name == "" || strings.ContainsFunc(name, notInName) || strings.ContainsFunc(value, unicode.IsControl) {
			return fmt.Errorf("embedding endpoint: header %q is malformed", name)
		}
	}
	cfg.Encoding = cmp.Or(cfg.Encoding, "float")
	cfg.MaxBatch = cmp.Or(cfg.MaxBatch, 32)
	cfg.MaxChars = cmp.Or(cfg.MaxChars, 8000)
	cfg.Timeout = cmp.Or(cfg.Timeout, time.Minute)
	return nil
}

// notInName reports whether r may not be in the name of a header. HTTP allows more
// characters than these, but no header uses them.
func notInName(r rune) bool {
	return r > unicode.MaxASCII || !unicode.IsLetter(r) && !unicode.IsDigit(r) && r != '-' && r != '_'
}

// An address is a checked base URL.
type address struct {
	url     string // without trailing slash and query
	version string // Azure's api-version; "" means none
	host    string // in lower case, without the port
	exposed bool   // others can read what is sent to it
}

// parseBase checks a base URL. Its errors never repeat the URL.
func parseBase(raw, model string) (address, error) {
	u, err := endpoint.ParseBase(raw, "api-version")
	if err != nil {
		return address{}, fmt.Errorf("embedding endpoint: %w", err)
	}
	a := address{version: u.Query().Get("api-version"), host: u.Hostname(), exposed: endpoint.Exposed(u)}
	base := url.URL{Scheme: u.Scheme, Host: u.Host, Path: u.Path, RawPath: u.RawPath}
	// People also paste the address of the endpoint or of the Azure resource.
	a.url = strings.TrimRight(strings.TrimSuffix(strings.TrimRight(base.String(), "/"), "/embeddings"), "/")
	switch {
	case !a.azure() || strings.Trim(u.Path, "/") != "":
	case a.version == "":
		a.url += "/openai/v1"
	default: // the older path, of a deployment
		a.url += "/openai/deployments/" + url.PathEscape(model)
	}
	return a, nil
}

func (a address) azure() bool {
	zones := []string{".openai.azure.com", ".openai.azure.us", ".cognitiveservices.azure.com", ".services.ai.azure.com"}
	return slices.ContainsFunc(zones, func(zone string) bool { return strings.HasSuffix(a.host, zone) })
}

// hint returns advice for an address at which nothing was found.
func (a address) hint() string {
	if strings.Contains(a.url, "/v1") || strings.Contains(a.url, "/deployments/") {
		return " (check the base URL)"
	}
	return " (the base URL usually ends in /v1)"
}

// keyHint returns advice for a key that was not accepted.
func keyHint(key, name string) string {
	switch {
	case key != "":
		return " (check the key in " + name + ")"
	case name != "":
		return " (no key was sent: " + name + " is not set)"
	}
	return " (no key was sent)"
}

// readKey returns the key and the name of its variable. Both are "" if env says to send
// no key.
func readKey(env string) (key, name string, err error) {
	if env == "-" {
		return "", "", nil
	}
	name = cmp.Or(env, "OPENAI_API_KEY")
	if key, err = endpoint.ReadKey(name, env != ""); err != nil {
		return "", "", fmt.Errorf("embedding endpoint: %w", err)
	}
	return key, name, nil
}

// checkSecrecy refuses to send a credential over a connection that others can read.
// OPENAI_API_KEY is often set for other programs, so people may send it unknowingly.
func checkSecrecy(cfg *Config, a address, key, keyName string) error {
	if cfg.AllowInsecure || !a.exposed {
		return nil
	}
	if key != "" {
		return fmt.Errorf("embedding endpoint: the key in %s would go over plain http to %s; use https, no key (\"-\"), or allow it", keyName, a.host)
	}
	for name := range cfg.Headers {
		switch strings.ToLower(name) {
		case "authorization", "proxy-authorization", "api-key", "x-api-key", "cookie":
			return fmt.Errorf("embedding endpoint: the header %s would go over plain http to %s; use https or allow it", name, a.host)
		}
	}
	return nil
}

// identity returns the identifier of the model. Its readable part is for people. The hash
// also covers how texts are prepared, and separates fields that the readable part may
// run together.
func identity(base string, e *Embedder) string {
	all := fmt.Sprintf("%q %q %d %q %q %d", base, e.model, e.dimensions, e.query, e.doc, e.maxChars)
	return fmt.Sprintf("openai %s %s dim=%d %.6x", base, e.model, e.dimensions, sha256.Sum256([]byte(all)))
}
