package endpoint

import (
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"strings"
	"syscall"
	"time"
)

// IsHere reports whether a host of a URL names this machine, as far as the text shows: the
// loopback interface in any letters, or the unspecified address. What a name resolves to shows
// only when somebody connects, see Abroad.
func IsHere(host string) bool {
	host = strings.TrimSuffix(strings.ToLower(host), ".")
	if host == "localhost" || strings.HasSuffix(host, ".localhost") {
		return true
	}
	ip, err := netip.ParseAddr(host)
	return err == nil && (ip.Unmap().IsLoopback() || ip.Unmap().IsUnspecified())
}

// Abroad returns a transport for addresses of which a stranger has named all but named, the host
// and port that the user has: it connects to no other address of this machine, and to none
// that only its own link has, whatever the names resolve to. A proxy of the environment may be
// here, and connects for us. If named is on this machine, all of it may be reached.
func Abroad(t *http.Transport, named string) http.RoundTripper {
	if IsHere((&url.URL{Host: named}).Hostname()) {
		return t
	}
	direct := t.Clone()
	direct.Proxy = nil
	direct.DialContext = (&net.Dialer{Timeout: 30 * time.Second, KeepAlive: 30 * time.Second, Control: refuseHere}).DialContext
	return abroad{named, direct, t}
}

type abroad struct {
	named           string
	direct, trusted *http.Transport
}

// RoundTrip is of interface http.RoundTripper.
func (a abroad) RoundTrip(r *http.Request) (*http.Response, error) {
	proxy, err := http.ProxyFromEnvironment(r)
	switch {
	case r.URL.Host == a.named:
		return a.trusted.RoundTrip(r)
	case IsHere(r.URL.Hostname()):
		return nil, &hereError{r.URL.Hostname()}
	case err == nil && proxy != nil:
		return a.trusted.RoundTrip(r)
	}
	return a.direct.RoundTrip(r)
}

// A hereError says that an address of a stranger leads to this machine.
type hereError struct{ address string }

func (e *hereError) Error() string {
	return fmt.Sprintf("the address leads to this machine (%s)", e.address)
}

// refuseHere is called with each address before a socket connects to it.
func refuseHere(_, address string, _ syscall.RawConn) error {
	at, err := netip.ParseAddrPort(address)
	if err != nil {
		return err
	}
	ip := at.Addr().Unmap().WithZone("")
	if ip.IsLoopback() || ip.IsUnspecified() || ip.IsLinkLocalUnicast() || ip.IsMulticast() || isOwn(ip) {
		return &hereError{ip.String()}
	}
	return nil
}

// isOwn reports whether an interface of this machine has the address.
func isOwn(ip netip.Addr) bool {
	own, err := net.InterfaceAddrs()
	if err != nil {
		return false
	}
	for _, a := range own {
		if p, err := netip.ParsePrefix(a.String()); err == nil && p.Addr().Unmap().WithZone("") == ip {
			return true
		}
	}
	return false
}
