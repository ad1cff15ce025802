package install

import (
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/repertoire-skills/repertoire/internal/must"
	"github.com/repertoire-skills/repertoire/skill"
)

func TestParseSource(t *testing.T) {
	const host = "https://github.com/o/r"
	for text, want := range map[string]Source{
		"o/r":                                   {Git, host, "", ""},
		"o/r.git":                               {Git, host, "", ""},
		"o/r/":                                  {Git, host, "", ""},
		"o/r/skills/pdf":                        {Git, host, "", "skills/pdf"},
		host:                                    {Git, host, "", ""},
		host + "/":                              {Git, host, "", ""},
		host + ".git":                           {Git, host + ".git", "", ""},
		host + "/tree/v1/skills/pdf":            {Git, host, "v1", "skills/pdf"},
		host + "/tree/v1":                       {Git, host, "v1", ""},
		host + "/blob/main/skills/pdf/SKILL.md": {Git, host, "main", "skills/pdf"},
		host + "/blob/main/SKILL.md":            {Git, host, "main", ""},
		"https://gitlab.com/a/b/c/-/tree/v1/x":  {Git, "https://gitlab.com/a/b/c", "v1", "x"},
		"https://codeberg.org/o/r/src/tag/v1/x": {Git, "https://codeberg.org/o/r", "v1", "x"},
		"https://bitbucket.org/o/r/src/v1/x":    {Git, "https://bitbucket.org/o/r", "v1", "x"},
		"git+https://host/x.zip":                {Git, "git+https://host/x.zip", "", ""},
		"ssh://git@host:22/o/r":                 {Git, "ssh://git@host:22/o/r", "", ""},
		"git@host:o/r.git":                      {Git, "git@host:o/r.git", "", ""},
		"host:o/r":                              {Git, "host:o/r", "", ""},
		"https://[2001:db8::1]/o/r":             {Git, "https://[2001:db8::1]/o/r", "", ""},
		"https://[2001:db8::1]:8443/o/x.zip":    {Archive, "https://[2001:db8::1]:8443/o/x.zip", "", ""},
		"ssh://git@[::1]:22/o/r":                {Git, "ssh://git@[::1]:22/o/r", "", ""},
		"git@[2001:db8::1]:o/r":                 {Git, "git@[2001:db8::1]:o/r", "", ""},
		"[2001:db8::1]:o/r":                     {Git, "[2001:db8::1]:o/r", "", ""},
		"http://[::1]:80":                       {Site, "http://[::1]:80", "", ""},
		"./a::b":                                {Folder, "./a::b", "", ""},
		"file:///srv/r.git":                     {Git, "file:///srv/r.git", "", ""},
		"file:///srv/x.tgz":                     {Archive, "/srv/x.tgz", "", ""},
		"https://host/x.tar.gz?v=1":             {Archive, "https://host/x.tar.gz?v=1", "", ""},
		host + "/archive/v1.zip":                {Archive, host + "/archive/v1.zip", "", ""},
		"x.skill":                               {Archive, "x.skill", "", ""},
		"dir/x.ZIP":                             {Archive, "dir/x.ZIP", "", ""},
		"https://host":                          {Site, "https://host", "", ""},
		"https://host/":                         {Site, "https://host", "", ""},
		"https://host/docs" + index:             {Site, "https://host/docs" + index, "", ""},
		"http://localhost:80":                   {Site, "http://localhost:80", "", ""},
		"registry+https://h/base/-/urn:air:a:b": {Registry, "registry+https://h/base/-/urn:air:a:b", "", ""},
		".":                                     {Folder, ".", "", ""},
		"./a":                                   {Folder, "./a", "", ""},
		"../a/b":                                {Folder, "../a/b", "", ""},
		"/a":                                    {Folder, "/a", "", ""},
		"~/a":                                   {Folder, "~/a", "", ""},
		`C:\a`:                                  {Folder, `C:\a`, "", ""},
		"pdf":                                   {Folder, "pdf", "", ""},
	} {
		got, err := ParseSource(text)
		if diff := cmp.Diff(want, got); diff != "" || err != nil {
			t.Errorf("%s: %v\n%s", text, err, diff)
		}
	}
}

// TestHelpers: no text is a helper of git, which could run any program.
func TestHelpers(t *testing.T) {
	for _, text := range []string{"ext::sh -c x", "git+ext::sh", "https::x/[y", "fd::17/x", "a@ext::b", "[ext::sh", "x[ext::sh", "git@[ext::sh]:o/r", "https://[ext::sh]/o/r", "::x"} {
		if s, err := ParseSource(text); err == nil {
			t.Errorf("%s: %+v", text, s)
		}
	}
}

