package cli

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/repertoire-skills/repertoire/internal/must"
	"github.com/repertoire-skills/repertoire/internal/testsize"
)

// A floodedServer is a process "skills mcp --http" of 300 skills as it is installed: under the
// race detector it would need far more memory.
type floodedServer struct {
	url string
	pid int
}

// serveFlooded starts a server of the 300 skills. Before that, prepare may write more skills and the settings
// of the server, whose home folder is home.
func serveFlooded(t *testing.T, prepare func(home, skills string), args ...string) floodedServer {
	t.Helper()
	dir := t.TempDir()
	program := filepath.Join(dir, "skills")
	build := exec.Command("go", "build", "-buildvcs=false", "-o", program, "../../cmd/skills")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	r := rand.New(rand.NewPCG(1, 2))
	for i := range 300 {
		folder := filepath.Join(dir, "skills.d", fmt.Sprint("skill-", i))
		text := fmt.Sprintf("---\nname: skill-%d\ndescription: Use for %s\n---\n%s\n", i, someWords(r, 60), someWords(r, 4000))
		must.Do(t, os.MkdirAll(folder, 0o700))
		must.Do(t, os.WriteFile(filepath.Join(folder, "SKILL.md"), []byte(text), 0o600))
	}
	prepare(dir, filepath.Join(dir, "skills.d"))
	cmd := exec.Command(program, append([]string{"mcp", "--http", "127.0.0.1:0", "--ui", "--only-root", "--root", filepath.Join(dir, "skills.d")}, args...)...)
	cmd.Env = []string{"HOME=" + dir, "PATH=" + os.Getenv("PATH")}
	stderr, err := cmd.StderrPipe()
	must.Do(t, err)
	must.Do(t, cmd.Start())
	t.Cleanup(func() {
		cmd.Process.Kill()
		cmd.Wait()
	})
	line, err := bufio.NewReader(stderr).ReadString('\n')
	found := regexp.MustCompile(`(http://\S+)/mcp`).FindStringSubmatch(line)
	if found == nil {
		t.Fatalf("it says %q, %v", line, err)
	}
	go io.Copy(io.Discard, stderr)
	s := floodedServer{found[1], cmd.Process.Pid}
	for { // until all skills are there
		if _, body := get(t, s.url+"/healthz"); regexp.MustCompile(`:30\d\b`).MatchString(body) {
			return s
		}
		time.Sleep(50 * time.Millisecond)
	}
}

// someWords returns n bytes of random words.
func someWords(r *rand.Rand, n int) string {
	var b strings.Builder
	for b.Len() < n {
		fmt.Fprintf(&b, "%x ", r.Uint32()>>8)
	}
	return b.String()[:n]
}

// peak returns the most memory that the server has had so far, in MB.
func (s *floodedServer) peak(t *testing.T) int {
	t.Helper()
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", s.pid))
	must.Do(t, err)
	found := regexp.MustCompile(`VmHWM:\s+(\d+) kB`).FindSubmatch(status)
	kb, err := strconv.Atoi(string(found[1]))
	must.Do(t, err)
	return kb / 1024
}

// A floodRequest makes one kind of request with a text.
type floodRequest func(url, text string) (*http.Request, error)

// callWith calls a tool without a session, with a text as one argument ("" means none), and perhaps more.
func callWith(tool, argument string, more ...string) floodRequest {
	return func(url, text string) (*http.Request, error) {
		arguments := map[string]any{}
		if argument != "" {
			arguments[argument] = text
		}
		for i := 0; i < len(more); i += 2 {
			arguments[more[i]] = more[i+1]
		}
		body, err := json.Marshal(map[string]any{"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": map[string]any{
			"name": tool, "arguments": arguments,
			"_meta": map[string]any{
				"io.modelcontextprotocol/protocolVersion": "2026-07-28", "io.modelcontextprotocol/clientCapabilities": map[string]any{},
				"io.modelcontextprotocol/clientInfo": map[string]any{"name": "flood", "version": "1"},
			}}})
		if err != nil {
			return nil, err
		}
		req, err := http.NewRequest("POST", url+"/mcp", bytes.NewReader(body))
		if err != nil {
			return nil, err
		}
		for name, value := range map[string]string{
			"Content-Type": "application/json", "Accept": "application/json, text/event-stream", "Mcp-Protocol-Version": "2026-07-28",
			"Mcp-Method": "tools/call", "Mcp-Name": tool,
		} {
			req.Header.Set(name, value)
		}
		return req, nil
	}
}

func suggestWith(url, text string) (*http.Request, error) {
	body, err := json.Marshal(map[string]any{"prompt": text})
	if err != nil {
		return nil, err
	}
	return http.NewRequest("POST", url+"/v1/suggest", bytes.NewReader(body))
}

