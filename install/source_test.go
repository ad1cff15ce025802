package install

import (
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/repertoire-skills/repertoire/install/git"
	"github.com/repertoire-skills/repertoire/internal/must"
	"github.com/repertoire-skills/repertoire/skill"
)

func TestParseSource(t *testing.T) {
	const host = "https://github.com/o/r"
	for text, want := range map[string]Source{
		"o/r":     {Kind: Git, Origin: host},
		"o/r.git": {Kind: Git, Origin: host},
		"https://h/o/x.zip/tree/v1/.agents/SKILL.md": {Kind: Git, Origin: "git+https://h/o/x.zip", Page: "v1/.agents"},
		"o/notes.md":                            {Kind: Git, Origin: "https://github.com/o/notes.md"},
		"o/r/pdf/SKILL.md":                      {Kind: Git, Origin: host, Sub: "pdf"},
		"o/r/SKILL.md":                          {Kind: Git, Origin: host},
		"o/r/":                                  {Kind: Git, Origin: host},
		"o/r/skills/pdf":                        {Kind: Git, Origin: host, Sub: "skills/pdf"},
		host:                                    {Kind: Git, Origin: host},
		host + "/":                              {Kind: Git, Origin: host},
		host + ".git":                           {Kind: Git, Origin: host + ".git"},
		host + "/tree/v1/skills/pdf":            {Kind: Git, Origin: host, Page: "v1/skills/pdf"},
		host + "/tree/v1":                       {Kind: Git, Origin: host, Ref: "v1"},
		host + "/blob/main/skills/pdf/SKILL.md": {Kind: Git, Origin: host, Page: "main/skills/pdf"},
		host + "/blob/main/SKILL.md":            {Kind: Git, Origin: host, Ref: "main"},
		"https://gitlab.com/a/b/c/-/tree/v1/x":  {Kind: Git, Origin: "https://gitlab.com/a/b/c", Page: "v1/x"},
		"https://codeberg.org/o/r/src/tag/v1/x": {Kind: Git, Origin: "https://codeberg.org/o/r", Page: "refs/tags/v1/x"},
		"https://bitbucket.org/o/r/src/v1/x":    {Kind: Git, Origin: "https://bitbucket.org/o/r", Page: "v1/x"},
		"git+https://host/x.zip":                {Kind: Git, Origin: "git+https://host/x.zip"},
		"ssh://git@host:22/o/r":                 {Kind: Git, Origin: "ssh://git@host:22/o/r"},
		"git@host:o/r.git":                      {Kind: Git, Origin: "git@host:o/r.git"},
		"host:o/r":                              {Kind: Git, Origin: "host:o/r"},
		"https://[2001:db8::1]/o/r":             {Kind: Git, Origin: "https://[2001:db8::1]/o/r"},
		"https://[2001:db8::1]:8443/o/x.zip":    {Kind: Archive, Origin: "https://[2001:db8::1]:8443/o/x.zip"},
		"ssh://git@[::1]:22/o/r":                {Kind: Git, Origin: "ssh://git@[::1]:22/o/r"},
		"git@[2001:db8::1]:o/r":                 {Kind: Git, Origin: "git@[2001:db8::1]:o/r"},
		"[2001:db8::1]:o/r":                     {Kind: Git, Origin: "[2001:db8::1]:o/r"},
		"http://[::1]:80":                       {Kind: Site, Origin: "http://[::1]:80"},
		"./a::b":                                {Kind: Folder, Origin: "./a::b"},
		"file:///srv/r.git":                     {Kind: Git, Origin: "file:///srv/r.git"},
		"file:///srv/x.tgz":                     {Kind: Archive, Origin: "/srv/x.tgz"},
		"https://host/x.tar.gz?v=1":             {Kind: Archive, Origin: "https://host/x.tar.gz?v=1"},
		host + "/archive/v1.zip":                {Kind: Archive, Origin: host + "/archive/v1.zip"},
		"x.skill":                               {Kind: Archive, Origin: "x.skill"},
		"dir/x.ZIP":                             {Kind: Archive, Origin: "dir/x.ZIP"},
		"https://host":                          {Kind: Site, Origin: "https://host"},
		"https://host/":                         {Kind: Site, Origin: "https://host"},
		"https://host/docs" + index:             {Kind: Site, Origin: "https://host/docs" + index},
		"http://localhost:80":                   {Kind: Site, Origin: "http://localhost:80"},
		"registry+https://h/base/-/urn:air:a:b": {Kind: Registry, Origin: "registry+https://h/base/-/urn:air:a:b"},
		".":                                     {Kind: Folder, Origin: "."},
		"./a":                                   {Kind: Folder, Origin: "./a"},
		"../a/b":                                {Kind: Folder, Origin: "../a/b"},
		"/a":                                    {Kind: Folder, Origin: "/a"},
		"~/a":                                   {Kind: Folder, Origin: "~/a"},
		`C:\a`:                                  {Kind: Folder, Origin: `C:\a`},
		"pdf":                                   {Kind: Folder, Origin: "pdf"},
		host + "/tree/feature/AB-1/libs?tab=x#L1":                                     {Kind: Git, Origin: host, Page: "feature/AB-1/libs"},
		host + "/tree/feature%2FAB-1/libs":                                            {Kind: Git, Origin: host, Page: "feature/AB-1/libs"},
		host + "/tree/HEAD/libs":                                                      {Kind: Git, Origin: host, Page: "HEAD/libs"},
		host + "/raw/refs/heads/main/pdf/SKILL.md":                                    {Kind: Git, Origin: host, Page: "refs/heads/main/pdf"},
		host + "/releases/tag/kit/v1.2":                                               {Kind: Git, Origin: host, Page: "refs/tags/kit/v1.2"},
		"https://raw.githubusercontent.com/o/r/main/pdf/skill.md":                     {Kind: Git, Origin: host, Page: "main/pdf"},
		"https://gitlab.com/a/b/c/-/blob/v1/x/SKILL.md?ref_type=heads":                {Kind: Git, Origin: "https://gitlab.com/a/b/c", Page: "refs/heads/v1/x"},
		"https://gitlab.com/a/b/c/-/tree/kit/v1?ref_type=tags":                        {Kind: Git, Origin: "https://gitlab.com/a/b/c", Page: "refs/tags/kit/v1"},
		"https://codeberg.org/o/r/raw/branch/f/x/SKILL.md":                            {Kind: Git, Origin: "https://codeberg.org/o/r", Page: "refs/heads/f/x"},
		"https://bitbucket.org/o/r/src/0123abc/x/?at=f%2Fy":                           {Kind: Git, Origin: "https://bitbucket.org/o/r", Page: "f/y/x"},
		"https://dev.azure.com/o/p/_git/r?path=/skills/pdf&version=GBf/x&_a=contents": {Kind: Git, Origin: "https://dev.azure.com/o/p/_git/r", Page: "refs/heads/f/x/skills/pdf"},
		"https://dev.azure.com/o/p/_git/r?path=/skills/pdf/SKILL.md":                  {Kind: Git, Origin: "https://dev.azure.com/o/p/_git/r", Page: "HEAD/skills/pdf"},
		"https://dev.azure.com/o/p/_git/r":                                            {Kind: Git, Origin: "https://dev.azure.com/o/p/_git/r"},
		"https://h/a/b/src/tools":                                                     {Kind: Git, Origin: "https://h/a/b/src/tools"},
		"https://h/a/b/tree/tools.git":                                                {Kind: Git, Origin: "https://h/a/b/tree/tools.git"},
		"https://h/r.git/tree/v1/x":                                                   {Kind: Git, Origin: "https://h/r.git", Page: "v1/x"},
		host + "?tab=readme-ov-file#readme":                                           {Kind: Git, Origin: host, Ref: "readme"},
		"github.com/o/r":                                                              {Kind: Git, Origin: host},
		"github.com/o/r/tree/f/x/y":                                                   {Kind: Git, Origin: host, Page: "f/x/y"},
		"host.example/r.git":                                                          {Kind: Git, Origin: "https://host.example/r.git"},
		"host.example:8443/o/r":                                                       {Kind: Git, Origin: "https://host.example:8443/o/r"},
		"host.example:8443":                                                           {Kind: Site, Origin: "https://host.example:8443"},
		"git@host:o/r.git#f/x":                                                        {Kind: Git, Origin: "git@host:o/r.git", Ref: "f/x"},
		"ssh://git@host/o/r#v1":                                                       {Kind: Git, Origin: "ssh://git@host/o/r", Ref: "v1"},
		"file:///srv/r.git#v1":                                                        {Kind: Git, Origin: "file:///srv/r.git", Ref: "v1"},
		"o/r#v1":                                                                      {Kind: Git, Origin: host, Ref: "v1"},
		"o/r#v1@pdf":                                                                  {Kind: Git, Origin: host, Ref: "v1", Skill: "pdf"},
		"o/r@pdf":                                                                     {Kind: Git, Origin: host, Skill: "pdf"},
		"o/r/skills@pdf":                                                              {Kind: Git, Origin: host, Sub: "skills", Skill: "pdf"},
		"github.com/o/r@pdf":                                                          {Kind: Git, Origin: host, Skill: "pdf"},
		"./a#b":                                                                       {Kind: Folder, Origin: "./a#b"},
		"a#b":                                                                         {Kind: Folder, Origin: "a#b"},
		"a#b.zip":                                                                     {Kind: Archive, Origin: "a#b.zip"},
	} {
		got, err := ParseSource(text)
		if diff := cmp.Diff(want, got); diff != "" || err != nil {
			t.Errorf("%s: %v\n%s", text, err, diff)
		}
	}
}

