package mcpserver_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

func TestListSkills(t *testing.T) {
	files := few()
	for i := range 120 {
		name := fmt.Sprintf("many-%03d", i)
		files[name+"/SKILL.md"] = doc(name, "Is one of many.", "tags: [many]")
	}
	c := serve(t, files, "").connect(t, true)
	args := object{"tag": "MANY"}
	var seen []string
	for page := 0; ; page++ {
		text, r := c.tool("list_skills", args)
		if r["total"] != 120.0 {
			t.Errorf("total %v", r["total"])
		}
		contains(t, "text", text, fmt.Sprintf("Skills %d-", 50*page+1))
		seen = append(seen, field(r["skills"], "id")...)
		if r["next_cursor"] == nil {
			break
		}
		args["cursor"] = r["next_cursor"]
	}
	if len(seen) != 120 || !slices.IsSorted(seen) || len(slices.Compact(seen)) != 120 {
		t.Errorf("%d skills on all pages: %v", len(seen), seen)
	}
	if _, r := c.tool("list_skills", object{"source": "team", "tag": "pdf"}); r["total"] != 1.0 {
		t.Errorf("pdf: %v", r)
	}
	contains(t, "error", c.fails("list_skills", object{"tag": "pdff"}), `No skill has the tag 'pdff'`, "pdf")
	contains(t, "error", c.fails("list_skills", object{"source": "teem"}), "team")
	c.wantRanked(t)
	var listing object = c.must("skills/list", nil) // its cursor is none of this tool
	for _, bad := range []any{"x", "e30", "eyJhIjoieCJ9Cg", listing["nextCursor"], strings.Repeat("A", 5000)} {
		contains(t, "error", c.fails("list_skills", object{"cursor": bad}), "cursor")
	}
}

// wantRanked lists what has to do with a query, best first, page by page, within a tag or a
// source.
func (c *client) wantRanked(t *testing.T) {
	t.Helper()
	text, r := c.tool("list_skills", object{"query": "fill in a PDF form"})
	ids := field(r["skills"], "id")
	if ids[0] != "pdf-forms" || !slices.Contains(ids, "pdf-base") || slices.Contains(ids, "many-000") || r["total"] != float64(len(ids)) {
		t.Errorf("ranked: %v", r)
	}
	contains(t, "text", text, "that have to do with this, best first:\n- pdf-forms: ")
	if _, r := c.tool("list_skills", object{"query": "fill in a PDF form", "tag": "Office", "source": "team"}); !slices.Equal(field(r["skills"], "id"), []string{"pdf-forms"}) {
		t.Errorf("ranked in a tag: %v", r)
	}
	args, seen := object{"query": "is one of many", "tag": "many"}, []string{}
	for more := true; more; more = args["cursor"] != nil {
		_, r := c.tool("list_skills", args)
		seen = append(seen, field(r["skills"], "id")...)
		args["cursor"] = r["next_cursor"]
		if args["cursor"] == nil {
			delete(args, "cursor")
			if r["total"] != float64(len(seen)) {
				t.Errorf("total %v of %d", r["total"], len(seen))
			}
		} else {
			contains(t, "a cursor without its query", c.fails("list_skills", object{"cursor": args["cursor"]}), "cursor")
		}
	}
	if slices.Sort(seen); len(seen) <= 50 || len(slices.Compact(seen)) != len(seen) || !strings.HasPrefix(seen[0], "many-") {
		t.Errorf("%d skills on all pages: %v", len(seen), seen)
	}
	if text, r := c.tool("list_skills", object{"query": "xyzzy"}); r["total"] != 0.0 || text != "No skill here has to do with this; without a query all are listed." {
		t.Errorf("nonsense: %q %v", text, r)
	}
	contains(t, "error", c.fails("list_skills", object{"query": "x", "tag": "pdff"}), `No skill has the tag 'pdff'`)
}