func pageWith(at, text string) (*http.Request, error) {
	req, err := http.NewRequest("POST", at+"/ui/", strings.NewReader(url.Values{"prompt": {text}}.Encode()))
	if err == nil {
		req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		req.Header.Set("Origin", at)
	}
	return req, err
}

// from returns a client with an address of its own on this machine, so that it counts apart.
func from(address string) *http.Client {
	dialer := &net.Dialer{LocalAddr: &net.TCPAddr{IP: net.ParseIP(address)}}
	return &http.Client{Timeout: time.Minute, Transport: &http.Transport{DialContext: dialer.DialContext, MaxIdleConnsPerHost: 1}}
}

// do sends a request and returns the status of the answer.
func do(c *http.Client, req *http.Request, err error) string {
	if err != nil {
		return err.Error()
	}
	resp, err := c.Do(req)
	if err != nil {
		return err.Error()
	}
	defer resp.Body.Close()
	if _, err := io.Copy(io.Discard, resp.Body); err != nil {
		return err.Error()
	}
	return resp.Status
}

// flood sends n requests of that many bytes at once, and returns how often there was which answer.
func (s *floodedServer) flood(n, size int, request floodRequest) map[string]int {
	text := someWords(rand.New(rand.NewPCG(uint64(size), 1)), size)
	answers, c := make([]string, n), from("127.0.0.2")
	var wg sync.WaitGroup
	for i := range n {
		wg.Go(func() {
			req, err := request(s.url, text)
			answers[i] = do(c, req, err)
		})
	}
	wg.Wait()
	counts := map[string]int{}
	for _, a := range answers {
		counts[a]++
	}
	return counts
}

// askMeanwhile asks as a quick person would, until stop is closed, and returns how long the slowest
// answer took.
func (s *floodedServer) askMeanwhile(t *testing.T, name string, stop chan struct{}) (slowest time.Duration) {
	c := from("127.0.0.3")
	for {
		select {
		case <-stop:
			return slowest
		case <-time.After(20 * time.Millisecond):
		}
		start := time.Now()
		req, err := callWith("search_skills", "query")(s.url, "fill in a form")
		if got := do(c, req, err); got != "200 OK" {
			t.Errorf("%s: another client got %s", name, got)
		}
		slowest = max(slowest, time.Since(start))
	}
}

// TestFlood: a client that sends as many requests, as large, as it may makes a server use
// little memory, and other clients are answered meanwhile.
func TestFlood(t *testing.T) {
	if testsize.Rounds(0, 1) == 0 {
		t.Skip("floods a server for a minute; REPERTOIRE_LONG=1 asks for it")
	}
	s := serveFlooded(t, func(_, _ string) {})
	t.Logf("before: %d MB", s.peak(t))
	const mb = 1_000_000
	for _, f := range []struct {
		name    string
		n, size int
		request floodRequest
	}{
		{"100 searches of 1 MB", 100, mb, callWith("search_skills", "query")},
		{"400 searches of 100 KB", 400, 100_000, callWith("search_skills", "query")},
		{"400 searches of 1 MB", 400, mb, callWith("search_skills", "query")},
		{"400 suggestions of 1 MB", 400, mb, callWith("suggest_skills", "prompt")},
		{"400 reads of 1 MB", 400, mb, callWith("read_skill", "id")},
		{"400 prompts of 1 MB", 400, mb, suggestWith},
		{"400 forms of 1 MB", 400, mb, pageWith},
	} {
		stop, honest := make(chan struct{}), make(chan time.Duration)
		go func() { honest <- s.askMeanwhile(t, f.name, stop) }()
		start := time.Now()
		counts := s.flood(f.n, f.size, f.request)
		took := time.Since(start)
		close(stop)
		slowest, peak := <-honest, s.peak(t)
		t.Logf("%s: peak %d MB, slowest other answer %v, %v in %v", f.name, peak, slowest.Round(time.Millisecond), counts, took.Round(time.Millisecond))
		if peak > 300 {
			t.Errorf("%s: the server used %d MB", f.name, peak)
		}
		for answer := range counts {
			if strings.HasPrefix(answer, "Post ") {
				continue // the server has closed the connection, which is an answer too
			}
			if !slices.Contains([]string{"200 OK", "413 Request Entity Too Large", "429 Too Many Requests", "503 Service Unavailable"}, answer) {
				t.Errorf("%s: answer %s", f.name, answer)
			}
		}
	}
}

