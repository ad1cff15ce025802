package install

import (
	"context"
	"crypto/ed25519"
	"encoding/base64"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/crypto/blake2b"

	"github.com/repertoire-skills/repertoire/install/git"
	"github.com/repertoire-skills/repertoire/internal/regular"
)

// The kinds of keys and signatures.
const (
	kindSSH      = "ssh"
	kindGPG      = "gpg"
	kindMinisign = "minisign"
)

// A key is one of Options.Keys.
type key struct {
	kind string
	text string // as it is configured, without a comment; for gpg the fingerprint
	id   [8]byte
	ed   ed25519.PublicKey // of minisign
}

// parseKeys reads keys as a configuration has them.
func parseKeys(texts []string) ([]key, error) {
	var keys []key
	for _, text := range texts {
		k, err := parseKey(text)
		if err != nil {
			return nil, fmt.Errorf("trust.keys: %w", err)
		}
		keys = append(keys, k)
	}
	return keys, nil
}

func parseKey(text string) (key, error) {
	text = strings.TrimSpace(text)
	parts := strings.Fields(text)
	if print, ok := strings.CutPrefix(strings.ToLower(text), "gpg:"); ok {
		print = strings.ReplaceAll(print, " ", "")
		if (len(print) != 40 && len(print) != 64) || strings.Trim(print, "0123456789abcdef") != "" {
			return key{}, fmt.Errorf("%q: after gpg: comes the whole fingerprint of a key, 40 digits", text)
		}
		return key{kind: kindGPG, text: strings.ToUpper(print)}, nil
	}
	if len(parts) >= 2 && isSSH(parts[0], parts[1]) && !strings.ContainsAny(text, "\r\n") {
		return key{kind: kindSSH, text: parts[0] + " " + parts[1]}, nil
	}
	raw, err := base64.StdEncoding.DecodeString(text)
	if err == nil && len(raw) == 42 && string(raw[:2]) == "Ed" {
		k := key{kind: kindMinisign, text: text, ed: raw[10:]}
		copy(k.id[:], raw[2:10])
		return k, nil
	}
	return key{}, fmt.Errorf(`%q is no key: write the line of an SSH public key ("ssh-ed25519 AAAA…"), a minisign public key ("RW…"), or gpg:FINGERPRINT`, text)
}

// isSSH reports whether a text is an SSH public key of a type.
func isSSH(typ, text string) bool {
	raw, err := base64.StdEncoding.DecodeString(text)
	n := len(typ)
	return err == nil && len(raw) > 4+n && raw[0] == 0 && raw[1] == 0 && int(raw[2])<<8|int(raw[3]) == n && string(raw[4:4+n]) == typ
}

// unsigned refuses a source that cannot be signed if a signature is asked for.
func (in *Installer) unsigned(what string) error {
	if len(in.keys) == 0 {
		return nil
	}
	return fmt.Errorf("trust.keys asks for a signature, and %s has none; install a signed tag of a repository, or an archive with a .minisig file", what)
}

// verifyFile checks the minisign signature of an archive. It returns nil if no signature is
// asked for.
func (in *Installer) verifyFile(file, sig string) (*Signature, error) {
	if len(in.keys) == 0 {
		return nil, nil
	}
	text, err := regular.ReadShort(sig, 64<<10)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, in.unsigned("this archive")
	}
	if err != nil {
		return nil, fmt.Errorf("reading %s: %w", filepath.Base(sig), err)
	}
	data, err := regular.ReadShort(file, 1<<30)
	if err != nil {
		return nil, fmt.Errorf("reading %s: %w", filepath.Base(file), err)
	}
	s, err := parseMinisig(string(text))
	if err != nil {
		return nil, fmt.Errorf("%s.minisig: %w", filepath.Base(file), err)
	}
	for _, k := range in.keys {
		if k.kind == kindMinisign && k.id == s.id {
			if err := s.verify(k.ed, data); err != nil {
				return nil, fmt.Errorf("the signature by %s is wrong: %w; do not use this archive", k.text, err)
			}
			return &Signature{kindMinisign, k.text}, nil
		}
	}
	return nil, fmt.Errorf("the archive is signed with minisign key %X, which is not in trust.keys", reversed(s.id))
}

// reversed returns a key ID in the order in which minisign prints it.
func reversed(id [8]byte) []byte {
	slices.Reverse(id[:])
	return id[:]
}