// TestRegistrySource: a registry is asked over https, or on this machine.
func TestRegistrySource(t *testing.T) {
	for _, text := range []string{"registry+https://h", "registry+https://h/-/", "registry+http://h/-/x", "registry+file:///h/-/x", "registry+/-/x", "registry+h/-/x"} {
		if s, err := ParseSource(text); err == nil {
			t.Errorf("%s: %+v", text, s)
		}
	}
	_, err := installer(t, nil).Install(t.Context(), Request{Source: "registry+http://127.0.0.1:1/-/x"}, new(caller))
	says(t, err, "no registry is configured here")
}

// TestSecrets: what may be a secret gets into no lock and no message.
func TestSecrets(t *testing.T) {
	const token = "ghp_0123456789abcdefghijkl"
	for _, text := range []string{"https://" + token + "@h/a/b", "https://x:" + token + "@h/a/b", "git+https://" + token + "@h/a", "https://h:bad/?token=" + token,
		"registry+https://" + token + "@h/-/x", "registry+https://h/?token=" + token + "/-/x"} {
		if s, err := ParseSource(text); err == nil || strings.Contains(err.Error(), token) {
			t.Errorf("%s: %+v, %v", text, s, err)
		}
	}
	s, err := ParseSource("https://h/a.zip?token=" + token)
	if err != nil || strings.Contains(s.String(), token) {
		t.Errorf("%s, %v", s, err)
	}
	if _, err := ParseSource("https://team@dev.azure.com/team/a/_git/b"); err != nil {
		t.Error(err)
	}
}

// helper is what git takes for the name of a helper, and "::".
var helper = regexp.MustCompile(`^[A-Za-z0-9+.-]*::`)

// FuzzParseSource: what is accepted cannot be an option or a helper of git, stays in the
// source, and means the same when the lock is read.
func FuzzParseSource(f *testing.F) {
	for _, seed := range []string{"o/r/x", "https://h/o/r/tree/v1/x", "https://h/o//tree/v1", "git@h:p", "file:///x", "ext::x", "git@[::1]:o/r", "https://[2001:db8::1]/o/r", "-x", "./x.zip", "https://h", `C:\x`, "git+ssh://h/x", "registry+https://h/-/x", "registry+http://h/-/x"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		s, err := ParseSource(text)
		if err != nil {
			if s != (Source{}) {
				t.Errorf("%q: %v, %+v", text, err, s)
			}
			return
		}
		url := strings.TrimPrefix(s.Origin, "git+")
		if strings.HasPrefix(url, "-") || strings.HasPrefix(s.Ref, "-") || helper.MatchString(url) || strings.ContainsAny(s.Origin+s.Ref+s.Sub, "\x00\n\r") {
			t.Errorf("%q: %+v", text, s)
		}
		for part := range strings.SplitSeq(s.Sub, "/") {
			if part == ".." || skill.IsExcluded(part) {
				t.Errorf("%q: %+v", text, s)
			}
		}
		again, err := ParseSource(s.Origin)
		if err != nil || again.Kind != s.Kind || again.Origin != s.Origin {
			t.Errorf("%q: %+v is read as %+v, %v", text, s, again, err)
		}
	})
}

// FuzzParseLock: a lock is read as it was written, or refused.
func FuzzParseLock(f *testing.F) {
	f.Add([]byte(`{"version":1,"skills":{"a":{"source":"o/r","kind":"git","path":".","digest":"sha256:x","installed":"2026-05-04T03:02:01Z","files":{"SKILL.md":"` + strings.Repeat("a", 64) + ` executable"}}}}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		l, err := parseLock(data)
		if err != nil {
			return
		}
		text, err := l.encode()
		must.Do(t, err)
		again, err := parseLock(text)
		must.Do(t, err)
		if diff := cmp.Diff(l, again); diff != "" {
			t.Error(diff)
		}
	})
}

// FuzzMinisig: a signature that is not one is refused without a panic.
func FuzzMinisig(f *testing.F) {
	f.Add(newSigner(f, "12345678").sign(nil, true, "x"))
	f.Fuzz(func(t *testing.T, text string) {
		if m, err := parseMinisig(text); err == nil && m.verify(make([]byte, 32), nil) == nil {
			t.Logf("%q is valid for a key of zeros", text) // such signatures exist
		}
		parseKey(text)
	})
}
