package storetest

import (
	"errors"
	"slices"
	"testing"

	"github.com/repertoire-skills/repertoire/skill"
	"github.com/repertoire-skills/repertoire/store"
)

func readChecks() []check {
	return []check{
		{"RoundTrip", "A skill is returned as it was put, whatever its text holds.", testRoundTrip},
		{"Look", "Look differs after every change and stays the same without one; Settle returns the state and the look that the catalog has then.", testLook},
		{"Replace", "A skill that is put again keeps its row, and nothing of what it was before.", testReplace},
		{"Refused", "The catalog keeps only the entry and the problems of a refused skill, and never offers it.", testRefused},
		{"NoSuchRow", "A row that does not exist is not an error: it has nothing.", testNoSuchRow},
		{"NoTerms", "A skill may have no terms, and no texts.", testNoTerms},
		{"Known", "Known returns the stamps of all skills of one source, or of the given paths; an empty list of paths does not mean all paths.", testKnown},
		{"Sources", "Sources are ordered by label; putting one again keeps its row and the time of its last walk; deleting it deletes its skills.", testSources},
		{"Entries", "Entries are ordered by name key, priority, label and path, comparing bytes; rows select, and an empty list of rows does not mean all rows.", testEntries},
		{"Problems", "Problems are ordered by priority, label and path; the problems of one skill stay in the order in which they were put.", testProblems},
		{"Precedence", "Of the skills with the same name, the one with the highest priority is offered, then the first by label, then one whose folder has its name, then the first by path, whatever the order of writing; refused skills have no name.", testPrecedence},
		{"Apart", "Skills of sources that are apart hide no others, unless they are the same.", testApart},
		{"PriorityChange", "When the priority of a source changes, another skill of a name is offered.", testPriorityChange},
		{"WinnerLost", "When the offered skill of a name is refused, renamed or deleted with its source, the next one is offered.", testWinnerLost},
	}
}

func testLook(t *testing.T, s store.Store) {
	seen := make(map[string]bool)
	for _, name := range []string{"pdf", "csv", "pdf"} {
		Put(t, s, store.Source{Label: "a"}, Record(name, "d", "b"))
		look := s.Look()
		if look == "" || seen[look] {
			t.Errorf("after putting %s it looks %q, as before: %t", name, look, seen[look])
		}
		readers(t, s, func(r store.Reader) { entries(t, r, nil) })
		wants(t, "look after reading", look)(s.Look(), nil)
		state, look, err := s.Settle(t.Context())
		wants(t, "settled state", State(t, s))(state, err)
		wants(t, "look after Settle", look)(s.Look(), nil)
		seen[look] = true
	}
}

func testRoundTrip(t *testing.T, s store.Store) {
	r := Record("pdf", "zero \x00 and ünïcödé", "body \x00 with\nlines")
	r.Path = "office/pdf/skill.md"
	r.Skill = &skill.Skill{
		Meta: skill.Meta{
			Source: "a", Path: r.Path, Location: "/s/office/pdf/skill.md", Name: "pdf", Description: r.Skill.Description,
			Tokens: 7, Digest: "d", TextDigest: "t", Tags: []string{"a,b", `"`},
			Needs:    skill.Needs{Skills: []string{"other"}, Either: []string{"a"}, Optional: []string{"b"}, Commands: []string{"c", `"`}, AnyOf: []string{"d"}, Env: []string{"E"}},
			Triggers: skill.Triggers{Keywords: []string{"a b", `"`}, Verbs: []string{"c"}, Patterns: []string{`d\d`}},
			Examples: []string{"fill in, please", `"`},
		},
		Body:        r.Skill.Body,
		Frontmatter: map[string]any{"name": "pdf", "nested": map[string]any{"list": []any{"x", true, nil}}},
		Problems:    []skill.Problem{{Rule: "r", Severity: skill.Note, Path: "p", Line: 3, Message: "m", Hint: "h"}},
	}
	row := Put(t, s, store.Source{Label: "a"}, r)[0]
	readers(t, s, func(in store.Reader) {
		got, ok, err := in.Skill(t.Context(), row)
		wants(t, "skill", r.Skill)(got, err)
		wants(t, "found", true)(ok, nil)
		ranking, ok := Ranking(t, in, "m", row)
		wants(t, "ranked", r.Ranked)(ranking.Ranked, nil)
		wants(t, "is ranked", true)(ok, nil)
		problems, err := in.Problems(t.Context())
		wants(t, "problems", []store.Reported{{Source: "a", Row: row, Problem: r.Skill.Problems[0]}})(problems, err)
		want := store.Entry{Meta: r.Skill.Meta, Row: row, NameKey: "pdf"}
		want.ID = "pdf"
		wants(t, "entries", []store.Entry{want})(in.Entries(t.Context(), nil))
		stamps, err := in.Known(t.Context(), sourceRow(t, in, "a"), nil)
		wants(t, "known", map[string]store.Known{r.Path: {Row: row, Stamp: r.Stamp, Digest: "d", Name: r.Skill.Name, Location: r.Skill.Location}})(stamps, err)
	})
	r.Body = nil
	r.Skill.Frontmatter["description"] = r.Skill.Description // an engine may keep it once
	Put(t, s, store.Source{Label: "a"}, r)
	got, _, err := s.Skill(t.Context(), row)
	wants(t, "skill with its description in the frontmatter", r.Skill)(got, err)
}

