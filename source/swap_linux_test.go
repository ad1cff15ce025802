package source_test

import (
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
	"unsafe"

	"github.com/repertoire-skills/repertoire/internal/must"
	"github.com/repertoire-skills/repertoire/internal/testsize"
	"github.com/repertoire-skills/repertoire/source"
)

// swapping takes a step again and again, until the function that it returns is called.
func swapping(step func() error) (end func()) {
	stop := make(chan struct{})
	var swaps sync.WaitGroup
	swaps.Go(func() {
		for {
			select {
			case <-stop:
				return
			default:
				_ = step()
			}
		}
	})
	return func() {
		close(stop)
		swaps.Wait()
	}
}

// exchange swaps two paths at once.
func exchange(tb testing.TB, a, b string) func() error {
	tb.Helper()
	number, ok := map[string]uintptr{"386": 353, "amd64": 316, "arm": 382, "arm64": 276, "loong64": 276, "ppc64le": 357, "riscv64": 276, "s390x": 347}[runtime.GOARCH]
	if !ok {
		tb.Skip("the number of renameat2 is not known here")
	}
	from, err := syscall.BytePtrFromString(a)
	must.Do(tb, err)
	to, err := syscall.BytePtrFromString(b)
	must.Do(tb, err)
	const workingFolder, exchange = -100, 2 // AT_FDCWD, RENAME_EXCHANGE
	return func() error {
		at := workingFolder
		_, _, errno := syscall.RawSyscall6(number, uintptr(at), uintptr(unsafe.Pointer(from)), uintptr(at), uintptr(unsafe.Pointer(to)), exchange, 0)
		if errno != 0 {
			return errno
		}
		return nil
	}
}

// While a skill's folder is swapped for a link to a folder that is no skill, and the
// folder above it for one in which it is part of a skill, nothing from there is read or
// listed.
func TestSwappedFolder(t *testing.T) {
	for name, swap := range map[string][2]string{
		"folder": {"skills/x/a", "spare-link"}, "folder above": {"skills/x", "spare"}, "link": {"skills/x", "spare-away"},
	} {
		t.Run(name, func(t *testing.T) {
			dir := folder(t, map[string]string{
				"skills/x/a/SKILL.md": doc("a"), "skills/x/a/f.txt": "text", "skills/x/a/sub/f.txt": "text",
				"outside/f.txt": secret, "outside/secret.txt": secret, "outside/sub/f.txt": secret, "spare-link": "-> " + filepath.Base("outside"),
				"spare/SKILL.md": doc("whole"), "spare/a/SKILL.md": doc("part") + secret, "spare/a/f.txt": secret, "spare/a/secret.txt": secret,
				"away/a/f.txt": secret, "away/a/secret.txt": secret, "spare-away": "-> away",
			})
			// A relative link must lead to the same folder from both places.
			for at, target := range map[string]string{"spare-link": "outside", "spare-away": "away"} {
				must.Do(t, os.Remove(filepath.Join(dir, at)))
				link(t, filepath.Join(dir, target), filepath.Join(dir, at))
			}
			step := exchange(t, filepath.Join(dir, filepath.FromSlash(swap[0])), filepath.Join(dir, swap[1]))
			if err := step(); err != nil {
				t.Skipf("the file system cannot exchange two names: %v", err)
			}
			defer swapping(step)()
			readSwapped(t, open(t, filepath.Join(dir, "skills"), nil))
		})
	}
}

// readSwapped reads the skill in every way, again and again.
func readSwapped(t *testing.T, s *source.FS) {
	good, i := 0, 0
	end := time.Now().Add(time.Duration(testsize.Rounds(1, 30)) * time.Second)
	for ; i < testsize.Rounds(1_500, 1_000_000) && time.Now().Before(end); i++ {
		if f, err := source.ReadFile(t.Context(), s, "x/a", "f.txt"); err == nil {
			good++
			if string(f.Data) != "text" {
				t.Fatalf("round %d: read %q", i, f.Data)
			}
		}
		if _, err := source.ReadFile(t.Context(), s, "x/a", "secret.tx"); strings.Contains(err.Error(), "secret.txt") {
			t.Fatalf("round %d: %v", i, err)
		}
		if l, err := s.List(t.Context(), "x/a"); err == nil && len(l.Files) != 3 {
			t.Fatalf("round %d: listed %v", i, l.Files)
		}
		if m, err := source.ReadManifest(t.Context(), s, "x/a"); err == nil && (len(m.Files) != 3 || string(m.Text) != doc("a")) {
			t.Fatalf("round %d: manifest of %v with %q", i, m.Files, m.Text)
		}
	}
	t.Logf("%d of %d rounds found the skill", good, i)
	if good == 0 {
		t.Error("nothing was ever read")
	}
}

// While somebody else who may write to a folder of skills puts a link of his own on the way of
// a SKILL.md that is a link, nothing is read from where his link leads.
func TestSwappedLink(t *testing.T) {
	const other = 12345
	dir := folder(t, map[string]string{"skills/a/SKILL.md": "-> ../pack/SKILL.md", "skills/pack/SKILL.md": doc("a"), "outside/SKILL.md": doc("b") + secret, "skills/spare": "-> ../outside"})
	if err := os.Lchown(filepath.Join(dir, "skills", "spare"), other, other); err != nil {
		t.Skipf("only the superuser can make a link of somebody else: %v", err)
	}
	step := exchange(t, filepath.Join(dir, "skills", "pack"), filepath.Join(dir, "skills", "spare"))
	if err := step(); err != nil {
		t.Skipf("the file system cannot exchange two names: %v", err)
	}
	s := open(t, filepath.Join(dir, "skills"), &source.Options{Own: true})
	if f, err := source.ReadInstructions(t.Context(), s, "a"); !errors.Is(err, source.ErrRefused) {
		t.Fatalf("through a link of somebody else: %v, %v", f, err)
	}
	defer swapping(step)()
	good := 0
	for i := range testsize.Rounds(1_500, 100_000) {
		if f, err := source.ReadInstructions(t.Context(), s, "a"); err == nil {
			good++
			if string(f.Data) != doc("a") {
				t.Fatalf("round %d: read %q", i, f.Data)
			}
		}
	}
	if good == 0 {
		t.Error("nothing was ever read")
	}
}
