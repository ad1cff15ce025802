package mcpserver_test

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/repertoire-skills/repertoire"
	"github.com/repertoire-skills/repertoire/internal/must"
	"github.com/repertoire-skills/repertoire/internal/testsize"
	"github.com/repertoire-skills/repertoire/mcpserver"
)

// nasty are skills that cannot be published, each for its own reason; their names begin
// with bad-. Skills that begin with good- can be published, but look as if they could not.
func nasty() map[string]string {
	files := map[string]string{
		"bad-bom/SKILL.md":           "\uFEFF" + doc("bad-bom", "Nasty skill."),
		"bad-hidden/SKILL.md":        doc("bad-hidden", "Nasty \u200b skill."),
		"bad-escape/SKILL.md":        doc("bad-escape", `"Nasty \u202E skill."`),
		"bad-return/SKILL.md":        doc("bad-return", `"Nasty \r\n skill."`),
		"bad-tag-chars/SKILL.md":     doc("bad-tag-chars", "Nasty \U000E0041 skill."),
		"bad-inf/SKILL.md":           doc("bad-inf", "Nasty skill.", "x: .inf"),
		"bad-nan/SKILL.md":           doc("bad-nan", "Nasty skill.", "metadata: {a: [.nan]}"),
		"bad-colon/SKILL.md":         doc("bad-colon", "Nasty: skill: here."),
		"bad-twice/SKILL.md":         doc("bad-twice", "Nasty skill.", "license: MIT", "license: BSD"),
		"bad-number/SKILL.md":        doc("123", "Nasty skill."),
		"bad-null/SKILL.md":          doc("null", "Nasty skill."),
		"bad-upper/SKILL.md":         doc("Bad-Upper", "Nasty skill."),
		"bad-ünicode/SKILL.md":       doc("bad-ünicode", "Nasty skill."),
		"bad-space/SKILL.md":         doc("bad space", "Nasty skill."),
		"bad-long-name/SKILL.md":     doc("bad-"+strings.Repeat("x", 70), "Nasty skill."),
		"bad-description/SKILL.md":   doc("bad-description", strings.Repeat("nasty ", 200)),
		"bad-list/SKILL.md":          doc("bad-list", "[nasty, skill]"),
		"bad-no-name/SKILL.md":       "---\ndescription: Nasty skill.\n---\nx\n",
		"bad-preamble/SKILL.md":      "\n" + doc("bad-preamble", "Nasty skill."),
		"bad-unclosed/SKILL.md":      "---\nname: bad-unclosed\ndescription: Nasty skill.\n",
		"bad-fence/SKILL.md":         strings.Replace(doc("bad-fence", "Nasty skill."), "\n---\n", "\n--- \n", 1),
		"bad-binary-tag/SKILL.md":    doc("bad-binary-tag", "Nasty skill.", "x: !!binary aGVsbG8="),
		"bad-custom-tag/SKILL.md":    doc("bad-custom-tag", "Nasty skill.", "x: !mine {a: b}"),
		"bad-key/SKILL.md":           doc("bad-key", "Nasty skill.", "? [a, b]", ": c"),
		"bad-lower/skill.md":         doc("bad-lower", "Nasty skill."),
		"bad-many/SKILL.md":          doc("bad-many", "Nasty skill."),
		"bad-large/SKILL.md":         doc("bad-large", "Nasty skill."),
		"bad-large/a.bin":            strings.Repeat("x", 1<<20+1),
		"bad-total/SKILL.md":         doc("bad-total", "Nasty skill."),
		"bad-cr/SKILL.md":            strings.ReplaceAll(doc("bad-cr", "Nasty skill."), "\n", "\r"),
		"good-crlf/SKILL.md":         strings.ReplaceAll(doc("good-crlf", ">", "  Fine skill", "  in lines.", "x: |", "  a", "  b"), "\n", "\r\n"),
		"good-hidden-body/SKILL.md":  doc("good-hidden-body", "Fine skill.") + "a\u200bb\U000E0041\n",
		"good-bytes/SKILL.md":        doc("good-bytes", "Fine skill.") + "caf\xe9\n",
		"good-yaml/SKILL.md":         doc("good-yaml", `Fine "skill" <b>&amp;</b>.`, "date: 2026-01-01", "a: 014", "b: 1_000", "c: 0x1F", "d: 1e3", "e: ~", "1: one", "true: two", "<<: x", "f: &a [1, two, 3.5]", "g: *a", `h: "tab\tand \" and é"`, "u: '日本 😀'"),
		"good-nested/SKILL.md":       doc("good-nested", "Fine skill."),
		"good-nested/sub/SKILL.md":   doc("sub", "Is inside."),
		"good-nested/.hidden/x.conf": "a=b\n",
	}
	for i := range 513 {
		files[fmt.Sprintf("bad-many/%d.txt", i)] = ""
	}
	for i := range 17 {
		files[fmt.Sprintf("bad-total/%d.txt", i)] = strings.Repeat("x", 1<<20-1)
	}
	return files
}

