package mcpserver

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"math"
	"net"
	"net/http"
	"net/url"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/repertoire-skills/repertoire/internal/access"
	"github.com/repertoire-skills/repertoire/internal/api"
	"github.com/repertoire-skills/repertoire/internal/registry"
	"github.com/repertoire-skills/repertoire/internal/serve"
	"github.com/repertoire-skills/repertoire/internal/turns"
	"github.com/repertoire-skills/repertoire/internal/words"
)

// HTTPOptions configure an HTTP server. All of them may be zero.
type HTTPOptions struct {
	// Token is a token that shows everything. Check knows other tokens. With the token of an
	// agent /mcp shows what the agent may see, and the paths of other agents show nothing.
	// Without Token and Check requests need no token: then only programs on this machine
	// should reach the server, see Listen.
	Token string
	Check access.Checker

	// Issuer is the URL of the authorization server that gives tokens, and PublicURL the URL
	// at which clients see this server, such as "https://skills.example.com"; "" means the
	// host that a request names, without TLS. Clients learn both from the metadata of the
	// protected resource, which is there if there is an Issuer.
	Issuer, PublicURL string

	// Hosts are host names under which requests may call the server, in addition to the
	// names of this machine. Origins are the origins of web pages whose scripts may
	// call it, such as "https://inspector.example:6274".
	Hosts   []string
	Origins []string

	MaxBody     int64         // largest request in bytes; 0 means 1 MiB
	Rate        float64       // requests per second of one client, with bursts of twice as many; 0 means 100, less than 0 means no limit
	IdleSession time.Duration // a session without requests ends after this time; 0 means 30 minutes

	// MaxSessions is how many sessions there may be at a time; 0 means 2,000. A session
	// takes about 8 KB, at most 100. ClientSessions is how many of them one client may
	// have; 0 means 250. If there are more, a new session ends the one that was not used
	// for the longest time: of the same client or, if there are too many in all, of the
	// client that has the most.
	MaxSessions, ClientSessions int

	// ClientRequests is how many requests of one client may be under way, streams
	// included, which may last for ever; 0 means 500.
	ClientRequests int

	// Timeout is how long a client may take to send a request, and to accept a
	// piece of an answer; 0 means 10 s. Grace is how long requests under way may take
	// after the server was told to end; 0 means 10 s.
	Timeout time.Duration
	Grace   time.Duration

	// Size returns the number of skills, or an error while that is not known.
	Size func(ctx context.Context) (int, error)

	// Ready returns the state of the server for /readyz, see package api, and how old the
	// catalog is that it answers from; nil means that Size decides.
	Ready func(ctx context.Context) (state string, age time.Duration)

	UI http.Handler // serves /ui/, and checks by itself who may see what; nil means no page

	// UIToken returns the token that a browser keeps for /ui/, so that a request counts for
	// its caller in limits; nil means that it counts for its address.
	UIToken func(*http.Request) string

	// Registry answers clients that look for skills in a registry and install them, see package
	// internal/registry; nil means that there is none. Their token may stand in the path, as
	// /t/TOKEN/…, because some cannot send a header. Public is the name of the agent whose scope
	// those see who bring no token; "" means that they see what others without a token see.
	Registry *registry.Registry
	Public   string

	Metrics *Metrics // what /metrics shows; nil means only figures of HTTP

	// Refused is called for each request that is refused, and for each session that ends because
	// its client begins too many; nil means that nobody is told. It must not wait.
	Refused func(access.Refusal)

	// More writes further counts behind those of Metrics; nil means that there are none.
	More func(w io.Writer) error

	Logger *slog.Logger // gets messages about failures; nil means no messages
}

// HTTP serves any number of scopes over streamable HTTP, to clients of both versions
// of the protocol: the scope without a name at /mcp, the others at /mcp/NAME and at
// /NAME/mcp, for clients that rewrite addresses which do not end in /mcp. A session
// belongs to one scope, and to one caller. HTTP also serves /v1/suggest (see package
// internal/api), /healthz, /readyz and /metrics, and perhaps a registry.
type HTTP struct {
	opts     HTTPOptions // with defaults
	scopes   map[string]*scope
	guard    guard
	check    access.Checker // nil means that everybody may see everything
	limiter  *limiter       // nil means no limit
	busy     *turns.Gate    // for requests under way: a stream may last for ever, so a rate alone does not bound them
	checking *turns.Gate    // for requests whose token is being checked, by address
	room     *turns.Gate    // for the bodies of requests, in bytes
	answers  *turns.Gate    // for answers that clients have not accepted yet, in bytes
	short    *turns.Gate    // for quick requests that are being answered
	long     *turns.Gate    // for those that need more of the server, for which quick ones do not wait
	asking   *turns.Gate    // for those that ask other servers
	open     *sessions
	mux      *http.ServeMux
	registry *http.ServeMux  // nil without a registry
	ending   context.Context // cancelled when Serve starts to shut down: streams end
	end      context.CancelFunc
}

