package endpoint_test

import (
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/repertoire-skills/repertoire/internal/endpoint"
)

func TestIsHere(t *testing.T) {
	for host, want := range map[string]bool{
		"localhost": true, "LOCALHOST": true, "LocalHost.": true, "a.LOCALHOST": true, "127.0.0.1": true, "127.9.9.9": true,
		"::1": true, "0.0.0.0": true, "::": true, "::ffff:127.0.0.1": true, "::ffff:0.0.0.0": true,
		"example.com": false, "localhost.example.com": false, "10.0.0.1": false, "notlocalhost": false, "": false,
	} {
		if got := endpoint.IsHere(host); got != want {
			t.Errorf("%s: %t", host, got)
		}
	}
}

// TestAbroad: no form of an address of this machine gets a connection, and a proxy on this machine
// gets what is for other hosts only.
func TestAbroad(t *testing.T) {
	var asked atomic.Int64
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked.Add(1)
		w.Write([]byte("proxied " + r.URL.Host))
	}))
	t.Cleanup(s.Close)
	_, port, err := net.SplitHostPort(s.Listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	hosts := []string{"127.0.0.1", "localhost", "LOCALHOST", "localhost.", "0.0.0.0", "[::]", "[::1]", "[::ffff:127.0.0.1]", "foo.LOCALHOST", "127.1", "2130706433"}
	own, _ := net.InterfaceAddrs()
	for _, a := range own {
		if ip, _, err := net.ParseCIDR(a.String()); err == nil && ip.To4() != nil {
			hosts = append(hosts, ip.String())
		}
	}
	client := http.Client{Transport: endpoint.Abroad(http.DefaultTransport.(*http.Transport), "skills.example")}
	for _, host := range hosts {
		if resp, err := client.Get("http://" + host + ":" + port); err == nil {
			resp.Body.Close()
			t.Errorf("%s: it answers %d", host, resp.StatusCode)
		} else if strings.Contains(host, "LOCAL") && !strings.Contains(err.Error(), "this machine") {
			t.Errorf("%s: %v", host, err)
		}
	}
	if n := asked.Load(); n > 0 {
		t.Errorf("the server was asked %d times", n)
	}
}