// listAll pages through a list and returns its items.
func (c *client) listAll(method, key string) []any {
	c.t.Helper()
	var all []any
	params := object{}
	for {
		r := c.must(method, params)
		all = append(all, r[key].([]any)...)
		if r["nextCursor"] == nil {
			return all
		}
		params["cursor"] = r["nextCursor"]
	}
}

// readBytes reads a resource.
func (c *client) readBytes(uri string) []byte {
	c.t.Helper()
	r := c.must("resources/read", object{"uri": uri})
	content := r["contents"].([]any)[0].(object)
	if content["uri"] != uri || content["mimeType"] == nil || r["ttlMs"] == nil || r["cacheScope"] != "private" || (r["resultType"] == "complete") != c.modern {
		c.t.Errorf("%s: %v", uri, r)
	}
	if s, ok := content["text"].(string); ok {
		return []byte(s)
	}
	data, err := base64.StdEncoding.DecodeString(content["blob"].(string))
	must.Do(c.t, err)
	return data
}

// verify reads all files of an entry as a host does.
func (c *client) verify(entry object) {
	c.t.Helper()
	uri := entry["uri"].(string)
	segments := strings.Split(uri, "/")
	if name := entry["frontmatter"].(object)["name"]; segments[len(segments)-2] != name {
		c.t.Errorf("%s is of the skill %v", uri, name)
	}
	if !slices.Contains(field(entry["resources"], "uri"), uri) {
		c.t.Errorf("%s is not among its resources", uri)
	}
	for _, v := range entry["resources"].([]any) {
		f := v.(object)
		data := c.readBytes(f["uri"].(string))
		sum := sha256.Sum256(data)
		if f["digest"] != "sha256:"+hex.EncodeToString(sum[:]) || f["size"] != float64(len(data)) {
			c.t.Errorf("%v: %v of %v bytes, read %d", f["uri"], f["digest"], f["size"], len(data))
		}
	}
}

func TestSkillsList(t *testing.T) {
	eras(t, func(t *testing.T, modern bool) {
		c := serve(t, few(), "").connect(t, modern)
		r := c.must("skills/list", nil)
		if r["resultType"] != "complete" || r["ttlMs"] == nil || r["cacheScope"] != "private" {
			t.Errorf("resultType %v, ttlMs %v, cacheScope %v", r["resultType"], r["ttlMs"], r["cacheScope"])
		}
		if r = c.must("skills/list", object{}); len(r["skills"].([]any)) != 9 {
			t.Fatalf("skills: %q", field(r["skills"], "uri"))
		}
		for _, v := range r["skills"].([]any) {
			entry := v.(object)
			c.verify(entry)
			got := c.must("skills/get", object{"uri": entry["uri"]})
			if diff := cmp.Diff(entry, got["skill"]); diff != "" || got["resultType"] != "complete" || got["ttlMs"] == nil || got["cacheScope"] == nil {
				t.Errorf("skills/get of %v: %v %s", entry["uri"], got, diff)
			}
		}
		entry := r["skills"].([]any)[1].(object)
		wantFront := object{"name": "pdf-forms", "description": "Fills in the fields of PDF forms. Use when a form is to be filled in.", "license": "MIT",
			"tags": []any{"pdf", "office"}, "requires": []any{"pdf-base", "nowhere"}}
		if diff := cmp.Diff(wantFront, entry["frontmatter"]); diff != "" {
			t.Error(diff)
		}
		want(t, "resources", field(entry["resources"], "uri"), "skill://pdf-forms/SKILL.md", "skill://pdf-forms/empty.txt", "skill://pdf-forms/logo.png",
			"skill://pdf-forms/odd%20name%231.md", "skill://pdf-forms/references/deep/x.md", "skill://pdf-forms/references/fields.md", "skill://pdf-forms/scripts/fill.py")
		c.refused("skills/list", object{"cursor": "x"})
	})
}

