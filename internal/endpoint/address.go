package endpoint

import (
	"net/url"
	"slices"
	"strings"
)

// An Address is the checked base URL of a server that speaks OpenAI's protocol.
type Address struct {
	URL     string // without trailing slash and query
	Version string // Azure's api-version; "" means none
	Host    string // in lower case, without the port
	Exposed bool   // others can read what is sent to it
	Azure   bool   // one of Azure's own hosts
}

// ParseAddress checks a base URL. People also paste the address of a method, such as
// "/chat/completions", or of the Azure resource, which takes the model into its path. Errors
// never repeat the URL.
func ParseAddress(raw, model, method string) (Address, error) {
	u, err := ParseBase(raw, "api-version")
	if err != nil {
		return Address{}, err
	}
	a := Address{Version: u.Query().Get("api-version"), Host: u.Hostname(), Exposed: Exposed(u), Azure: isAzure(u.Hostname())}
	base := url.URL{Scheme: u.Scheme, Host: u.Host, Path: u.Path, RawPath: u.RawPath}
	a.URL = strings.TrimRight(base.String(), "/")
	for _, name := range []string{method, "/chat/completions", "/embeddings"} {
		a.URL = strings.TrimRight(strings.TrimSuffix(a.URL, name), "/")
	}
	switch {
	case !a.Azure || strings.Trim(u.Path, "/") != "":
	case a.Version == "":
		a.URL += "/openai/v1"
	default: // the older path, of a deployment
		a.URL += "/openai/deployments/" + url.PathEscape(model)
	}
	return a, nil
}

func isAzure(host string) bool {
	zones := []string{".openai.azure.com", ".openai.azure.us", ".cognitiveservices.azure.com", ".services.ai.azure.com"}
	return slices.ContainsFunc(zones, func(zone string) bool { return strings.HasSuffix(host, zone) })
}

// Hint returns advice for an address at which nothing was found.
func (a Address) Hint() string {
	if strings.Contains(a.URL, "/v1") || strings.Contains(a.URL, "/deployments/") {
		return " (check the base URL)"
	}
	return " (the base URL usually ends in /v1)"
}