func testReplace(t *testing.T, s store.Store) {
	old := Record("pdf", "old", "old")
	old.Skill.Problems = Refused("x").Skill.Problems
	old.Texts = append(old.Texts, []byte("old"))
	row := Put(t, s, store.Source{Label: "a"}, old)[0]
	fresh := Record("pdf", "fresh", "fresh")
	if again := Put(t, s, store.Source{Label: "a"}, fresh)[0]; again != row {
		t.Errorf("row %d became %d", row, again)
	}
	got, ok, err := s.Skill(t.Context(), row)
	if err != nil || !ok || got.Body != "fresh" || len(got.Problems) != 0 {
		t.Errorf("skill %+v, %v, %v", got, ok, err)
	}
	ranking, _ := Ranking(t, s, "m", row)
	wants(t, "ranked", fresh.Ranked)(ranking.Ranked, nil)
	texts, err := s.Unembedded(t.Context(), store.Space{Model: "m"}, 0, 9)
	wants(t, "texts", []store.Text{{Row: row, Hash: fresh.Texts[0]}})(texts, err)
	wants(t, "number of skills", 1)(State(t, s).Found, nil)

	Put(t, s, store.Source{Label: "a"}, Refused(old.Path))
	if again := entries(t, s, nil); len(again) != 1 || again[0].Row != row || again[0].Offered() {
		t.Errorf("a refused skill in its place: %+v", again)
	}
	checkNothing(t, s, row)
}

// checkNothing fails if a row has parts that only usable skills have.
func checkNothing(t *testing.T, r store.Reader, row int64) {
	t.Helper()
	ranking, ok := Ranking(t, r, "m", row)
	texts, embedded, err := r.Coverage(t.Context(), store.Space{Model: "m"}, []int64{row})
	if err != nil || ok || texts+embedded != 0 {
		t.Errorf("row %d has terms, sketch and vectors %v (%v), %d texts; %v", row, ranking, ok, texts, err)
	}
}

func testRefused(t *testing.T, s store.Store) {
	row := Put(t, s, store.Source{Label: "a"}, Refused("x/SKILL.md"))[0]
	readers(t, s, func(in store.Reader) {
		list := entries(t, in, nil)
		if len(list) != 1 || list[0].Row != row || !list[0].Refused || list[0].Offered() || list[0].Path != "x/SKILL.md" || list[0].ID != "a/x" {
			t.Errorf("entries %+v", list)
		}
		got, ok, err := in.Skill(t.Context(), row)
		if err != nil || !ok || got.Path != "x/SKILL.md" || got.Body != "" || len(got.Problems) != 1 {
			t.Errorf("skill %+v, %v, %v", got, ok, err)
		}
		stamps, err := in.Known(t.Context(), sourceRow(t, in, "a"), nil)
		wants(t, "known", map[string]store.Known{"x/SKILL.md": {Row: row, Digest: "digest of x/SKILL.md"}})(stamps, err)
		wants(t, "number of skills", 1)(State(t, in).Found, nil)
		checkNothing(t, in, row)
	})
}