// TestSkillsQuery: a query lists what fits it, best first, in the scope of the server, page by page
// from any server of the catalog.
func TestSkillsQuery(t *testing.T) {
	files := few()
	for i := range 60 {
		files[fmt.Sprintf("sail-%02d/SKILL.md", i)] = doc(fmt.Sprintf("sail-%02d", i), fmt.Sprintf("Sails boat number %d across the bay. Use when a boat has to be sailed.", i))
	}
	eras(t, func(t *testing.T, modern bool) {
		c := serve(t, files, "clerk").connect(t, modern)
		r := c.must("skills/list", object{"query": "fill in a PDF form"})
		if found := field(r["skills"], "uri"); len(found) == 0 || found[0] != "skill://pdf-forms/SKILL.md" {
			t.Errorf("found %q", found)
		}
		c.verify(r["skills"].([]any)[0].(object))
		for _, nothing := range []string{"plan the surprise party of the secret plan", "sail a boat across the bay"} {
			if r := c.must("skills/list", object{"query": nothing}); slices.ContainsFunc(field(r["skills"], "uri"), func(uri string) bool {
				return strings.Contains(uri, "secret") || strings.Contains(uri, "sail-")
			}) {
				t.Errorf("out of the scope is found %q", field(r["skills"], "uri"))
			}
		}
		k := serve(t, files, "")
		c = k.connect(t, modern)
		const query = "sail a boat across the bay"
		first := c.must("skills/list", object{"query": query})
		next, _ := first["nextCursor"].(string)
		if len(first["skills"].([]any)) != 50 || next == "" {
			t.Fatalf("the first page has %d skills, then %q", len(first["skills"].([]any)), next)
		}
		other := &kit{Server: mcpserver.New(k.catalog, nil), catalog: k.catalog}
		second := other.connect(t, modern).must("skills/list", object{"query": query, "cursor": next})
		all := append(field(first["skills"], "uri"), field(second["skills"], "uri")...)
		slices.Sort(all)
		if n := len(slices.Compact(all)); second["nextCursor"] != nil || n < 55 {
			t.Errorf("both pages have %d skills, then %v", n, second["nextCursor"])
		}
		c.refused("skills/list", object{"query": "another", "cursor": next})
		c.refused("skills/list", object{"cursor": next})
		c.refused("skills/list", object{"query": 1})
	})
}

// TestNastySkills: all skills that can be published are listed, and no others.
func TestNastySkills(t *testing.T) {
	k := serve(t, nasty(), "")
	c := k.connect(t, true)
	list := c.listAll("skills/list", "skills")
	var names []string
	for _, v := range list {
		c.verify(v.(object))
		names = append(names, v.(object)["frontmatter"].(object)["name"].(string))
	}
	want(t, "published", names, "good-bytes", "good-crlf", "good-hidden-body", "good-nested", "good-yaml")
	resources := field(c.listAll("resources/list", "resources"), "name") // those read last come first
	slices.Sort(resources)
	want(t, "resources", resources, names...)
	all, err := k.catalog.List(t.Context(), nil, &repertoire.ListOptions{Shadowed: true})
	must.Do(t, err)
	if len(all) < 30 {
		t.Errorf("the catalog has %d skills only", len(all))
	}
	for _, e := range all {
		if !strings.HasPrefix(e.ID, "good-") {
			for _, uri := range []string{"skill://" + e.ID + "/SKILL.md", "skill://" + e.ID + "/" + e.Name + "/SKILL.md"} {
				c.refused("skills/get", object{"uri": uri})
				c.refused("resources/read", object{"uri": uri})
				c.refused("resources/directory/read", object{"uri": strings.TrimSuffix(uri, "/SKILL.md")})
			}
		}
	}
	front := list[4].(object)["frontmatter"]
	wanted := object{"name": "good-yaml", "description": `Fine "skill" <b>&amp;</b>.`, "date": "2026-01-01", "a": 14.0, "b": "1_000", "c": 31.0, "d": 1000.0,
		"e": nil, "1": "one", "true": "two", "<<": "x", "f": []any{1.0, "two", 3.5}, "g": []any{1.0, "two", 3.5}, "h": "tab\tand \" and é", "u": "日本 😀"}
	if diff := cmp.Diff(wanted, front); diff != "" {
		t.Error(diff)
	}
	if front := list[1].(object)["frontmatter"].(object); front["description"] != "Fine skill in lines.\n" || front["x"] != "a\nb\n" {
		t.Errorf("CRLF: %q", front)
	}
}

