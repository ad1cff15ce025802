package wellknown

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"

	"github.com/repertoire-skills/repertoire"
	"github.com/repertoire-skills/repertoire/contextprovider"
	"github.com/repertoire-skills/repertoire/internal/ard"
	"github.com/repertoire-skills/repertoire/internal/catalogtest"
	"github.com/repertoire-skills/repertoire/internal/must"
	"github.com/repertoire-skills/repertoire/source"
)

// TestPublish publishes the skills that an agent sees. One that clients could
// not read, or that changes while it is read, is left out.
func TestPublish(t *testing.T) {
	files := fstest.MapFS{
		"bread/SKILL.md":     {Data: instructions("bread", "Bakes bread.")},
		"cake/SKILL.md":      {Data: instructions("cake", "Bakes cakes.")},
		"cake/notes.md":      {Data: []byte("sweet\n")},
		"Odd Name/SKILL.md":  {Data: instructions("Odd Name", "Has a name that clients refuse.")},
		"internal/SKILL.md":  {Data: instructions("internal", "Is not for others.")},
		"shifting/SKILL.md":  {Data: instructions("shifting", "Changes all the time.")},
		"shifting/clock.txt": {Data: []byte("1\n")},
	}
	src, err := source.New(files, &source.Options{Label: "a"})
	must.Do(t, err)
	c := catalogtest.Open(t, repertoire.Config{Sources: []source.Source{src}})
	others := &repertoire.Agent{Name: "others", Exclude: repertoire.Rules{Names: []string{"internal"}}}
	dir := t.TempDir()
	r, err := Publish(t.Context(), changing{c, files}, others, dir, "")
	must.Do(t, err)
	if r.Skills != 2 || r.Archives != 1 || len(r.Omitted) != 2 {
		t.Errorf("result %+v", r)
	}
	for i, want := range []string{"skill Odd Name is left out: ", "skill shifting is left out: clock.txt changed while it was read; publish again"} {
		if i < len(r.Omitted) && !strings.HasPrefix(r.Omitted[i].Error(), want) {
			t.Errorf("%v, want %s", r.Omitted[i], want)
		}
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := Publish(ended, c, nil, dir, ""); err == nil {
		t.Error("a run that was cut off is no error")
	}
}

// TestPublishAway: while a source is away, no skill of it is removed from a site.
func TestPublishAway(t *testing.T) {
	root, dir := t.TempDir(), t.TempDir()
	lib := filepath.Join(root, "lib")
	for _, name := range []string{"bread", "cake"} {
		must.Do(t, os.MkdirAll(filepath.Join(lib, name), 0o700))
		must.Do(t, os.WriteFile(filepath.Join(lib, name, "SKILL.md"), instructions(name, "Bakes."), 0o600))
	}
	src, err := source.Dir(lib, &source.Options{Label: "lib"})
	must.Do(t, err)
	c, err := repertoire.Open(t.Context(), repertoire.Config{Sources: []source.Source{src}, DB: filepath.Join(root, "catalog.db"), Schedule: repertoire.Never})
	must.Do(t, err)
	defer c.Close()
	rescan := func() {
		t.Helper()
		if _, err := c.Owner().Rescan(t.Context(), nil); err != nil {
			t.Fatal(err)
		}
	}
	rescan()
	if r, err := Publish(t.Context(), c, nil, dir, ""); err != nil || r.Skills != 2 {
		t.Fatalf("result %+v, %v", r, err)
	}
	must.Do(t, os.Rename(lib, lib+"-away"))
	rescan()
	before := tree(t, dir)
	if r, err := Publish(t.Context(), c, nil, dir, ""); err == nil || !strings.Contains(err.Error(), "source lib of skill bread cannot be read now") {
		t.Errorf("result %+v, error %v", r, err)
	}
	if diff := cmp.Diff(before, tree(t, dir)); diff != "" {
		t.Errorf("the site has changed (-want +got)\n%s", diff)
	}
	if r, err := Publish(t.Context(), c, nil, t.TempDir(), ""); err != nil || r.Skills != 0 || len(r.Omitted) != 2 {
		t.Errorf("a new site: %+v, %v", r, err)
	}
	must.Do(t, c.Owner().Forget(t.Context(), "lib"))
	if r, err := Publish(t.Context(), c, nil, dir, ""); err != nil || len(r.Removed) != 4 {
		t.Errorf("forgotten: %+v, %v", r, err)
	}
}

// changing is a catalog of files of which one changes after it was listed.
type changing struct {
	*repertoire.Catalog
	files fstest.MapFS
}

func (c changing) Manifest(ctx context.Context, id string, a *repertoire.Agent) (contextprovider.Manifest, error) {
	m, err := c.Catalog.Manifest(ctx, id, a)
	if id == "shifting" {
		c.files["shifting/clock.txt"] = &fstest.MapFile{Data: []byte("2\n")}
	}
	return m, err
}

// TestManifest: with the URL of the site, clients of ARD find the same files by whole URLs and with
// their digests; without it an earlier manifest goes.
func TestManifest(t *testing.T) {
	files := fstest.MapFS{
		"bread/SKILL.md": {Data: instructions("bread", "Bakes bread.")},
		"cake/SKILL.md":  {Data: instructions("cake", "Bakes cakes.")},
		"cake/notes.md":  {Data: []byte("sweet\n")},
	}
	src, err := source.New(files, &source.Options{Label: "a"})
	must.Do(t, err)
	c := catalogtest.Open(t, repertoire.Config{Sources: []source.Source{src}})
	dir := t.TempDir()
	for base, want := range map[string]string{"http://skills.example.com": "https only", "skills.example.com": "http", "https://a:hunter22@b.example": "password", "https://b.example/?x=1": "query"} {
		if _, err := Publish(t.Context(), c, nil, dir, base); err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "hunter22") {
			t.Errorf("%s: error %v", base, err)
		}
	}
	r, err := Publish(t.Context(), c, nil, dir, "https://skills.example.com/team/")
	if err != nil || r.Manifest != 2 {
		t.Fatalf("result %+v, %v", r, err)
	}
	text := must.Read(t, filepath.Join(dir, ".well-known", "ard.json"))
	if other := must.Read(t, filepath.Join(dir, ".well-known", "ai-catalog.json")); other != text {
		t.Errorf("ai-catalog.json: %s", other)
	}
	m, left, err := ard.ParseManifest([]byte(text))
	if err != nil || len(left) != 0 || len(m.Entries) != 2 {
		t.Fatalf("%s: %v, %v", text, left, err)
	}
	for i, want := range []struct{ id, typ, file string }{
		{"urn:air:skills.example.com:skill:bread", ard.SkillMarkdown, "bread/SKILL.md"},
		{"urn:air:skills.example.com:skill:cake", ard.SkillGzip, "cake.tar.gz"},
	} {
		e := m.Entries[i]
		data := must.Read(t, filepath.Join(dir, ".well-known", "agent-skills", filepath.FromSlash(want.file)))
		if e.Identifier != want.id || e.Type != want.typ || e.URL != "https://skills.example.com/team/.well-known/agent-skills/"+want.file ||
			e.Meta(ard.Digest) != digest([]byte(data)) || !strings.HasPrefix(e.Meta(ard.SkillDigest), "sha256:") {
			t.Errorf("entry %+v", e)
		}
	}
	r, err = Publish(t.Context(), c, nil, dir, "")
	if err != nil || r.Manifest != 0 || !slices.Contains(r.Removed, ".well-known/ard.json") {
		t.Errorf("result %+v, %v", r, err)
	}
}
