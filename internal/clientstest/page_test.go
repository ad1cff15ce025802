package clientstest_test

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/repertoire-skills/repertoire/internal/client"
	"github.com/repertoire-skills/repertoire/internal/clientstest"
	"github.com/repertoire-skills/repertoire/internal/must"
)

const pageFile = "../../docs/clients.md"

// A table is one of the page, between marks: its name and its first lines.
type table struct{ name, head string }

var (
	trialTable   = table{"tried", "| client | block comes as | our tools at once | text of `read_skill` | left after `--remove` |\n|---|---|---|---|---|\n"}
	listingTable = table{"listing", "| client | names | whole descriptions | characters of the listing |\n|---|--:|--:|--:|\n"}
)

// A page is the page around a table.
type page struct {
	before, after string
	rows          map[string]string // by the client's name; several are lines
}

func (tb table) begin() string {
	return "<!-- " + tb.name + ": written by go test ./internal/clientstest -update -->\n"
}

func (tb table) end() string { return "<!-- /" + tb.name + " -->\n" }

func readPage(t *testing.T, tb table) page {
	t.Helper()
	before, rest, ok := strings.Cut(must.Read(t, pageFile), tb.begin())
	text, after, ends := strings.Cut(rest, tb.end())
	if !ok || !ends {
		t.Fatalf("%s lacks the marks of the table %s", pageFile, tb.name)
	}
	p := page{before, after, make(map[string]string)}
	for line := range strings.Lines(text) {
		for _, c := range clientstest.Clients() {
			if strings.HasPrefix(line, "| `"+c.Package+"` ") {
				p.rows[c.Name] = strings.TrimSpace(p.rows[c.Name] + "\n" + strings.TrimSpace(line))
			}
		}
	}
	return p
}

// write writes the table in the order of the clients.
func (p page) write(t *testing.T, tb table, rows map[string]string) {
	t.Helper()
	var b strings.Builder
	for _, c := range clientstest.Clients() {
		if rows[c.Name] != "" {
			b.WriteString(rows[c.Name] + "\n")
		}
	}
	must.Do(t, os.WriteFile(pageFile, []byte(p.before+tb.begin()+tb.head+b.String()+tb.end()+p.after), 0o644))
}

// TestPage: each table has each client that is run, in the version that is run.
func TestPage(t *testing.T) {
	for _, tb := range []table{trialTable, listingTable} {
		rows := readPage(t, tb).rows
		for _, c := range clientstest.Clients() {
			if _, ok := client.Find(c.Name); !ok || c.Version() == "" {
				t.Errorf("%s: setup does not know it, or versions.txt has no version", c.Name)
			}
			if rows[c.Name] == "" {
				t.Errorf("%s: the table %s lacks it: run the clients with -update", c.Name, tb.name)
			}
			for row := range strings.Lines(rows[c.Name]) {
				if !strings.HasPrefix(row, "| `"+c.Package+"` "+c.Version()+" ") {
					t.Errorf("%s: the table %s has %q, want version %s: run the clients with -update", c.Name, tb.name, row, c.Version())
				}
			}
		}
	}
}

// TestListings: what doctor says of how a client lists skills is what was measured.
func TestListings(t *testing.T) {
	texts := 0 // characters of all names and descriptions
	for i := range manySkills {
		name, description := listed(i)
		texts += len(name) + len(description)
	}
	for name, row := range readPage(t, listingTable).rows {
		var names, whole, chars int
		_, numbers, _ := strings.Cut(row, " | ")
		if _, err := fmt.Sscanf(strings.ReplaceAll(numbers, ",", ""), "%d | %d | %d |", &names, &whole, &chars); err != nil {
			t.Fatalf("%s: %v", row, err)
		}
		l := &client.Listing{}
		if c, _ := client.Find(name); c.Listing != nil {
			l = c.Listing
		}
		if (whole == manySkills) != l.Whole || names != manySkills {
			t.Errorf("%s is described with %+v, but: %s", name, l, row)
		}
		if said := texts + manySkills*l.Overhead; l.Whole && max(said, chars) > min(said, chars)*101/100 {
			t.Errorf("%s: doctor would say %d characters, measured are %d", name, said, chars)
		}
	}
}
