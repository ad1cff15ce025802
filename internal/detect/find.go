// Package detect finds embedding servers on this machine: Ollama, LM Studio, llama.cpp,
// vLLM, TEI, and others that speak OpenAI's protocol. It lists their models that embed,
// times one, and proposes the configuration for it.
//
// The one rule: it asks loopback addresses only, sends no key, follows no redirect, and
// waits for no server for long.
package detect

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/repertoire-skills/repertoire/embed"
	"github.com/repertoire-skills/repertoire/embed/openai"
	"github.com/repertoire-skills/repertoire/internal/endpoint"
)

// Ports returns the ports on which the known servers listen unless told otherwise: those
// of Ollama, LM Studio, llama.cpp (and TEI in a container), vLLM and TEI.
func Ports() []int { return []int{11434, 1234, 8080, 8000, 3000} }

// Options say where to look. A nil *Options is all zero values.
type Options struct {
	Ports   []int         // nil means Ports()
	Timeout time.Duration // limits each request; 0 means .8 s
}

// The limits of what servers may answer, and of what they are asked.
const (
	maxAnswer = 1 << 20 // bytes; LM Studio describes 1,000 models in half of that
	maxShown  = 64      // models that Ollama is asked about one by one
	trial     = 10 * time.Second
)

// A Server is a program that answers on a port.
type Server struct {
	Kind    string  `json:"server"`            // such as "Ollama"; "" if it does not list models
	Address string  `json:"address"`           // the base URL, which ends in /v1
	Models  []Model `json:"models"`            // not nil: the models that embed, as far as the server or their names say
	Problem string  `json:"problem,omitempty"` // what is wrong with it; "" means nothing
}

// A Model is a model on a server.
type Model struct {
	Name  string `json:"name"`
	Dim   int    `json:"dimension"` // of its vectors; 0 means not known
	InUse bool   `json:"in_use"`    // the configuration names it, see Mark
}

// Find asks all ports at once and returns the servers that answer, in the order of the
// ports. It takes at most two timeouts, unless a server with one model that may embed
// computes a vector: that may take some seconds more.
func Find(ctx context.Context, o *Options) []Server {
	if o == nil {
		o = new(Options)
	}
	ports := o.Ports
	if ports == nil {
		ports = Ports()
	}
	f := &finder{client: localClient(), timeout: cmp.Or(o.Timeout, 800*time.Millisecond)}
	found := each(ports, func(port int) Server { return f.server(ctx, port) })
	return slices.DeleteFunc(found, func(s Server) bool { return s.Address == "" })
}

// each returns f of each element of list; the calls run at once.
func each[T, U any](list []T, f func(T) U) []U {
	out := make([]U, len(list))
	var wg sync.WaitGroup
	for i, x := range list {
		wg.Go(func() { out[i] = f(x) })
	}
	wg.Wait()
	return out
}

// localClient returns a client that connects to loopback addresses only, without a proxy.
func localClient() http.Client {
	dial := func(ctx context.Context, network, address string) (net.Conn, error) {
		host, _, err := net.SplitHostPort(address)
		if ip := net.ParseIP(host); err != nil || ip == nil || !ip.IsLoopback() {
			return nil, fmt.Errorf("%s is not on this machine", address)
		}
		var d net.Dialer
		return d.DialContext(ctx, network, address)
	}
	// A server that serves one connection at a time must not wait for an idle one.
	return endpoint.Client(&http.Client{Transport: &http.Transport{
		DialContext: dial, DisableCompression: true, DisableKeepAlives: true, MaxResponseHeaderBytes: 64 << 10,
	}})
}

// finder asks the ports of one call of Find.
type finder struct {
	client  http.Client
	timeout time.Duration
}

