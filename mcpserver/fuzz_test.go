package mcpserver

import (
	"path"
	"strings"
	"testing"

	"github.com/repertoire-skills/repertoire/contextprovider"
	"github.com/repertoire-skills/repertoire/skill"
)

func FuzzCursor(f *testing.F) {
	for _, c := range []cursor{{}, {Order: "X", Next: 50}} {
		f.Add(c.encode())
	}
	f.Add("eyJuIjotMX0")
	f.Fuzz(func(t *testing.T, s string) {
		c, err := decodeCursor(s)
		switch {
		case err != nil && c != (cursor{}):
			t.Errorf("%q is malformed, and %+v", s, c)
		case err == nil && s != "" && (c.encode() != s || c.Next < 0 || c == (cursor{})):
			t.Errorf("%q is %+v, which is %q", s, c, c.encode())
		}
	})
}

func FuzzURI(f *testing.F) {
	for _, uri := range []string{"skill://pdf/SKILL.md", "skill://a%20b/c/d%2Fe.md", "skill://%zz", "file:///x", "skill:///", "skill://a/../b"} {
		f.Add(uri, "pdf", "SKILL.md")
	}
	f.Fuzz(func(t *testing.T, uri, id, name string) {
		if got, ok := idOf(uri); ok && (got == "" || !strings.HasPrefix(uri, scheme)) {
			t.Errorf("%q is of the skill %q", uri, got)
		}
		if clean, err := skill.CleanPath(name); err != nil || clean != name {
			return // not the name of a published file
		}
		// A published file is found by its URI, and by no other than those that a
		// SKILL.md may mean it with.
		m := &contextprovider.Manifest{Meta: skill.Meta{ID: id, Name: "name"}, Files: []skill.File{{Path: name}}}
		own := below(root(m), name)
		if got, ok := idOf(own); id != "" && len(own) <= maxURI && (!ok || got != id) {
			t.Errorf("%q of %q is of the skill %q", own, id, got)
		}
		if _, ok := file(m, own); !ok {
			t.Errorf("%q is not found", own)
		}
		clean, err := cleanURI(root(m), uri)
		if again, err2 := cleanURI(root(m), clean); err == nil && (err2 != nil || again != clean) {
			t.Errorf("%q is %q, which is %q, %v", uri, clean, again, err2)
		}
		if _, ok := file(m, clean); ok && path.Clean(strings.TrimPrefix(uri, scheme)) != strings.TrimPrefix(own, scheme) {
			t.Errorf("%q is found as %q", own, uri)
		}
	})
}

func TestRecent(t *testing.T) {
	var r recent
	for range 2 {
		for c := 'a'; c <= 'z'; c++ {
			r.add(string(c))
			r.add("x")
		}
	}
	if got := strings.Join(r.list(), ""); got != "xzywvutsrqponmlkjihgfedcba" {
		t.Errorf("%s", got)
	}
}

func TestOrders(t *testing.T) {
	var o orders
	first := o.keep([]string{"a"})
	if again := o.keep([]string{"a"}); again != first {
		t.Error("equal orders differ")
	}
	for i := range maxOrders {
		o.keep([]string{strings.Repeat("b", i)})
	}
	if _, ok := o.find(first); ok || len(o.list) != maxOrders {
		t.Errorf("%d orders are kept", len(o.list))
	}
}
