package install

import (
	"crypto/ed25519"
	"crypto/rand"
	"encoding/base64"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/crypto/blake2b"

	"github.com/repertoire-skills/repertoire/internal/must"
)

// A signer signs as minisign does.
type signer struct {
	public  string
	private ed25519.PrivateKey
	id      string
}

func newSigner(t testing.TB, id string) signer {
	t.Helper()
	public, private, err := ed25519.GenerateKey(rand.Reader)
	must.Do(t, err)
	return signer{base64.StdEncoding.EncodeToString([]byte("Ed" + id + string(public))), private, id}
}

// sign returns the content of a .minisig file.
func (s signer) sign(data []byte, hashed bool, comment string) string {
	algorithm := "Ed"
	if hashed {
		sum := blake2b.Sum512(data)
		algorithm, data = "ED", sum[:]
	}
	sig := ed25519.Sign(s.private, data)
	global := ed25519.Sign(s.private, append(sig[:len(sig):len(sig)], comment...))
	return "untrusted comment: from a test\n" + base64.StdEncoding.EncodeToString([]byte(algorithm+s.id+string(sig))) +
		"\ntrusted comment: " + comment + "\n" + base64.StdEncoding.EncodeToString(global) + "\n"
}

// TestMinisign: with keys, only an archive that one of them signed is installed.
func TestMinisign(t *testing.T) {
	mine, other := newSigner(t, "12345678"), newSigner(t, "87654321")
	forged := newSigner(t, "12345678") // another key that claims to be mine
	data := zipped(t, map[string]string{"owl/SKILL.md": doc("owl", "Hoots.")})
	for name, c := range map[string]struct {
		sig  string
		want string
	}{
		"hashed":        {mine.sign(data, true, "timestamp:1"), ""},
		"legacy":        {mine.sign(data, false, "timestamp:1"), ""},
		"Windows lines": {strings.ReplaceAll(mine.sign(data, true, "x"), "\n", "\r\n"), ""},
		"unsigned":      {"", "trust.keys asks for a signature, and this archive has none"},
		"other key":     {other.sign(data, true, "x"), "is signed with minisign key 3132333435363738, which is not in trust.keys"},
		"forged":        {forged.sign(data, true, "x"), "is wrong: the file is not the one that was signed; do not use this archive"},
		"other file":    {mine.sign(append(data, 'x'), true, "x"), "the file is not the one that was signed"},
		"other comment": {strings.Replace(mine.sign(data, true, "old"), "comment: old", "comment: new", 1), "its comment is not the one that was signed"},
		"nonsense":      {"signed by me\n", "this is no signature of minisign"},
	} {
		t.Run(name, func(t *testing.T) {
			in := installer(t, &Options{Keys: []string{mine.public}})
			file := filepath.Join(t.TempDir(), "owl.zip")
			must.Do(t, os.WriteFile(file, data, 0o600))
			if c.sig != "" {
				must.Write(t, file+".minisig", c.sig)
			}
			files := httptest.NewServer(http.FileServer(http.Dir(filepath.Dir(file))))
			defer files.Close()
			for _, source := range []string{file, files.URL + "/owl.zip"} {
				_, err := in.Install(t.Context(), Request{Source: source, Name: "owl"}, &caller{action: Replace})
				if c.want == "" {
					must.Do(t, err)
					l, err := ReadLock(in.dir)
					if err != nil || *l.Skills["owl"].Signature != (Signature{"minisign", mine.public}) {
						t.Errorf("%v, %v", l.Skills["owl"], err)
					}
				} else if source == file || name != "unsigned" {
					says(t, err, c.want)
					clean(t, in)
				} else {
					says(t, err, "404 Not Found; check the address (trust.keys asks for a signature)")
				}
			}
		})
	}
}