// TestNoSource: what is no source says what to type.
func TestNoSource(t *testing.T) {
	for text, want := range map[string]string{
		"https://h/x.zip#v1":           "leave out what follows #",
		"https://h#x":                  "leave out what follows #",
		"o/r#-x":                       "is no name of a branch",
		"https://h/o/r/tree/a b":       "is no name of a branch",
		"https://h/o/r/tree/main/../x": "is no folder",
		"https://h/o/r/tree/--x/y":     "names no branch",
		"https://h/a/pdf/SKILL.md":     "name its repository",
		"o/r@-x":                       "owner/repo@skill",
		"o/r#v1@-x":                    "owner/repo@skill",
		"o/r@a/b@c@d":                  "owner/repo",
		"http://host.example/o/r":      "use https",
	} {
		_, err := ParseSource(text)
		says(t, err, want)
	}
}

// TestAt: a ref beside a page says where its folder begins.
func TestAt(t *testing.T) {
	const host = "https://github.com/o/r"
	for _, c := range []struct{ text, ref, want string }{
		{"o/r/x", "v1", "v1 x "}, {"o/r", "", "  "}, {"o/r#v1", "v1", "v1  "},
		{host + "/tree/f/x/y", "f/x", "f/x y "}, {host + "/tree/f/x/y", "f/x/y", "f/x/y  "}, {host + "/tree/f/x/y", "", "  f/x/y"},
		{host + "/tree/v1", "v1", "v1  "}, {"https://codeberg.org/o/r/src/branch/f/x", "f", "f x "},
		{host + "/tree/f/x/y", "f/xy", "it names f/x/y, and ref is f/xy; leave one of them out"},
		{host + "/tree/v1/x", "v", "it names v1/x, and ref is v; leave one of them out"},
		{"o/r#v1", "v2", "it names v1, and ref is v2; leave one of them out"},
		{"o/r#v1/x", "v1", "it names v1/x, and ref is v1; leave one of them out"},
		{"./x", "v2", "only a repository has branches and tags; leave --ref out"},
	} {
		s, err := ParseSource(c.text)
		must.Do(t, err)
		s, err = s.At(c.ref)
		got := s.Ref + " " + s.Sub + " " + s.Page
		if err != nil {
			got = err.Error()
		}
		if got != c.want {
			t.Errorf("%s at %q: got %q, want %q", c.text, c.ref, got, c.want)
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
	for _, seed := range []string{"o/r/x", "https://h/o/r/tree/v1/x", "https://h/o//tree/v1", "git@h:p", "file:///x", "ext::x", "git@[::1]:o/r", "https://[2001:db8::1]/o/r", "-x", "./x.zip", "https://h", `C:\x`, "git+ssh://h/x", "registry+https://h/-/x", "registry+http://h/-/x",
		"https://h/o/r/tree/f/x/y#L1", "h.example/o/r/-/blob/x/y/SKILL.md?ref_type=tags", "https://dev.azure.com/o/_git/r?path=/x&version=GBy", "o/r#x@y", "o/r@x", "h.example:8/x", "https://raw.githubusercontent.com/o/r/x/SKILL.md"} {
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
		if strings.HasPrefix(url, "-") || strings.HasPrefix(s.Ref, "-") || helper.MatchString(url) || strings.ContainsAny(s.Origin+s.Ref+s.Sub+s.Page+s.Skill, "\x00\n\r") || strings.ContainsAny(s.Skill, "/@#") || git.CheckRef(s.Ref) != nil {
			t.Errorf("%q: %+v", text, s)
		}
		for part := range strings.SplitSeq(s.Sub+"/"+s.Page, "/") {
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
