package clientstest_test

import (
	"maps"
	"os"
	"strings"
	"testing"

	"github.com/repertoire-skills/repertoire/internal/client"
	"github.com/repertoire-skills/repertoire/internal/clientstest"
	"github.com/repertoire-skills/repertoire/internal/must"
)

// The page with the table of what was tried, and the marks around the table.
const (
	pageFile  = "../../docs/clients.md"
	pageBegin = "<!-- tried: written by go test ./internal/clientstest -update -->\n"
	pageEnd   = "<!-- /tried -->\n"
	tableHead = "| client | block comes as | our tools at once | text of `read_skill` | left after `--remove` |\n|---|---|---|---|---|\n"
)

// A page is the page around its table.
type page struct {
	before, after string
	rows          map[string]string // by the client's name
}

func readPage(t *testing.T) page {
	t.Helper()
	before, rest, ok := strings.Cut(must.Read(t, pageFile), pageBegin)
	table, after, end := strings.Cut(rest, pageEnd)
	if !ok || !end {
		t.Fatalf("%s lacks the marks of the table", pageFile)
	}
	p := page{before, after, make(map[string]string)}
	for line := range strings.Lines(table) {
		for _, c := range clientstest.Clients() {
			if strings.HasPrefix(line, "| `"+c.Package+"` ") {
				p.rows[c.Name] = strings.TrimSpace(line)
			}
		}
	}
	return p
}

// write writes the table in the order of the clients.
func (p page) write(t *testing.T, rows map[string]string) {
	t.Helper()
	var b strings.Builder
	for _, c := range clientstest.Clients() {
		if rows[c.Name] != "" {
			b.WriteString(rows[c.Name] + "\n")
		}
	}
	must.Do(t, os.WriteFile(pageFile, []byte(p.before+pageBegin+tableHead+b.String()+pageEnd+p.after), 0o644))
}

// TestPage: the page has each client that is run, in the version that is run.
func TestPage(t *testing.T) {
	rows := maps.Clone(readPage(t).rows)
	for _, c := range clientstest.Clients() {
		if _, ok := client.Find(c.Name); !ok || c.Version() == "" {
			t.Errorf("%s: setup does not know it, or versions.txt has no version", c.Name)
		}
		if want := "| `" + c.Package + "` " + c.Version() + " |"; !strings.HasPrefix(rows[c.Name], want) {
			t.Errorf("%s: the page says %q, want %q…: run the clients with -update", c.Name, rows[c.Name], want)
		}
	}
}