// TestSignedTags: with keys, only a tag that one of them signed is installed.
func TestSignedTags(t *testing.T) {
	repo := repository(t, "cat")
	keys := t.TempDir()
	public := func(name string) string {
		program, err := exec.LookPath("ssh-keygen")
		if err != nil {
			t.Skip("this test needs ssh-keygen")
		}
		if out, err := exec.Command(program, "-q", "-t", "ed25519", "-N", "", "-C", name, "-f", filepath.Join(keys, name)).CombinedOutput(); err != nil {
			t.Fatalf("%v: %s", err, out)
		}
		return must.Read(t, filepath.Join(keys, name+".pub"))
	}
	mine, other := public("mine"), public("other")
	sign := func(key, tag string) {
		gitIn(t, repo, "-c", "gpg.format=ssh", "-c", "user.signingkey="+filepath.Join(keys, key), "tag", "-s", "-m", tag, tag)
	}
	sign("mine", "v1")
	sign("other", "v2")
	gitIn(t, repo, "tag", "v3")
	gitIn(t, repo, "tag", "-a", "-m", "v4", "v4")
	gitIn(t, repo, "update-ref", "refs/tags/v5", gitIn(t, repo, "rev-parse", "refs/tags/v1")) // an old signed tag under a new name
	in := installer(t, &Options{Keys: []string{mine}})
	for ref, want := range map[string]string{
		"":     "a branch or a commit has none; name a signed tag with --ref",
		"main": "a branch or a commit has none; name a signed tag with --ref",
		"v2":   "tag v2 has no valid signature by a key in trust.keys",
		"v3":   "tag v3 is not signed, and trust.keys asks for a signature",
		"v4":   "tag v4 has no valid signature by a key in trust.keys",
		"v5":   "tag v5 is not signed",
	} {
		_, err := in.Install(t.Context(), Request{Source: "file://" + repo, Ref: ref}, &caller{})
		says(t, err, want)
	}
	_, err := in.Install(t.Context(), Request{Source: filepath.Join(repo, "skills")}, &caller{})
	says(t, err, "trust.keys asks for a signature, and a folder has none")
	clean(t, in)
	_, err = in.Install(t.Context(), Request{Source: "file://" + repo, Ref: "v1"}, &caller{})
	must.Do(t, err)
	l, err := ReadLock(in.dir)
	must.Do(t, err)
	if want := strings.Join(strings.Fields(mine)[:2], " "); *l.Skills["cat"].Signature != (Signature{"ssh", want}) {
		t.Errorf("signature %+v, want %s", l.Skills["cat"].Signature, want)
	}
	clean(t, in, "cat")
	both, err := Open(t.TempDir(), &Options{Keys: []string{mine, other}})
	must.Do(t, err)
	_, err = both.Install(t.Context(), Request{Source: "file://" + repo, Ref: "v2"}, &caller{})
	must.Do(t, err)
}

// TestGPG: a tag that is signed with gpg is known by the fingerprint of the key.
func TestGPG(t *testing.T) {
	program, err := exec.LookPath("gpg")
	if err != nil {
		t.Skip("this test needs gpg")
	}
	repo := repository(t, "cat")
	home, err := os.MkdirTemp("", "gpg") // its sockets need a short path
	must.Do(t, err)
	t.Cleanup(func() {
		exec.Command("gpgconf", "--kill", "all").Run()
		os.RemoveAll(home)
	})
	t.Setenv("GNUPGHOME", home)
	gpg := func(args ...string) string {
		out, err := exec.Command(program, append([]string{"--batch", "--quiet", "--passphrase", "", "--pinentry-mode", "loopback"}, args...)...).Output()
		if err != nil {
			t.Skipf("gpg %q: %v", args, err)
		}
		return string(out)
	}
	gpg("--quick-generate-key", "A <a@example.com>", "ed25519", "sign", "never")
	_, print, _ := strings.Cut(gpg("--list-keys", "--with-colons"), "\nfpr:")
	print = strings.Trim(strings.SplitN(print, "\n", 2)[0], ":")
	gitIn(t, repo, "-c", "user.signingkey="+print, "tag", "-s", "-m", "v1", "v1")
	in := installer(t, &Options{Keys: []string{"gpg:" + strings.Repeat("0", 40)}})
	_, err = in.Install(t.Context(), Request{Source: "file://" + repo, Ref: "v1"}, &caller{})
	says(t, err, "tag v1 has no valid signature by a key in trust.keys")
	in = installer(t, &Options{Keys: []string{"gpg:" + print}})
	_, err = in.Install(t.Context(), Request{Source: "file://" + repo, Ref: "v1"}, &caller{})
	must.Do(t, err)
	clean(t, in, "cat")
}

// TestBadKeys: opening the installer fails for a text that is no key.
func TestBadKeys(t *testing.T) {
	for _, text := range []string{"", "me", "gpg:1234", "ssh-ed25519 AAAA", "ssh-rsa " + base64.StdEncoding.EncodeToString([]byte("\x00\x00\x00\x0bssh-ed25519xx")), "RWQ"} {
		_, err := Open(t.TempDir(), &Options{Keys: []string{text}})
		says(t, err, "trust.keys: ")
	}
}