// server returns the server on a port; a zero Server if there is none.
func (f *finder) server(ctx context.Context, port int) Server {
	host := f.host(ctx, port)
	if host == "" {
		return Server{}
	}
	base := "http://" + host
	s := Server{Address: base + "/v1", Models: []Model{}}
	list, err := f.list(ctx, base)
	if err != nil {
		s.Problem = err.Error()
		return s
	}
	s.Kind = list.kind
	if s.Kind == kindOllama {
		f.show(ctx, base, list.models)
	}
	// A server that was started for one model; others would have to load it for a trial.
	single := len(list.models) == 1 && s.Kind != kindOllama && s.Kind != kindLMStudio
	for _, e := range list.models {
		if e.embeds == yes || e.embeds == unknown && (single || preference(e.name) < other) {
			s.Models = append(s.Models, Model{Name: e.name, Dim: e.dim})
		}
	}
	if single && len(s.Models) == 1 {
		f.try(ctx, &s)
	}
	if s.Problem == "" && len(s.Models) == 0 {
		s.Problem = "it has no model that embeds"
	}
	if list.odd != "" {
		s.Problem = cmp.Or(s.Problem, fmt.Sprintf("a model with the name %q is left out", list.odd))
	}
	return s
}

// host returns the loopback address that accepts connections on a port; "" if none does.
func (f *finder) host(ctx context.Context, port int) string {
	ctx, cancel := context.WithTimeout(ctx, f.timeout)
	defer cancel()
	for _, ip := range []string{"127.0.0.1", "::1"} {
		address := net.JoinHostPort(ip, strconv.Itoa(port))
		var d net.Dialer
		conn, err := d.DialContext(ctx, "tcp", address)
		if err == nil {
			conn.Close()
			return address
		}
	}
	return ""
}

// list asks for the models in all ways that servers know, and returns the list that says
// most about them. Its error is about the way that all servers know.
func (f *finder) list(ctx context.Context, base string) (listing, error) {
	type result struct {
		list listing
		err  error
	}
	results := each(lists(), func(l list) result {
		body, err := f.ask(ctx, http.MethodGet, base+l.path, nil)
		if err != nil {
			return result{err: err}
		}
		got, err := l.parse(body)
		return result{got, err}
	})
	last := results[len(results)-1] // the OpenAI list, which tells some kinds by their owner
	if last.err == nil && last.list.kind != kindOther {
		return last.list, nil
	}
	for _, r := range results {
		if r.err == nil {
			return r.list, nil
		}
	}
	return listing{}, last.err
}

// ask sends one request and returns the body of a good answer.
func (f *finder) ask(ctx context.Context, method, url string, body []byte) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, f.timeout)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, method, url, bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	if body != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	ans, err := endpoint.Send(&f.client, req, maxAnswer)
	switch {
	case err != nil && ctx.Err() != nil:
		return nil, fmt.Errorf("it does not answer within %v", f.timeout)
	case err != nil:
		return nil, fmt.Errorf("it does not speak HTTP: %s", endpoint.Tidy(err.Error()))
	case ans.Status == http.StatusUnauthorized || ans.Status == http.StatusForbidden:
		return nil, errors.New("it asks for a key: write it into the configuration yourself, with key_env")
	case !ans.OK():
		return nil, fmt.Errorf("it lists no models: http %d: %s", ans.Status, endpoint.Tidy(ans.Message()))
	case ans.Cut:
		return nil, fmt.Errorf("its list of models is longer than %d bytes", maxAnswer)
	}
	return ans.Body, nil
}

// show asks Ollama what its models are for.
func (f *finder) show(ctx context.Context, base string, models []entry) {
	copy(models, each(models[:min(len(models), maxShown)], func(e entry) entry {
		body, err := f.ask(ctx, http.MethodPost, base+"/api/show", showRequest(e.name))
		if err == nil && e.embeds == unknown { // else the name decides
			e.embeds, e.dim = parseShow(body)
		}
		return e
	}))
}

// try lets the only model of a server compute a vector: the list does not say whether the
// server embeds.
func (f *finder) try(ctx context.Context, s *Server) {
	ctx, cancel := context.WithTimeout(ctx, trial)
	defer cancel()
	m := &s.Models[0]
	e, err := Choice{s.Kind, s.Address, *m}.Embedder()
	if err == nil {
		var vs []embed.Vector
		if vs, err = e.Embed(ctx, embed.Query, []string{"skill"}); err == nil {
			m.Dim = len(vs[0])
			return
		}
	}
	if failed, ok := errors.AsType[*openai.Error](err); ok {
		err = failed // without the number of the text
	}
	s.Models, s.Problem = []Model{}, "it computes no vectors: "+endpoint.Tidy(err.Error())
}
