package web_test

import (
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/repertoire-skills/repertoire"
	"github.com/repertoire-skills/repertoire/internal/must"
	"github.com/repertoire-skills/repertoire/web"
)

// TestPrompt: the page says what each agent would be offered, and why.
func TestPrompt(t *testing.T) {
	k := open(t, few(), func(cfg *repertoire.Config, _ *web.Options) {
		cfg.Agents = append(cfg.Agents, &repertoire.Agent{Name: "host", Include: repertoire.Rules{Names: []string{"secret-*"}}, Pinned: []string{"secret-plan"}})
	})
	k.write("pdf-forms/SKILL.md", doc("pdf-forms", "Fills in the fields of PDF forms. Use when a PDF form is to be filled in.", "# Fill in a form", "metadata: {examples: [Put my name into all fields of this form]}"))
	_, err := k.catalog.Owner().Rescan(t.Context(), nil)
	must.Do(t, err)
	first := k.get("").is(200).has("which of 8 skills", `<textarea id="q"`, `name="q" value="Put my name into all fields of this form"`).lacks("Whole catalog")
	if n := strings.Count(first.text, `<button class="second" name="q"`); n != 3 {
		t.Errorf("%d examples", n)
	}

	p := k.post("", "q", "fill in the fields of this PDF form").is(200)
	p.has("Whole catalog", `<bdi>clerk</bdi>`, `<bdi>host</bdi>`, `href="/skill?id=pdf-forms"`, "1 skill offered", "Nothing else is offered:",
		"likely to need a skill; the threshold is", `class="mark"`, "words of the name", "covered by the best skill",
		"What the model is told", "&lt;available_skills&gt;", ">fill in the fields of this PDF form</textarea>")
	if _, host, _ := strings.Cut(p.text, "<bdi>host</bdi>"); !strings.Contains(host, `<span class="tag accent">pinned</span>`) {
		t.Errorf("the pinned skill is not marked: %s", host)
	}
	k.post("", "q", "sort the recipes by date").is(200).has("Not offered, but nearest", "sort-slides")
	k.post("", "q", "thanks!").is(200).has(`<span class="tag">nothing offered</span>`, "Nothing is offered:")
	k.post("", "q", strings.Repeat("long ", 1<<18)).is(413)
}

// TestPart: the script gets only what changes.
func TestPart(t *testing.T) {
	k := open(t, few())
	r := httptest.NewRequest("POST", "/", strings.NewReader("q=fill+in+the+fields+of+this+PDF+form"))
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	r.Header.Set("Origin", "http://127.0.0.1:8100")
	r.Header.Set("X-Part", "1")
	k.do(r).is(200).has("data-status", "pdf-forms").lacks("<html", "<textarea")
	r = httptest.NewRequest("GET", "/nothing", nil)
	r.Header.Set("X-Part", "1")
	k.do(r).is(404).has(`role="alert"`).lacks("<html")
}
