package web_test

import (
	"net/http"
	"testing"

	"github.com/repertoire-skills/repertoire"
	"github.com/repertoire-skills/repertoire/internal/catalogtest"
	"github.com/repertoire-skills/repertoire/internal/must"
	"github.com/repertoire-skills/repertoire/source"
	"github.com/repertoire-skills/repertoire/source/sourcetest"
	"github.com/repertoire-skills/repertoire/web"
)

// TestUnread: every page says that a folder has not been read yet.
func TestUnread(t *testing.T) {
	t.Parallel()
	added, err := source.Files(map[string]string{"pie/SKILL.md": doc("pie", "Bakes pies.", "Bake it.")}, &source.Options{Label: "new"})
	must.Do(t, err)
	var held *sourcetest.Held
	k := open(t, few(), func(cfg *repertoire.Config, _ *web.Options) {
		held = catalogtest.Half(t, cfg, added)
	})
	t.Cleanup(held.Release)
	const part = "So far this is part of the catalog: 1 folder has not been read yet."
	for _, page := range []string{"", "catalog", "doctor"} {
		k.get(page).is(http.StatusOK).has(part)
	}
	k.get("skill", "id", "pdf-forms").is(http.StatusOK).has(part)
	k.get("skill", "id", "pie").is(http.StatusNotFound).has("try again in a moment")
	held.Release()
	_, err = k.catalog.Owner().Rescan(t.Context(), nil)
	must.Do(t, err)
	k.get("skill", "id", "pie").is(http.StatusOK).lacks("So far this is part")
}