func TestSkillsGetRefuses(t *testing.T) {
	c := serve(t, few(), "").connect(t, true)
	for _, uri := range []string{
		"", "skill://", "skill:///SKILL.md", "skill://nothing/SKILL.md", "skill://pdf-forms", "skill://pdf-forms/", "skill://pdf-forms/skill.md",
		"skill://PDF-Forms/SKILL.md", "skill://pdf-forms/SKILL.md/", "skill://pdf-forms//SKILL.md", "skill://pdf-forms/./SKILL.md",
		"skill://pdf-forms/scripts/fill.py", "skill://pdf-forms/SKILL.md?x", "skill://pdf-forms/SKILL.md#x", "skill://pdf-forms/../pdf-base/SKILL.md",
		"skill://team%2Fpdf-forms/SKILL.md", "skill://team/pdf-forms/SKILL.md", "file:///pdf-forms/SKILL.md", "SKILL://pdf-forms/SKILL.md", "skill://pdf%2Dforms/SKILL.md",
		"skill://%zz/SKILL.md",
	} {
		c.refused("skills/get", object{"uri": uri})
		if strings.HasSuffix(uri, ".py") || strings.HasSuffix(uri, "/./SKILL.md") || strings.TrimSuffix(uri, "/") == "skill://pdf-forms" {
			continue // a file, and a folder
		}
		c.refused("resources/read", object{"uri": uri})
		c.refused("resources/directory/read", object{"uri": uri})
	}
	c.refused("skills/get", object{})
	c.refused("skills/get", object{"uri": 1})
	c.refused("resources/read", object{"uri": "skill://pdf-forms"})
	for _, bad := range []string{"references/../scripts/fill.py", "..", "%2e%2e/pdf-base/SKILL.md", "/etc/passwd", "%2Fetc/passwd", "a%5Cb", "C:x", "a:b", "nul", "./com1.txt", "a%00", "%FF", "a.", "a%20/b"} {
		for _, method := range []string{"resources/read", "resources/directory/read"} {
			contains(t, method, c.refused(method, object{"uri": "skill://pdf-forms/" + bad}), "relative to the skill's folder")
		}
	}
	contains(t, "a folder", c.refused("resources/read", object{"uri": "skill://pdf-forms/scripts/"}), "is a folder")
	c.refused("resources/read", object{"uri": "skill://pdf-forms/odd name#1.md"})
}

func TestReadDirectory(t *testing.T) {
	eras(t, func(t *testing.T, modern bool) {
		c := serve(t, few(), "").connect(t, modern)
		r := c.must("resources/directory/read", object{"uri": "skill://pdf-forms"})
		if r["resultType"] != "complete" {
			t.Errorf("resultType %v", r["resultType"])
		}
		want(t, "top", field(r["resources"], "uri"), "skill://pdf-forms/SKILL.md", "skill://pdf-forms/empty.txt", "skill://pdf-forms/logo.png",
			"skill://pdf-forms/odd%20name%231.md", "skill://pdf-forms/references", "skill://pdf-forms/scripts")
		folder := r["resources"].([]any)[4]
		if diff := cmp.Diff(object{"uri": "skill://pdf-forms/references", "name": "references", "mimeType": "inode/directory"}, folder); diff != "" {
			t.Error(diff)
		}
		r = c.must("resources/directory/read", object{"uri": "skill://pdf-forms/references"})
		want(t, "references", field(r["resources"], "name"), "deep", "fields.md")
		r = c.must("resources/directory/read", object{"uri": "skill://pdf-forms/references/deep"})
		want(t, "deep", field(r["resources"], "name"), "x.md")
		for uri, same := range map[string]string{
			"skill://pdf-forms/": "skill://pdf-forms", "skill://pdf-forms/references/": "skill://pdf-forms/references",
			"skill://pdf-forms/./references": "skill://pdf-forms/references", "skill://pdf-forms/references/.//deep/": "skill://pdf-forms/references/deep",
		} {
			if diff := cmp.Diff(c.must("resources/directory/read", object{"uri": same})["resources"], c.must("resources/directory/read", object{"uri": uri})["resources"]); diff != "" {
				t.Errorf("%s (-want +got):\n%s", uri, diff)
			}
		}
		for _, uri := range []string{"skill://pdf-forms/./references//fields.md", "skill://pdf-forms/references/./fields.md"} {
			content := c.must("resources/read", object{"uri": uri})["contents"].([]any)[0].(object)
			if content["uri"] != uri || content["text"] != "one\ntwo\nthree\nfour\n" {
				t.Errorf("%s: %v", uri, content)
			}
		}
		for _, uri := range []string{"skill://pdf-forms/SKILL.md", "skill://pdf-forms/ref", "skill://pdf-forms/nothing", "skill://"} {
			c.refused("resources/directory/read", object{"uri": uri})
		}
		c.refused("resources/directory/read", object{"uri": "skill://pdf-forms", "cursor": "x"})
	})
}