// TestFloodOfAnswers: a client that asks for as much as it may, and reads nothing of it, makes a server
// use little memory, and other clients are answered meanwhile.
func TestFloodOfAnswers(t *testing.T) {
	if testsize.Rounds(0, 1) == 0 {
		t.Skip("floods a server for minutes; REPERTOIRE_LONG=1 asks for it")
	}
	const mb = 1_000_000
	// What costs most to read of what is not too long to be read.
	nonsense := []string{
		`{"results":[` + strings.Repeat("1,", mb/2) + `1]}`, `{"results":[` + strings.Repeat("{},", mb/3) + `{}]}`, `{"results":[],"referrals":[` + strings.Repeat("{},", mb/3) + `{}]}`,
		`{"results":[` + strings.Repeat(`{"identifier":"urn:air:a.example:c","tags":[`+strings.Repeat(`"",`, 80_000)+`""]},`, 4) + `{}]}`,
	}
	var asked atomic.Int64
	registry := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		io.WriteString(w, nonsense[asked.Add(1)%int64(len(nonsense))])
	}))
	t.Cleanup(registry.Close)
	s := serveFlooded(t, func(home, skills string) {
		r := rand.New(rand.NewPCG(3, 4))
		must.Write(t, filepath.Join(skills, "big", "SKILL.md"), "---\nname: big\ndescription: Counts penguins in big data sets.\n---\nSee the data.\n")
		for i := range 15 {
			must.Write(t, filepath.Join(skills, "big", "references", fmt.Sprint(i, ".md")), someWords(r, mb))
		}
		must.Write(t, filepath.Join(home, ".config", "repertoire", "config.yaml"), "bundled: false\nregistries: [{url: \""+registry.URL+"\", form: ard, name: nonsense}]\nagents: {all: {include: {names: [\"*\"]}}}\n")
	}, "--registries", "--public", "all")
	_, manifest := get(t, s.url+"/.well-known/ard.json")
	archive := regexp.MustCompile(`/skill/[^"]*big[^"]*`).FindString(manifest)
	if archive == "" {
		t.Fatalf("the manifest names no archive of big: %.300s", manifest)
	}
	t.Logf("before: %d MB", s.peak(t))
	at := func(path string) floodRequest {
		return func(url, _ string) (*http.Request, error) { return http.NewRequest("GET", url+path, nil) }
	}
	for _, f := range []struct {
		name    string
		least   int // bytes of an answer
		request floodRequest
	}{
		{"archives", 5 * mb, at(archive)},
		{"manifests", 100_000, at("/.well-known/ard.json")},
		{"indexes", 100, at("/skill/big/.well-known/agent-skills/index.json")},
		{"files", 20_000, callWith("read_skill_resource", "", "id", "big", "path", "references/1.md")},
		{"sections", 1000, callWith("search_skill_files", "query", "id", "big")},
		{"lists", 1000, callWith("list_skills", "")},
		{"registries", 100, callWith("find_skills", "query")},
	} {
		req, err := f.request(s.url, "penguins")
		must.Do(t, err)
		resp, err := from("127.0.0.4").Do(req)
		must.Do(t, err)
		if data, err := io.ReadAll(resp.Body); err != nil || len(data) < f.least || bytes.Contains(data, []byte("\"isError\":true")) {
			t.Errorf("%s: an answer of %d bytes, %v: %.500s", f.name, len(data), err, data)
		}
		resp.Body.Close()
		stop, honest := make(chan struct{}), make(chan time.Duration)
		go func() { honest <- s.askMeanwhile(t, f.name, stop) }()
		sent := s.leaveUnread(t, 400, f.request)
		close(stop)
		slowest, peak := <-honest, s.peak(t)
		t.Logf("%s: peak %d MB, slowest other answer %v, %d requests", f.name, peak, slowest.Round(time.Millisecond), sent)
		if peak > 400 {
			t.Errorf("%s: the server used %d MB", f.name, peak)
		}
	}
}

// leaveUnread sends up to n requests, each on a connection of its own, as fast as one client may, and reads
// none of the answers for as long as that takes and ten seconds more. It returns how many it could send.
func (s *floodedServer) leaveUnread(t *testing.T, n int, request floodRequest) (sent int) {
	t.Helper()
	dialer := net.Dialer{LocalAddr: &net.TCPAddr{IP: net.ParseIP("127.0.0.2")}, Timeout: 5 * time.Second}
	for i := range n {
		c, err := dialer.Dial("tcp", strings.TrimPrefix(s.url, "http://"))
		if err != nil {
			continue // the server has enough connections of this client
		}
		defer c.Close()
		must.Do(t, c.(*net.TCPConn).SetReadBuffer(4096))
		req, err := request(s.url, fmt.Sprint("count penguins in data set ", i))
		must.Do(t, err)
		if req.Write(c) == nil {
			sent++
		}
		time.Sleep(10 * time.Millisecond)
	}
	time.Sleep(10 * time.Second)
	return sent
}
