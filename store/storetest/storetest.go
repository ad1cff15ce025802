// Package storetest checks that an engine keeps the contract of store.Store. Its one rule:
// every check uses only that contract, so that all engines can run it.
package storetest

import (
	"crypto/sha256"
	"reflect"
	"strings"
	"testing"

	"github.com/repertoire-skills/repertoire/skill"
	"github.com/repertoire-skills/repertoire/store"
)

// A check is one part of the contract.
type check struct {
	name    string
	explain string // the part of the contract that an engine violates if it fails
	run     func(t *testing.T, s store.Store)
}

// Test checks an engine. open returns a new and empty catalog and closes it when the test
// ends.
func Test(t *testing.T, open func(t *testing.T) store.Store) {
	for _, c := range append(append(writeChecks(), readChecks()...), vectorChecks()...) {
		t.Run(c.name, func(t *testing.T) {
			defer func() {
				if t.Failed() {
					t.Log(c.explain)
				}
			}()
			c.run(t, open(t))
		})
	}
}

// Record returns the record of a skill in a folder with its name. It has one file, and one
// text: its description.
func Record(name, description, body string) *store.Record {
	hash := sha256.Sum256([]byte(description))
	r := &store.Record{
		Path:    name + "/SKILL.md",
		Stamp:   "stamp of " + name,
		NameKey: name,
		Skill: &skill.Skill{
			Meta: skill.Meta{Name: name, Description: description, Tokens: len(body) / 4, Digest: "digest of " + name},
			Body: body,
		},
		Fields: skill.Fields{Name: words(name), Description: words(description), Body: words(body)},
		Texts:  [][]byte{hash[:]},
	}
	r.Fields.Shown = len(r.Fields.Description)
	r.Ranked = store.Ranked{Terms: r.Fields.Pack(), Sketch: []byte("sketch of " + body)}
	return r
}

// words cuts a text at every ASCII character that is not a letter or a digit.
func words(text string) []string {
	return strings.FieldsFunc(text, func(r rune) bool {
		return r < '0' || '9' < r && r < 'A' || 'Z' < r && r < 'a' || 'z' < r && r < 0x80
	})
}

// Refused returns the record of a file without a usable skill.
func Refused(path string) *store.Record {
	return &store.Record{Path: path, Refused: true, Skill: &skill.Skill{
		Meta:     skill.Meta{Digest: "digest of " + path},
		Problems: []skill.Problem{{Rule: "no-frontmatter", Severity: skill.Error, Path: path, Message: "no frontmatter"}},
	}}
}

// Put puts a source, adds records to it, and returns their rows.
func Put(t testing.TB, s store.Store, src store.Source, records ...*store.Record) []int64 {
	t.Helper()
	var rows []int64
	Update(t, s, func(tx store.Tx) error {
		source, err := tx.PutSource(src)
		if err != nil {
			return err
		}
		for _, r := range records {
			row, err := tx.PutSkill(source, r)
			if err != nil {
				return err
			}
			rows = append(rows, row)
		}
		return nil
	})
	return rows
}

// Update runs f in a transaction that must succeed.
func Update(t testing.TB, s store.Store, f func(store.Tx) error) {
	t.Helper()
	if err := s.Update(t.Context(), f); err != nil {
		t.Fatal(err)
	}
}

// State returns the state that r sees.
func State(t testing.TB, r store.Reader) store.State {
	t.Helper()
	state, err := r.State(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return state
}

// Offered returns "source:name" for every skill that r sees as offered.
func Offered(t testing.TB, r store.Reader) []string {
	t.Helper()
	var list []string
	for _, e := range entries(t, r, nil) {
		if e.Offered() {
			list = append(list, e.Source+":"+e.Name)
		}
	}
	return list
}

func entries(t testing.TB, r store.Reader, rows []int64) []store.Entry {
	t.Helper()
	list, err := r.Entries(t.Context(), rows)
	if err != nil {
		t.Fatal(err)
	}
	return list
}

// sourceRow returns the row of the source with this label.
func sourceRow(t testing.TB, r store.Reader, label string) int64 {
	t.Helper()
	list, err := r.Sources(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range list {
		if s.Label == label {
			return s.Row
		}
	}
	t.Fatalf("no source %s in %+v", label, list)
	return 0
}

// readers runs f with the store, and with a view of it.
func readers(t *testing.T, s store.Store, f func(r store.Reader)) {
	t.Helper()
	f(s)
	if err := s.View(t.Context(), func(r store.Reader) error { f(r); return nil }); err != nil {
		t.Fatal(err)
	}
}

// wants returns a function that reports an error unless got equals want and err is nil.
func wants(t *testing.T, what string, want any) func(got any, err error) {
	return func(got any, err error) {
		t.Helper()
		if err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("%s: got %+v, %v; want %+v", what, got, err, want)
		}
	}
}