// A scope is a server with its transports: stateful for the protocol of 2025-11-25,
// which has sessions, and stateless for the protocol of 2026-07-28, which has none.
type scope struct {
	server              *Server
	stateful, stateless http.Handler
}

// NewHTTP returns an HTTP server of scopes by name. The scope named "" is at /mcp.
func NewHTTP(scopes map[string]*Server, opts *HTTPOptions) (*HTTP, error) {
	h := &HTTP{scopes: make(map[string]*scope), mux: http.NewServeMux()}
	h.ending, h.end = context.WithCancel(context.Background())
	if opts != nil {
		h.opts = *opts
	}
	h.opts.MaxBody = cmp.Or(h.opts.MaxBody, 1<<20)
	h.opts.IdleSession = cmp.Or(h.opts.IdleSession, 30*time.Minute)
	h.open = newSessions(cmp.Or(h.opts.ClientSessions, 250), cmp.Or(h.opts.MaxSessions, 2_000))
	h.opts.Timeout = cmp.Or(h.opts.Timeout, 10*time.Second)
	h.opts.Grace = cmp.Or(h.opts.Grace, 10*time.Second)
	if rate := cmp.Or(h.opts.Rate, 100); rate > 0 {
		h.limiter = newLimiter(rate)
	}
	each := int64(cmp.Or(h.opts.ClientRequests, 500))
	h.busy, h.checking = turns.New(math.MaxInt64, each), turns.New(math.MaxInt64, each)
	n := atATime()
	h.room, h.answers = turns.New(roomForAll, roomForAll/4), turns.New(roomForAnswers, roomForAnswers/4)
	h.short, h.long, h.asking = turns.New(n, n), turns.New(n, n/2), turns.New(n, n/2)
	h.opts.Logger = cmp.Or(h.opts.Logger, slog.New(slog.DiscardHandler))
	h.opts.Metrics = cmp.Or(h.opts.Metrics, new(Metrics))
	var err error
	if h.guard, err = newGuard(h.opts.Hosts, h.opts.Origins); err != nil {
		return nil, err
	}
	if h.check = h.opts.Check; h.opts.Token != "" {
		h.check = access.Single(h.opts.Token)
		if h.opts.Check != nil {
			h.check = access.Any(h.check, h.opts.Check)
		}
	}
	for name, server := range scopes {
		h.scopes[name] = h.newScope(server)
	}
	h.route()
	if h.opts.Registry != nil {
		h.registry = h.opts.Registry.Mux(h.visit)
	}
	return h, nil
}

// route says what is served at which path.
func (h *HTTP) route() {
	h.mux.HandleFunc("/", h.serveNothing)
	h.mux.HandleFunc("/mcp", h.serveScope)
	h.mux.HandleFunc("/mcp/{name}", h.serveScope)
	h.mux.HandleFunc("/{name}/{last}", func(w http.ResponseWriter, r *http.Request) {
		if r.PathValue("last") != "mcp" {
			h.serveNothing(w, r)
			return
		}
		h.serveScope(w, r)
	})
	h.mux.HandleFunc("/.well-known/{last}", h.serveNothing) // clients look there whether there is OAuth
	if h.opts.Issuer != "" {
		h.mux.HandleFunc("/.well-known/oauth-protected-resource", h.serveMetadata)
		h.mux.HandleFunc("/.well-known/oauth-protected-resource/{path...}", h.serveMetadata)
	}
	if h.opts.UI != nil {
		h.mux.Handle("/ui", http.RedirectHandler("/ui/", http.StatusSeeOther))
	}
	h.only(http.MethodPost, api.Path, h.serveSuggest)
	h.only(http.MethodGet, "/healthz", h.serveHealth)
	h.only(http.MethodGet, api.ReadyPath, h.serveReady)
	h.only(http.MethodGet, "/metrics", h.serveMetrics)
}