// TestScope asks in every way for what an agent may not see.
func TestScope(t *testing.T) {
	k := serve(t, few(), "clerk")
	c := k.connect(t, true)
	say := c.fails("read_skill", object{"id": "secret-plan"})
	if other := c.fails("read_skill", object{"id": "secret-plan2"}); other != strings.Replace(say, "secret-plan", "secret-plan2", 1) {
		t.Errorf("what is hidden is told apart from what is not there: %q, %q", say, other)
	}
	contains(t, "error", say, "there are 8;")
	c.fails("read_skill", object{"id": "team/secret-plan"})
	c.fails("read_skill_resource", object{"id": "secret-plan", "path": "guests.md"})
	c.fails("read_skill_resource", object{"id": "pdf-forms", "path": "../secret-plan/guests.md"})
	contains(t, "error", c.fails("list_skills", object{"tag": "private"}), "No skill has the tag")
	for _, method := range []string{"skills/get", "resources/read"} {
		c.refused(method, object{"uri": "skill://secret-plan/SKILL.md"})
	}
	c.refused("resources/read", object{"uri": "skill://secret-plan/guests.md"})
	c.refused("resources/directory/read", object{"uri": "skill://secret-plan"})
	args := object{"query": "plan the surprise party", "prompt": "plan the surprise party, please"}
	for tool, key := range map[string]string{"search_skills": "query", "suggest_skills": "prompt"} {
		text, r := c.tool(tool, object{key: args[key]})
		if strings.Contains(text, "secret") || strings.Contains(fmt.Sprint(r), "secret") {
			t.Errorf("%s: %s", tool, text)
		}
	}
	for _, list := range [][]string{
		field(c.listAll("skills/list", "skills"), "uri"), field(c.listAll("resources/list", "resources"), "uri"),
	} {
		if len(list) != 8 || strings.Contains(fmt.Sprint(list), "secret") {
			t.Errorf("listed: %v", list)
		}
	}
	if text, r := c.tool("list_skills", object{}); r["total"] != 8.0 || strings.Contains(text, "secret") {
		t.Errorf("list_skills: %s", text)
	}
}

// TestListOrder has what is pinned first, then what was used, then by source and
// name; and a page that goes on where the one before ended.
func TestListOrder(t *testing.T) {
	testsize.Long(t)
	files := few()
	for i := range 600 {
		name := fmt.Sprintf("sort-%03d", i)
		files[name+"/SKILL.md"] = doc(name, "Sorts one of many.")
		if i < 50 {
			other := fmt.Sprintf("sort-0_%03d", i) // which hosts do not take, and which comes first
			files[other+"/SKILL.md"] = doc(other, "Sorts one of many more.")
		}
	}
	c := serve(t, files, "clerk").connect(t, true)
	c.tool("read_skill", object{"id": "sort-333"})
	c.must("resources/read", object{"uri": "skill://sort-444/SKILL.md"})
	first := c.must("skills/list", nil)
	uris := field(first["skills"], "uri")
	want(t, "first", uris[:4], "skill://sort-songs/SKILL.md", "skill://sort-444/SKILL.md", "skill://sort-333/SKILL.md", "skill://pdf-base/SKILL.md")
	c.tool("read_skill", object{"id": "sort-555"}) // moves it, but not on the next pages
	params := object{"cursor": first["nextCursor"]}
	for params["cursor"] != nil {
		r := c.must("skills/list", params)
		uris = append(uris, field(r["skills"], "uri")...)
		params["cursor"] = r["nextCursor"]
	}
	if n := len(uris); n != 500 {
		t.Errorf("%d skills are listed", n)
	}
	slices.Sort(uris)
	if n := len(slices.Compact(uris)); n != 500 {
		t.Errorf("%d different skills are listed", n)
	}
	c.must("skills/get", object{"uri": "skill://sort-599/SKILL.md"}) // served, though not listed
	for _, bad := range []any{"e30", "eyJvIjoieCIsIm4iOjF9", "eyJuIjoxfQ", strings.Repeat("x", 2000), "eyJhIjoiYSJ9"} {
		contains(t, "error", c.refused("skills/list", object{"cursor": bad}), "cursor")
		c.refused("resources/list", object{"cursor": bad})
	}
}