func testNoSuchRow(t *testing.T, s store.Store) {
	row := Put(t, s, store.Source{Label: "a"}, Record("pdf", "d", "b"))[0]
	Update(t, s, func(tx store.Tx) error { return tx.DeleteSkill(row) })
	for _, gone := range []int64{0, row, row + 1} {
		if got, ok, err := s.Skill(t.Context(), gone); ok || got != nil || err != nil {
			t.Errorf("skill %d: %+v, %v, %v", gone, got, ok, err)
		}
		checkNothing(t, s, gone)
	}
	wants(t, "entries", 0)(len(entries(t, s, []int64{row})), nil)
	wants(t, "number of skills", 0)(State(t, s).Found, nil)
	stamps, err := s.Known(t.Context(), 99, nil)
	wants(t, "known of no source", 0)(len(stamps), err)
	Update(t, s, func(tx store.Tx) error {
		return errors.Join(tx.PutStamp(row, "s"), tx.DeleteSkill(99), tx.Walked(99, 1, "x"))
	})
	err = s.Update(t.Context(), func(tx store.Tx) error { _, err := tx.PutSkill(99, Record("pdf", "d", "b")); return err })
	if err == nil {
		t.Error("a skill was put into a source that does not exist")
	}
}

func testNoTerms(t *testing.T, s store.Store) {
	for _, none := range []skill.Terms{nil, {}} {
		r := Record("pdf", "d", "b")
		r.Fields, r.Ranked, r.Texts = skill.Fields{}, store.Ranked{Terms: none}, nil
		row := Put(t, s, store.Source{Label: "a"}, r)[0]
		if r, ok := Ranking(t, s, "m", row); len(r.Terms)+len(r.Sketch) != 0 || !ok {
			t.Errorf("terms and sketch %q, %v", r.Ranked, ok)
		}
		texts, _, err := s.Coverage(t.Context(), store.Space{Model: "m"}, nil)
		wants(t, "texts", 0)(texts, err)
	}
}

func testKnown(t *testing.T, s store.Store) {
	rows := Put(t, s, store.Source{Label: "a"}, Record("pdf", "d", "b"), Record("csv", "d", "b"))
	Put(t, s, store.Source{Label: "b"}, Record("pdf", "d", "b"))
	source := sourceRow(t, s, "a")
	pdf := store.Known{Row: rows[0], Stamp: "stamp of pdf", Digest: "digest of pdf", Name: "pdf"}
	csv := store.Known{Row: rows[1], Stamp: "stamp of csv", Digest: "digest of csv", Name: "csv"}
	check := func(what string, paths []string, want map[string]store.Known) {
		t.Helper()
		readers(t, s, func(in store.Reader) {
			t.Helper()
			got, err := in.Known(t.Context(), source, paths)
			wants(t, what, want)(got, err)
		})
	}
	check("all", nil, map[string]store.Known{"pdf/SKILL.md": pdf, "csv/SKILL.md": csv})
	check("no paths", []string{}, map[string]store.Known{})
	check("some paths", []string{"csv/SKILL.md", "x/SKILL.md", "csv/SKILL.md"}, map[string]store.Known{"csv/SKILL.md": csv})
	Update(t, s, func(tx store.Tx) error { return tx.PutStamp(rows[0], "new") })
	pdf.Stamp = "new"
	check("a new stamp", nil, map[string]store.Known{"pdf/SKILL.md": pdf, "csv/SKILL.md": csv})
	Update(t, s, func(tx store.Tx) error { return tx.ForgetStamps(source) })
	check("forgotten", nil, map[string]store.Known{"pdf/SKILL.md": {Row: rows[0], Name: "pdf"}, "csv/SKILL.md": {Row: rows[1], Name: "csv"}})
	source = sourceRow(t, s, "b")
	got, err := s.Known(t.Context(), source, nil)
	if err != nil || got["pdf/SKILL.md"].Stamp != "stamp of pdf" {
		t.Errorf("another source: %v, %v", got, err)
	}
}

