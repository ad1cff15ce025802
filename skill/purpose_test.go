package skill

import (
	"slices"
	"strings"
	"testing"

	"github.com/repertoire-skills/repertoire/internal/words"
)

func TestRuledOut(t *testing.T) {
	for _, c := range []struct {
		description, rest string
		clauses           []string
	}{
		{"Fills PDF forms. Use when a form must be filled.", "", nil},
		{"Fills PDF forms. Do not use for scanned pages.", "Fills PDF forms. ", []string{"Do not use for scanned pages."}},
		{"Fills forms (not for scans, e.g. of bills (see ocr)) and flattens them.", "Fills forms () and flattens them.", []string{"not for scans, e.g. of bills (see ocr)"}},
		{"Writes queries — NOT for schema changes; use it for reports.", "Writes queries — ; use it for reports.", []string{"NOT for schema changes"}},
		{"Plans trips. For hotels, use the hotel-finder skill instead. Books trains.", "Plans trips.  Books trains.", []string{"For hotels, use the hotel-finder skill instead."}},
		{"Sends mail, but don't use it when the address is unknown. Keeps copies.", "Sends mail, but  Keeps copies.", []string{"don't use it when the address is unknown."}},
		{"用于填写表单。不要用于扫描件。", "用于填写表单。", []string{"不要用于扫描件。"}},
		{"Füllt Formulare aus. Nicht verwenden für gescannte Seiten.", "Füllt Formulare aus. ", []string{"Nicht verwenden für gescannte Seiten."}},
		// What only looks so.
		{"Never use console.log in the code that it writes. Sets up a logger.", "", nil},
		{"Use this skill instead of calling the API by hand.", "", nil},
		{"Use when tests do not run on Windows.", "", nil},
		{"Helps people who do not use git for backups.", "", nil},
		{"Do not use for scans.", "", nil}, // it says nothing else
		{"", "", nil},
	} {
		rest, clauses := ruledOut(c.description)
		if want := c.rest; c.clauses == nil && rest != c.description || c.clauses != nil && rest != want || !slices.Equal(clauses, c.clauses) {
			t.Errorf("%q:\n got %q, %q\nwant %q, %q", c.description, rest, clauses, c.rest, c.clauses)
		}
	}
}

func TestInstead(t *testing.T) {
	for description, want := range map[string]string{
		"Fills forms. Not for scans (use pdf-ocr instead) or bills (see the `invoices` skill).":                                  "pdf-ocr invoices",
		"Fills forms. For scans, use the pdf-ocr skill instead. Do not use for bills: see `office:bill-reader`, or use pdf-ocr.": "pdf-ocr office:bill-reader",
		// What is no name of a skill.
		"Fills forms. Do not use for scans; use built-in tools instead.":        "",
		"Fills forms. Not for search (use `grep`), see BigQuery-related tools.": "",
		"Fills forms. Use pdf-forms for forms.":                                 "",
		"Fills forms.":                                                          "",
	} {
		if got := strings.Join((&Skill{Meta: Meta{Description: description}}).Instead(), " "); got != want {
			t.Errorf("%q: %q, want %q", description, got, want)
		}
	}
}

func TestPurpose(t *testing.T) {
	const body = "# Forms\n\nSome words about forms.\n\n```sh\nuse this when code\n```\n\n## When to use\n\n- A **form** must be filled\n- Never for scans\n\n## Steps\n\n1. Open it\n"
	const long = "Reads tables of all kinds that offices keep, puts them into one form, checks each number against the sum of its column, and writes what differs into a list for the clerk."
	for _, c := range []struct{ name, description, whenToUse, body, want string }{
		{"short", "Fills forms.", "", body, "forms: Fills forms. A form must be filled"},
		{"says when", "Fills forms, and checks what was filled in against the sheet of the year before; use it when a form of the tax office comes by mail, in whatever language it may be.", "", body,
			"forms: Fills forms, and checks what was filled in against the sheet of the year before; use it when a form of the tax office comes by mail, in whatever language it may be."},
		{"long, without when", long, "", body, "forms: " + long + " A form must be filled"},
		{"a field says when", "Fills forms.", "When a form is empty.", body, "forms: Fills forms. When a form is empty."},
		{"rules out", "Fills forms. Not for scans.", "", "", "forms: Fills forms."},
		{"a line says when", "Fills forms.", "", "# Forms\n\nWords.\n\nUse this skill when a form is empty.\n", "forms: Fills forms. Use this skill when a form is empty."},
	} {
		s := &Skill{Meta: Meta{Name: "forms", Description: c.description}, WhenToUse: c.whenToUse, Body: c.body}
		if got := s.Purpose(); got != c.want {
			t.Errorf("%s:\n got %q\nwant %q", c.name, got, c.want)
		}
	}
	s := &Skill{Meta: Meta{Name: "forms"}, Body: "## When to use\n\n" + strings.Repeat("- a form must be filled\n", 100)}
	if n := len(strings.Fields(s.Purpose())); n != 1+maxWhen {
		t.Errorf("%d words of an endless list", n)
	}
}

func FuzzRuledOut(f *testing.F) {
	f.Add("Fills forms (not for scans (see ocr). Use x instead", "# When\n- a")
	f.Fuzz(func(t *testing.T, description, body string) {
		rest, clauses := ruledOut(description)
		if len(rest)+len(strings.Join(clauses, "")) > len(description) {
			t.Errorf("%q became %q and %q", description, rest, clauses)
		}
		_ = (&Skill{Meta: Meta{Description: description}, Body: body}).Purpose()
	})
}

// TestFieldsRuledOut: what a skill is not for is no term of it, and is told.
func TestFieldsRuledOut(t *testing.T) {
	s := &Skill{Meta: Meta{Name: "forms", Description: "Fills forms. Do not use for scans, but for letters see mail."}}
	if got := s.Fields(new(words.Analyzer)).Description; slices.Contains(got, "scan") || !slices.Contains(got, "form") {
		t.Errorf("terms %q", got)
	}
	if got := s.RuledOut(); len(got) != 1 || !strings.HasPrefix(got[0], "Do not use for scans") {
		t.Errorf("ruled out %q", got)
	}
}