// only serves a path for one method, and answers others with what is allowed.
func (h *HTTP) only(method, path string, serve http.HandlerFunc) {
	h.mux.HandleFunc(method+" "+path, serve)
	h.mux.HandleFunc(path, func(w http.ResponseWriter, _ *http.Request) {
		allow := method
		if method == http.MethodGet {
			allow = "GET, HEAD"
		}
		w.Header().Set("Allow", allow)
		http.Error(w, path+" is for "+method, http.StatusMethodNotAllowed)
	})
}

func (h *HTTP) newScope(s *Server) *scope {
	get := func(*http.Request) *mcp.Server { return s.MCP() }
	// Switch off the library's checks of hosts and sizes: ServeHTTP and read do them,
	// more strictly.
	o := mcp.StreamableHTTPOptions{Logger: slog.New(infoHandler{h.opts.Logger.Handler()}), DisableLocalhostProtection: true, MaxRequestBodyBytes: -1}
	stateful, stateless := o, o
	stateful.SessionTimeout = h.opts.IdleSession
	stateless.Stateless, stateless.PropagateRequestCancellation = true, true
	return &scope{server: s, stateful: withCaller(mcp.NewStreamableHTTPHandler(get, &stateful)), stateless: withCaller(mcp.NewStreamableHTTPHandler(get, &stateless))}
}

// ServeHTTP answers one request.
func (h *HTTP) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	out := &deadlineWriter{ResponseWriter: w, timeout: h.opts.Timeout}
	secret, r, inPath := access.CutSecret(r) // first of all, so that nothing else sees it
	forRegistry := h.forRegistry(r)
	if inPath {
		out.Header().Set("Referrer-Policy", "no-referrer")
	}
	if forRegistry {
		out.fail = registry.Fail
	}
	defer out.extend() // for what net/http writes after the handler
	defer func() { h.opts.Metrics.answered(cmp.Or(out.status, http.StatusOK)) }()
	if reason, err := h.guard.admit(out, r); err != nil {
		h.refuse(out, r, reason, http.StatusForbidden, err)
		return
	}
	// A caller's own limits are known only when its token has been checked, which may take
	// long, such as of an issuer that does not answer.
	address := addressOf(r.RemoteAddr).String()
	checking, ok := h.checking.Try(address, 1)
	if !ok {
		h.refuse(out, r, "busy", http.StatusTooManyRequests, errors.New("too many tokens are being checked"))
		return
	}
	who := h.identify(r, secret, inPath)
	checking.Leave()
	client := who.client(r.RemoteAddr)
	r = r.WithContext(turns.WithClient(context.WithValue(r.Context(), identityKey{}, who), client))
	out.owe = func(n int) *turns.Pass { return h.answers.Owe(client, int64(n)) }
	if h.limiter != nil && !h.limiter.allow(client) {
		out.Header().Set("Retry-After", "1")
		h.refuse(out, r, "rate", http.StatusTooManyRequests, errors.New("too many requests"))
		return
	}
	under, ok := h.busy.Try(client, 1)
	if !ok {
		h.refuse(out, r, "busy", http.StatusTooManyRequests, errors.New("too many requests are under way"))
		return
	}
	defer under.Leave()
	if r.Method == http.MethodOptions && r.Header.Get("Origin") != "" {
		out.WriteHeader(http.StatusNoContent) // the guard has said what a page may send
		return
	}
	// The mux would redirect //mcp, where the name of a scope is missing, to the whole catalog.
	if given := r.URL.EscapedPath(); strings.TrimSuffix(given, "/") != strings.TrimSuffix(path.Clean(given), "/") {
		h.serveNothing(out, r)
		return
	}
	if forRegistry {
		h.registry.ServeHTTP(out, r)
		return
	}
	if inPath { // a secret in a path may be seen by others, so it opens nothing else
		h.serveNothing(out, r)
		return
	}
	// The mux cannot have both /ui/ and /{name}/{last}.
	if h.opts.UI != nil && strings.HasPrefix(r.URL.Path, "/ui/") {
		h.serveUI(out, r)
		return
	}
	h.mux.ServeHTTP(out, r)
}

// refuse answers a request with an error, and notes that. The request reaches no server.
func (h *HTTP) refuse(w http.ResponseWriter, r *http.Request, reason string, status int, err error) {
	h.noteRefused(r, reason, status)
	fail := func(w http.ResponseWriter, status int, text string) { http.Error(w, text, status) }
	if out, ok := w.(*deadlineWriter); ok && out.fail != nil {
		fail = out.fail
	}
	fail(w, status, err.Error())
}

