package web_test

import (
	"testing"

	"github.com/repertoire-skills/repertoire"
	"github.com/repertoire-skills/repertoire/internal/access"
	"github.com/repertoire-skills/repertoire/web"
)

// TestFind: a visitor finds where the files of a skill say something, or of all skills that the
// visitor may see.
func TestFind(t *testing.T) {
	k := open(t, few(), func(_ *repertoire.Config, o *web.Options) {
		o.Key, o.Check = "", bearers{"all": {}, "some": access.Caller{Agent: "clerk", Name: "bob"}}
	})
	k.post("signin", "token", "all").is(303)
	k.write("pdf-forms/references/fields.md", "# Fields\n\n## Dates\n\nA date has <b>dots</b> between its numbers.\n")
	k.write("secret-plan/guests.md", "# Guests\n\nThe party has a date with dots.\n")
	k.get("skill", "id", "pdf-forms").is(200).has("/find?id=pdf-forms\"")
	k.get("find", "id", "pdf-forms").is(200).has("What its SKILL.md and other files should").lacks("found in")
	k.post("find?id=pdf-forms", "q", "how does a date look").is(200).has("references/fields.md</bdi>", "Fields &gt; Dates, lines 1–5", "&lt;b&gt;dots", "Not searched: logo.png: it is binary").lacks("<bdi>sort-")
	k.post("find", "q", "where is the date of the party").is(200).has("guests.md</bdi>", "<bdi>secret-plan</bdi>")
	k.post("find?id=pdf-forms", "q", "the").is(200)
	k.get("find", "id", "nothing").is(404)

	k.post("signin", "token", "some").is(303)
	k.post("find", "q", "where is the date of the party").is(200).lacks("guests", "secret-plan")
	k.get("find", "id", "secret-plan").is(404)
	k.post("find?id=secret-plan", "q", "party").is(404).lacks("guests")
}