// A minisig is a signature by minisign: of the file, or of its BLAKE2b hash, and then of
// that and a comment.
type minisig struct {
	hashed    bool
	id        [8]byte
	signature []byte
	comment   string
	global    []byte
}

func parseMinisig(text string) (m minisig, err error) {
	lines := strings.Split(strings.ReplaceAll(strings.TrimRight(text, "\r\n"), "\r\n", "\n"), "\n")
	bad := errors.New("this is no signature of minisign")
	if len(lines) != 4 || !strings.HasPrefix(lines[0], "untrusted comment: ") {
		return m, bad
	}
	raw, err1 := base64.StdEncoding.DecodeString(lines[1])
	global, err2 := base64.StdEncoding.DecodeString(lines[3])
	comment, ok := strings.CutPrefix(lines[2], "trusted comment: ")
	if err1 != nil || err2 != nil || !ok || len(raw) != 74 || len(global) != ed25519.SignatureSize {
		return m, bad
	}
	switch string(raw[:2]) {
	case "Ed":
	case "ED":
		m.hashed = true
	default:
		return m, fmt.Errorf("%w: unknown algorithm %q", bad, raw[:2])
	}
	copy(m.id[:], raw[2:10])
	m.signature, m.comment, m.global = raw[10:], comment, global
	return m, nil
}

func (m minisig) verify(k ed25519.PublicKey, data []byte) error {
	if m.hashed {
		sum := blake2b.Sum512(data)
		data = sum[:]
	}
	if !ed25519.Verify(k, data, m.signature) {
		return errors.New("the file is not the one that was signed")
	}
	if !ed25519.Verify(k, append(m.signature[:len(m.signature):len(m.signature)], m.comment...), m.global) {
		return errors.New("its comment is not the one that was signed")
	}
	return nil
}

// verifyTag checks the signature of a fetched tag. It returns nil if no signature is asked
// for.
func (in *Installer) verifyTag(ctx context.Context, st *stage, r git.Repo, v git.Version) (*Signature, error) {
	if len(in.keys) == 0 {
		return nil, nil
	}
	name, ok := strings.CutPrefix(v.Name, git.Tags)
	if !ok {
		return nil, errors.New("trust.keys asks for a signature, and a branch or a commit has none; name a signed tag with --ref")
	}
	text, err := r.Tag(ctx)
	if err != nil {
		return nil, err
	}
	// Who serves the repository could give an old signed tag a new name.
	if head, _, _ := strings.Cut(text, "\n\n"); !strings.HasPrefix(head, "object ") || !strings.Contains(head+"\n", "\ntag "+name+"\n") {
		return nil, fmt.Errorf("tag %s is not signed, and trust.keys asks for a signature", name)
	}
	kind := kindGPG
	if strings.Contains(text, "\n-----BEGIN SSH SIGNATURE-----\n") {
		kind = kindSSH
	}
	for _, k := range in.keys {
		if k.kind != kind {
			continue
		}
		if err := in.verifyWith(ctx, st, r, k); err == nil {
			return &Signature{k.kind, k.text}, nil
		} else if ctx.Err() != nil {
			return nil, ctx.Err()
		}
	}
	return nil, fmt.Errorf("tag %s has no valid signature by a key in trust.keys", name)
}

// verifyWith lets git check the signature of the fetched tag with one key.
func (in *Installer) verifyWith(ctx context.Context, st *stage, r git.Repo, k key) error {
	signers := st.file("signers")
	line := ""
	if k.kind == kindSSH {
		line = `* namespaces="git" ` + k.text + "\n"
	}
	if err := os.WriteFile(signers, []byte(line), 0o600); err != nil {
		return err
	}
	status, err := r.VerifyTag(ctx, signers)
	if err != nil {
		return err
	}
	if k.kind == kindGPG && !signedBy(status, k.text) {
		return errors.New("it is signed with another key")
	}
	return nil
}

// signedBy reports whether what gpg says names a key or its primary key.
func signedBy(status, print string) bool {
	for line := range strings.Lines(status) {
		f := strings.Fields(line)
		if len(f) > 2 && f[0] == "[GNUPG:]" && f[1] == "VALIDSIG" && (f[2] == print || f[len(f)-1] == print) {
			return true
		}
	}
	return false
}