func testSources(t *testing.T, s store.Store) {
	rows := Put(t, s, store.Source{Label: "b", Root: "/b", Priority: 3}, Record("pdf", "d", "b"), Record("csv", "d", "b"), Refused("x"))
	Put(t, s, store.Source{Label: "a", Walked: 9}, Record("pdf", "d", "b"))
	a, b := sourceRow(t, s, "a"), sourceRow(t, s, "b")
	Update(t, s, func(tx store.Tx) error { return errors.Join(tx.Walked(b, 7, "x"), tx.Walked(b, 8, "y")) })
	for _, root := range []string{"/b", "/c"} {
		again := store.Source{Row: 99, Label: "b", Root: root, Priority: -1, Walked: 5, Identity: "z"}
		Update(t, s, func(tx store.Tx) error {
			row, err := tx.PutSource(again)
			wants(t, "row of a source that is put again", b)(row, err)
			return nil
		})
		again.Row, again.Walked, again.Identity = b, 8, map[string]string{"/b": "y"}[root]
		readers(t, s, func(in store.Reader) {
			got, err := in.Sources(t.Context())
			wants(t, "sources", []store.Source{{Row: a, Label: "a"}, again})(got, err)
		})
	}
	before := State(t, s).Generation
	Update(t, s, func(tx store.Tx) error { return tx.DeleteSource(b) })
	got, err := s.Sources(t.Context())
	wants(t, "sources that are left", []store.Source{{Row: a, Label: "a"}})(got, err)
	wants(t, "skills that are left", []string{"a:pdf"})(Offered(t, s), nil)
	changed, _, err := s.Changes(t.Context(), before, "")
	if err != nil || !slices.Equal(changed, rows) {
		t.Errorf("changed %v, want the skills of the source, %v; %v", changed, rows, err)
	}
}

func testEntries(t *testing.T, s store.Store) {
	at := func(name, path string) *store.Record {
		r := Record(name, "d", "b")
		r.Path = path
		return r
	}
	low := Put(t, s, store.Source{Label: "low"}, at("pdf", "z"), at("pdf", "Z"), at("ä", "1"), at("a", "2"))
	high := Put(t, s, store.Source{Label: "high", Priority: 1}, at("pdf", "y"), Refused("r"), at("B", "3"))
	also := Put(t, s, store.Source{Label: "also", Priority: 1}, at("pdf", "zz"))
	order := []int64{high[1], high[2], low[3], also[0], high[0], low[1], low[0], low[2]}
	check := func(what string, rows, want []int64) {
		t.Helper()
		readers(t, s, func(in store.Reader) {
			t.Helper()
			var got []int64
			for _, e := range entries(t, in, rows) {
				got = append(got, e.Row)
			}
			wants(t, what, want)(got, nil)
		})
	}
	check("all", nil, order)
	check("no rows", []int64{}, nil)
	check("some rows", []int64{low[2], 99, low[0], also[0]}, []int64{also[0], low[0], low[2]})
}

func testProblems(t *testing.T, s store.Store) {
	two := Record("pdf", "d", "b")
	two.Skill.Problems = []skill.Problem{{Rule: "z", Line: 2}, {Rule: "a", Line: 1}}
	low := Put(t, s, store.Source{Label: "a"}, Refused("x"), two, Record("csv", "d", "b"))
	high := Put(t, s, store.Source{Label: "b", Priority: 1}, Refused("y"))
	x, y := Refused("x").Skill.Problems[0], Refused("y").Skill.Problems[0]
	readers(t, s, func(in store.Reader) {
		got, err := in.Problems(t.Context())
		wants(t, "problems", []store.Reported{
			{Source: "b", Row: high[0], Problem: y}, {Source: "a", Row: low[1], Problem: two.Skill.Problems[0]},
			{Source: "a", Row: low[1], Problem: two.Skill.Problems[1]}, {Source: "a", Row: low[0], Problem: x},
		})(got, err)
	})
}

func testPrecedence(t *testing.T, s store.Store) {
	at := func(path string) *store.Record {
		r := Record("pdf", "from "+path, "body")
		r.Path = path + "/SKILL.md"
		return r
	}
	// Written from the lowest precedence to the highest.
	var rows []int64
	rows = append(rows, Put(t, s, store.Source{Label: "z", Priority: 1}, at("a"))...)
	rows = append(rows, Put(t, s, store.Source{Label: "b", Priority: 5}, at("a"))...)
	rows = append(rows, Put(t, s, store.Source{Label: "a", Priority: 5}, at("z"), at("pdf-old"), at("b"), at("x/pdf"), at("pdf"))...)
	refused := Refused("pdf/SKILL.md")
	refused.NameKey = "pdf"
	Put(t, s, store.Source{Label: "y", Priority: 9}, refused)
	for last := len(rows) - 1; last >= 0; last-- {
		readers(t, s, func(in store.Reader) { checkShadows(t, in, rows[:last], rows[last]) })
		Update(t, s, func(tx store.Tx) error { return tx.DeleteSkill(rows[last]) })
	}
	if got := Offered(t, s); len(got) != 0 {
		t.Errorf("offered %q: only a refused skill is left", got)
	}
}

