package contextprovider_test

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/repertoire-skills/repertoire/contextprovider"
	"github.com/repertoire-skills/repertoire/internal/must"
	"github.com/repertoire-skills/repertoire/internal/words"
	"github.com/repertoire-skills/repertoire/search"
	"github.com/repertoire-skills/repertoire/skill"
	"github.com/repertoire-skills/repertoire/source"
)

func TestBody(t *testing.T) {
	text := doc("pdf", "Reads PDF files.", "# PDF\n\nRead `references/forms.md`.\n", "requires: [ocr, printing]")
	src, dir := folder(t, "tools", map[string]string{
		"pdf/SKILL.md":            text,
		"pdf/references/forms.md": "Forms.\n",
		"pdf/scripts/fill.py":     "print()\n",
		"ocr/SKILL.md":            doc("ocr", "Reads scans.", "Body.\n"),
	})
	k := open(t, src)
	want := contextprovider.Body{
		ID: "pdf", Name: "pdf", Source: "tools",
		Location: filepath.Join(dir, "pdf", "SKILL.md"), Folder: filepath.Join(dir, "pdf"),
		Text: text, Tokens: words.Tokens(text),
		Resources: []contextprovider.Resource{
			{Path: "references/forms.md", Kind: skill.Reference, Size: 7},
			{Path: "scripts/fill.py", Kind: skill.Script, Size: 8},
		},
		Requires: []contextprovider.Requirement{{Name: "ocr", Available: true}, {Name: "printing"}},
	}
	if diff := cmp.Diff(want, k.body(t, "pdf", nil)); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
	if b := k.body(t, "ocr", nil); b.Resources == nil || len(b.Resources) != 0 {
		t.Errorf("resources of a skill without any: %#v, want an empty list, not null", b.Resources)
	}
}

func sum(s string) string { return fmt.Sprintf("%x", sha256.Sum256([]byte(s))) }

// TestBodyStale: instructions are stale when SKILL.md changed, and a manifest when
// any file did.
func TestBodyStale(t *testing.T) {
	for _, edited := range []string{"SKILL.md", "references/forms.md", "new.txt"} {
		t.Run(edited, func(t *testing.T) {
			src, dir := folder(t, "tools", map[string]string{
				"pdf/SKILL.md":            doc("pdf", "Reads PDF files.", "Old.\n"),
				"pdf/references/forms.md": "Forms.\n",
			})
			k := open(t, src)
			if k.body(t, "pdf", nil).Stale {
				t.Error("stale before anything changed")
			}
			text := doc("pdf", "Reads PDF files.", "New.\n")
			must.Write(t, filepath.Join(dir, "pdf", filepath.FromSlash(edited)), text)
			b := k.body(t, "pdf", nil)
			if m, err := k.Manifest(t.Context(), "pdf", nil, true); err != nil || !m.Stale {
				t.Errorf("manifest is stale: %t, %v", m.Stale, err)
			}
			if own := edited == "SKILL.md"; b.Stale != own || own != (b.Text == text) {
				t.Errorf("stale %t with text %q", b.Stale, b.Text)
			}
			k.sync(t)
			if k.body(t, "pdf", nil).Stale {
				t.Error("stale after it was indexed again")
			}
		})
	}
}

func TestBodyHidden(t *testing.T) {
	k := open(t, memory(t, "tools", map[string]string{
		"pdf/SKILL.md": doc("pdf", "Reads PDF files.", "Do\u200b this.\U000E0041\U000E0042\r\nAnd \u202ethat.\n"),
	}))
	b := k.body(t, "pdf", nil)
	if want := doc("pdf", "Reads PDF files.", "Do this.\nAnd that.\n"); b.Text != want || b.HiddenChars != 4 {
		t.Errorf("%d hidden characters, text %q; want 4, %q", b.HiddenChars, b.Text, want)
	}
	if b.Stale {
		t.Error("stale, although only hidden characters differ")
	}
}

// TestBodyShadowed: the copy that is not offered can be had by its source.
func TestBodyShadowed(t *testing.T) {
	k := open(t,
		memory(t, "mine", map[string]string{"pdf/SKILL.md": doc("pdf", "Mine.", "First.\n")}),
		memory(t, "yours", map[string]string{"pdf/SKILL.md": doc("pdf", "Yours.", "Second.\n")}))
	for id, want := range map[string]string{"pdf": "First.", "PDF": "First.", "mine/pdf": "First.", "yours/pdf": "Second."} {
		if b := k.body(t, id, nil); !strings.HasSuffix(b.Text, want+"\n") {
			t.Errorf("%s: text %q, want it to end in %s", id, b.Text, want)
		}
	}
	if b := k.body(t, "yours/pdf", nil); b.ID != "yours/pdf" || b.Name != "pdf" || b.Location != "yours:pdf/SKILL.md" {
		t.Errorf("ID %s, name %s, location %s", b.ID, b.Name, b.Location)
	}
}

// TestFolder: the folder of a skill that is not on disk has the form of its
// location, whatever the label and wherever the skill.
func TestFolder(t *testing.T) {
	skillMD := doc("pdf", "Reads PDF files.", "")
	tests := []struct{ label, path, location, folder string }{
		{"bundled", "pdf/SKILL.md", "bundled:pdf/SKILL.md", "bundled:pdf"},
		{"team:a", "docs/pdf/SKILL.md", "team:a:docs/pdf/SKILL.md", "team:a:docs/pdf"},
		{"team:a", "SKILL.md", "team:a:SKILL.md", "team:a:."},
	}
	for _, tt := range tests {
		k := open(t, memory(t, tt.label, map[string]string{tt.path: skillMD}))
		if b := k.body(t, "pdf", nil); b.Location != tt.location || b.Folder != tt.folder {
			t.Errorf("location %s, folder %s; want %s, %s", b.Location, b.Folder, tt.location, tt.folder)
		}
	}
}