func TestRenamed(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, map[string]string{"pdf/SKILL.md": doc("pdf", "Reads PDF files."), "pdf/a/b.md": "b"})
	k := serve(t, few(), "", func(cfg *repertoire.Config, _ *mcpserver.Options) {
		cfg.Sources = append(cfg.Sources, renaming(t, dir, map[string]string{"pdf": "other pdf"}))
	})
	c := k.connect(t, true)
	const uri = "skill://other%20pdf/pdf/SKILL.md"
	entry := c.must("skills/get", object{"uri": uri})["skill"].(object)
	c.verify(entry)
	r := c.must("resources/directory/read", object{"uri": "skill://other%20pdf/pdf/a"})
	want(t, "folder", field(r["resources"], "uri"), "skill://other%20pdf/pdf/a/b.md")
	if !slices.Contains(field(c.listAll("skills/list", "skills"), "uri"), uri) {
		t.Error("the renamed skill is not listed")
	}
	c.refused("skills/get", object{"uri": "skill://other%20pdf/SKILL.md"})
	c.refused("skills/get", object{"uri": "skill://pdf/SKILL.md"})
}

// TestDigestsAreOfNow changes a skill that was indexed before.
func TestDigestsAreOfNow(t *testing.T) {
	k := serve(t, few(), "")
	c := k.connect(t, true)
	write(t, k.dir, map[string]string{"pdf-base/SKILL.md": doc("pdf-base", "Is another one."), "pdf-base/new.md": "new"})
	entry := c.must("skills/get", object{"uri": "skill://pdf-base/SKILL.md"})["skill"].(object)
	c.verify(entry)
	if entry["frontmatter"].(object)["description"] != "Is another one." || len(entry["resources"].([]any)) != 2 {
		t.Errorf("entry: %v", entry)
	}
	must.Do(t, os.RemoveAll(filepath.Join(k.dir, "pdf-base")))
	for range 2 { // still indexed, and not any more
		if _, err := c.call("skills/get", object{"uri": "skill://pdf-base/SKILL.md"}); err == nil {
			t.Error("a skill that is gone is served")
		}
		k.rescan(t)
	}
	c.refused("skills/get", object{"uri": "skill://pdf-base/SKILL.md"})
}

func TestListChanged(t *testing.T) {
	t.Parallel()
	eras(t, func(t *testing.T, modern bool) {
		t.Parallel()
		changed := make(chan struct{}, 100)
		k := serve(t, few(), "", func(cfg *repertoire.Config, _ *mcpserver.Options) {
			cfg.Schedule, cfg.Background, cfg.Changed = "@every 1s", true, func() { changed <- struct{}{} }
		})
		c := k.connect(t, modern)
		c.must("resources/list", nil)
		if modern {
			c.ask("subscriptions/listen", object{"notifications": object{"resourcesListChanged": true, "toolsListChanged": true}})
			if m := c.next(); m["method"] != "notifications/subscriptions/acknowledged" {
				t.Fatalf("subscription: %v", m)
			}
		}
		write(t, k.dir, map[string]string{"brand-new/SKILL.md": doc("brand-new", "Is brand new.")})
		for listed := false; !listed; { // the first scan may count as a change
			select {
			case <-changed:
				k.Changed()
			case <-time.After(patience):
				t.Fatal("the catalog did not notice")
			}
			if m := c.next(); m["method"] != "notifications/resources/list_changed" {
				t.Fatalf("notification: %v", m)
			}
			listed = slices.Contains(field(c.listAll("resources/list", "resources"), "uri"), "skill://brand-new/SKILL.md")
		}
	})
}

func TestNoSubscriptions(t *testing.T) {
	c := serve(t, few(), "").connect(t, false)
	if _, err := c.call("resources/subscribe", object{"uri": "skill://pdf-forms/SKILL.md"}); err == nil {
		t.Error("a subscription that is not advertised works")
	}
	r := c.must("resources/templates/list", nil)
	if list := field(r["resourceTemplates"], "uriTemplate"); len(list) != 1 || !strings.HasPrefix(list[0], "skill://{") {
		t.Errorf("templates: %q", list)
	}
}