// serveScope hands a request to the transport of a scope.
func (h *HTTP) serveScope(w http.ResponseWriter, r *http.Request) {
	// Check the token first, so that nobody learns without it which scopes there are.
	who, ok := h.authorized(w, r)
	if !ok {
		return
	}
	sc := h.scope(w, r, r.PathValue("name")) // "" at /mcp
	if sc == nil {
		return
	}
	var body []byte
	if r.Method == http.MethodPost {
		var done func()
		if body, done, ok = h.take(w, r, sc.server.limits); !ok {
			return
		}
		defer done()
	}
	if r.Method == http.MethodGet || r.Header.Get("Mcp-Method") == methodListen {
		// A stream has no end of its own, so it must end when the server shuts down.
		ctx, cancel := context.WithCancel(r.Context())
		defer cancel()
		defer context.AfterFunc(h.ending, cancel)()
		r = r.WithContext(ctx)
		defer h.recheck(r, who, cancel)()
	}
	r.Header.Set(clientName, who.client(r.RemoteAddr))
	if isStateless(r, body) {
		sc.stateless.ServeHTTP(w, r)
		return
	}
	if r.Header.Get(sessionHeader) == "" && len(body) > maxBegin {
		h.refuse(w, r, "size", http.StatusRequestEntityTooLarge, fmt.Errorf("the first request of a session has more than %d bytes", maxBegin))
		return
	}
	h.serveSession(sc, w, r)
}

// serveNothing answers that nothing is served at a path, and which paths there are. It names
// the scopes that the caller may see.
func (h *HTTP) serveNothing(w http.ResponseWriter, r *http.Request) {
	list := []string{"/mcp"}
	if who := identityOf(r); who.err == nil {
		for _, name := range slices.Sorted(maps.Keys(h.scopes)) {
			if name != "" && (who.caller.Agent == "" || who.caller.Agent == name) {
				list = append(list, "/mcp/"+url.PathEscape(name))
			}
		}
	}
	list = append(list, api.Path, "/healthz", api.ReadyPath, "/metrics")
	if h.opts.UI != nil {
		list = append(list, "/ui/")
	}
	if h.registry != nil {
		list = append(list, registry.Paths()...)
	}
	http.Error(w, fmt.Sprintf("nothing is served at %s; %s", quoted(r.URL.Path), words.ThereAre(list)), http.StatusNotFound)
}

// clientName is the header that tells the handlers of a scope which client a request is
// from. The server sets it, whatever the client sent.
const clientName = "Repertoire-Client"

// maxBegin bounds the request that begins a session, because the session keeps it.
const maxBegin = 64 << 10

// serveSession answers a request of a session, or one that begins a session.
func (h *HTTP) serveSession(sc *scope, w http.ResponseWriter, r *http.Request) {
	id, who := r.Header.Get(sessionHeader), identityOf(r)
	if id == "" {
		sc.stateful.ServeHTTP(w, r)
		if id = w.Header().Get(sessionHeader); id != "" {
			if old := h.open.add(id, who.client(r.RemoteAddr), who.caller, sc); old != nil {
				h.noteEnded(old.client)
				old.end()
			}
		}
		return
	}
	done, ok := h.open.use(id, who.caller)
	if !ok {
		h.refuse(w, r, "session", http.StatusForbidden, errors.New("the session belongs to another caller"))
		return
	}
	sc.stateful.ServeHTTP(w, r)
	done()
	if r.Method == http.MethodDelete {
		h.open.drop(id, sc)
	}
}

// sessions returns how many sessions are open. A stateless request counts as a session
// while it is served.
func (h *HTTP) sessions() int {
	n := 0
	for _, sc := range h.scopes {
		for range sc.server.MCP().Sessions() {
			n++
		}
	}
	return n
}

// Serve answers requests that arrive at l until ctx ends. Then it closes l, ends the
// streams, and lets other requests under way finish. It may be called only once.
func (h *HTTP) Serve(ctx context.Context, l net.Listener) error {
	err := serve.Until(ctx, l, h, serve.Options{Timeout: h.opts.Timeout, Grace: h.opts.Grace, Ending: h.end, Logger: h.opts.Logger})
	switch {
	case errors.Is(err, serve.ErrCut):
		h.opts.Logger.Warn("requests were cut off", "after", h.opts.Grace)
		return nil
	case err != nil:
		return err
	}
	for _, sc := range h.scopes {
		for session := range sc.server.MCP().Sessions() {
			err = errors.Join(err, session.Close())
		}
	}
	return err
}