// scoped is a catalog of which the agent sees only the skills named public-….
func scoped(t *testing.T) (*kit, *search.Agent) {
	k := open(t, memory(t, "tools", map[string]string{
		"public-a/SKILL.md": doc("public-a", "Zibbel snarks.", "", "requires: [secret-b, public-c]"),
		"public-c/SKILL.md": doc("public-c", "More.", ""),
		"secret-b/SKILL.md": doc("secret-b", "Zibbel snarks, secretly.", ""),
		"secret-b/key.txt":  "confidential\n",
	}), everyday(t))
	return k, &search.Agent{Name: "a", Include: search.Rules{Names: []string{"public-*"}}}
}

// TestScope: what an agent does not see is answered like what does not exist,
// and its name is never told.
func TestScope(t *testing.T) {
	k, a := scoped(t)
	for _, id := range []string{"secret-b", "SECRET-B", "tools/secret-b", "secret-", "sorts-invoices"} {
		_, bodyErr := k.Body(t.Context(), id, a)
		_, fileErr := k.File(t.Context(), id, "key.txt", a)
		for _, err := range []error{bodyErr, fileErr} {
			if !errors.Is(err, skill.ErrNotFound) {
				t.Errorf("%s: error %v, want %v", id, err, skill.ErrNotFound)
				continue
			}
			rest := strings.Replace(err.Error(), fmt.Sprintf("%q", id), "", 1)
			if want := "no skill  among 2"; rest != want {
				t.Errorf("%s: error %q, want nothing but %q", id, rest, want)
			}
		}
	}
	if b := k.block(t, "secret-b", contextprovider.Budget{}, a); strings.Contains(b.Text, "secret") {
		t.Errorf("block names a skill out of scope:\n%s", b.Text)
	}
	want := []contextprovider.Requirement{{Name: "public-c", Available: true}, {Name: "secret-b"}}
	if diff := cmp.Diff(want, k.body(t, "public-a", a).Requires); diff != "" {
		t.Errorf("requirements (-want +got)\n%s", diff)
	}
}

// TestMisspeltScope: a rule of which the catalog has nothing is no error, and tells the
// agent nothing.
func TestMisspeltScope(t *testing.T) {
	k, _ := scoped(t)
	a := &search.Agent{Name: "a", Exclude: search.Rules{Names: []string{"secret-a", "secret-b", "secret-c"}}}
	if b := k.body(t, "public-a", a); b.ID != "public-a" {
		t.Errorf("body of %s", b.ID)
	}
	if _, err := k.Body(t.Context(), "secret-x", a); err == nil || strings.Contains(err.Error(), "secret-a") {
		t.Errorf("error %v", err)
	}
}

func TestFile(t *testing.T) {
	k := open(t, memory(t, "tools", map[string]string{
		"pdf/SKILL.md":    doc("pdf", "Reads PDF files.", ""),
		"pdf/ref/text.md": "Do\u200b this.\r\n",
		"pdf/icon.png":    "\x89PNG\r\n\x00\x1a",
		"pdf/latin1.txt":  "caf\xe9",
		"pdf/empty":       "",
	}))
	tests := []contextprovider.File{
		{Path: "ref/text.md", Size: 13, Text: "Do this.\n", Data: []byte("Do\u200b this.\r\n"), HiddenChars: 1},
		{Path: "icon.png", Size: 8, Binary: true, Data: []byte("\x89PNG\r\n\x00\x1a")},
		{Path: "latin1.txt", Size: 4, Binary: true, Data: []byte("caf\xe9")},
		{Path: "empty", Data: []byte{}},
	}
	for _, want := range tests {
		want.ID, want.SHA256 = "pdf", sum(string(want.Data))
		for _, name := range []string{want.Path, "./" + want.Path, ".//./" + want.Path} {
			got, err := k.File(t.Context(), "pdf", name, nil)
			must.Do(t, err)
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("%s (-want +got)\n%s", name, diff)
			}
		}
	}
}

func TestFileRefused(t *testing.T) {
	src, dir := folder(t, "tools", map[string]string{
		"pdf/SKILL.md": doc("pdf", "Reads PDF files.", ""), "pdf/text.md": "x", "ocr/SKILL.md": doc("ocr", "Reads.", ""),
	})
	must.Write(t, filepath.Join(dir, "outside.txt"), "confidential")
	k := open(t, src)
	for name, want := range map[string]error{
		"../outside.txt": source.ErrRefused, "../ocr/SKILL.md": source.ErrRefused, "/etc/passwd": source.ErrRefused,
		`..\outside.txt`: source.ErrRefused, "": source.ErrRefused, ".": source.ErrRefused, "text.md/": source.ErrRefused,
		"x\x00y": source.ErrRefused, "test.md": fs.ErrNotExist, "text.md/x": fs.ErrNotExist,
	} {
		f, err := k.File(t.Context(), "pdf", name, nil)
		var own *source.FileError
		if !errors.Is(err, want) || !errors.As(err, &own) || f.Data != nil {
			t.Errorf("%q: error %v with data %q, want %v", name, err, f.Data, want)
		}
	}
	_, err := k.File(t.Context(), "pdf", strings.Repeat("x", 100_000), nil)
	if !errors.Is(err, source.ErrRefused) || len(err.Error()) > 2000 {
		t.Errorf("a long name: an error of %d bytes: %.100s", len(err.Error()), err)
	}
	_, err = k.File(t.Context(), "pdf", "test.md", nil)
	if want := `reading file of skill pdf: opening "test.md" of skill folder pdf: no such file; did you mean text.md?`; err == nil || err.Error() != want {
		t.Errorf("error %v, want %s", err, want)
	}
}