func checkShadows(t *testing.T, r store.Reader, losers []int64, winner int64) {
	t.Helper()
	for _, e := range entries(t, r, nil) {
		want := int64(0)
		if slices.Contains(losers, e.Row) {
			want = winner
		}
		if e.ShadowedBy != want || e.Offered() != (e.Row == winner) || e.Offered() != (e.ID == "pdf") {
			t.Errorf("%s/%s is shadowed by %d, want %d; offered %v as %s", e.Source, e.Path, e.ShadowedBy, want, e.Offered(), e.ID)
		}
	}
}

func testApart(t *testing.T, s store.Store) {
	version := func(digest string) *store.Record {
		r := Record("pdf", "d", "b")
		r.Skill.Digest = digest
		return r
	}
	old := version("6")
	old.Path = "pdf-old/SKILL.md"
	Put(t, s, store.Source{Label: "home", Priority: 9}, version("1"))
	Put(t, s, store.Source{Label: "work", Priority: 8}, version("2"))
	alpha := store.Source{Label: "alpha", Priority: 7, Apart: true}
	first := Put(t, s, alpha, version("3"), old)
	Put(t, s, store.Source{Label: "beta", Priority: 6, Apart: true}, version("4"))
	Put(t, s, store.Source{Label: "again", Priority: 5, Apart: true}, version("3"))
	got, err := s.Sources(t.Context())
	if err != nil || len(got) != 5 || !got[1].Apart || got[3].Apart {
		t.Errorf("sources %+v, %v", got, err)
	}
	wants(t, "apart", []string{"home:pdf", "alpha:pdf", "beta:pdf"})(Offered(t, s), nil)
	before := State(t, s).Generation
	Update(t, s, func(tx store.Tx) error { return tx.DeleteSkill(first[0]) })
	wants(t, "with another one of its source", []string{"home:pdf", "alpha:pdf", "beta:pdf", "again:pdf"})(Offered(t, s), nil)
	if changed, _, err := s.Changes(t.Context(), before, ""); err != nil || len(changed) != 3 {
		t.Errorf("changed %d, %v; want the removed one, and those that it hid", changed, err)
	}
	alpha.Apart = false
	Put(t, s, alpha)
	wants(t, "not apart", []string{"home:pdf", "beta:pdf", "again:pdf"})(Offered(t, s), nil)
}

func testPriorityChange(t *testing.T, s store.Store) {
	rows := Put(t, s, store.Source{Label: "a", Priority: 2}, Record("pdf", "d", "b"), Record("csv", "d", "b"))
	rows = append(rows, Put(t, s, store.Source{Label: "b", Priority: 1}, Record("pdf", "d", "b"))...)
	wants(t, "offered", []string{"a:csv", "a:pdf"})(Offered(t, s), nil)
	before := State(t, s).Generation
	Put(t, s, store.Source{Label: "b", Priority: 3})
	wants(t, "after the change offered", []string{"a:csv", "b:pdf"})(Offered(t, s), nil)
	changed, _, err := s.Changes(t.Context(), before, "")
	wants(t, "changed", []int64{rows[0], rows[2]})(changed, err)
}

func testWinnerLost(t *testing.T, s store.Store) {
	top := store.Source{Label: "a", Priority: 2}
	Put(t, s, top, Record("pdf", "d", "b"))
	Put(t, s, store.Source{Label: "b", Priority: 1}, Record("pdf", "d", "b"))
	Put(t, s, store.Source{Label: "c"}, Record("pdf", "d", "b"))
	wants(t, "at first", []string{"a:pdf"})(Offered(t, s), nil)
	Put(t, s, top, Refused("pdf/SKILL.md"))
	wants(t, "after it was refused", []string{"b:pdf"})(Offered(t, s), nil)
	Put(t, s, top, Record("pdf", "d", "b"))
	wants(t, "after it came back", []string{"a:pdf"})(Offered(t, s), nil)
	renamed := Record("csv", "d", "b")
	renamed.Path = "pdf/SKILL.md"
	Put(t, s, top, renamed)
	wants(t, "after it was renamed", []string{"a:csv", "b:pdf"})(Offered(t, s), nil)
	Update(t, s, func(tx store.Tx) error { return tx.DeleteSource(sourceRow(t, s, "b")) })
	wants(t, "after its source was deleted", []string{"a:csv", "c:pdf"})(Offered(t, s), nil)
}
