package atomicfile_test

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/repertoire-skills/repertoire/internal/atomicfile"
	"github.com/repertoire-skills/repertoire/internal/must"
)

var disk = atomicfile.OS{}

// childPath names the environment variable that makes the test binary replace the file
// of that name: once by the text in the variable childText or, without one, many times.
const (
	childPath = "ATOMICFILE_TEST_CHILD"
	childText = "ATOMICFILE_TEST_TEXT"
)

func TestMain(m *testing.M) {
	if name := os.Getenv(childPath); name != "" {
		if text, once := os.LookupEnv(childText); once {
			if err := atomicfile.Replace(name, []byte(text), 0o600, nil); err != nil {
				os.Stdout.WriteString(err.Error())
				os.Exit(1)
			}
			os.Exit(0)
		}
		for _, text := range texts() {
			os.Stdout.WriteString(".\n") // the test may kill this process from now on
			for range 1000 {
				if err := atomicfile.Replace(name, text, 0o600, nil); err != nil {
					os.Exit(1)
				}
			}
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// texts are two contents of a file. Each is the same byte over and over.
func texts() [][]byte {
	return [][]byte{bytes.Repeat([]byte("a"), 1<<16), bytes.Repeat([]byte("b"), 1<<15)}
}

// wantFile checks the content of a file, and that nothing but it lies in its folder.
func wantFile(t *testing.T, name, want string) {
	t.Helper()
	if data, err := os.ReadFile(name); err != nil || string(data) != want {
		t.Errorf("%.20q, %v; want %.20q", data, err, want)
	}
	if list, err := os.ReadDir(filepath.Dir(name)); err != nil || len(list) != 1 {
		t.Errorf("beside the file: %v, %v", list, err)
	}
}

func TestWrite(t *testing.T) {
	name := filepath.Join(t.TempDir(), "file")
	for _, text := range []string{"first", "", "a longer second text"} {
		must.Do(t, atomicfile.Write(disk, name, []byte(text)))
		wantFile(t, name, text)
	}
	// A file that cannot take the place of a folder leaves nothing behind.
	folder := filepath.Join(t.TempDir(), "folder")
	must.Do(t, os.MkdirAll(filepath.Join(folder, "full"), 0o700))
	if err := atomicfile.Write(disk, folder, nil); err == nil {
		t.Error("a folder was replaced")
	}
	if _, err := os.Lstat(atomicfile.Temp(folder)); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("left behind: %v", err)
	}
	if err := atomicfile.Write(disk, filepath.Join(folder, "absent", "file"), nil); err == nil {
		t.Error("a file was written to a folder that does not exist")
	}
}

// TestWriteWhole: a reader never sees a part of the content, and writers wait for each
// other.
func TestWriteWhole(t *testing.T) {
	name := filepath.Join(t.TempDir(), "file")
	two := texts()
	must.Do(t, atomicfile.Write(disk, name, two[0]))
	const writers = 3
	done := make(chan error)
	for range writers {
		go func() {
			var err error
			for i := range 200 {
				if err = atomicfile.Write(disk, name, two[i%2]); err != nil {
					break
				}
			}
			done <- err
		}()
	}
	for left := writers; left > 0; {
		select {
		case err := <-done:
			if left--; err != nil {
				t.Error(err)
			}
		default:
		}
		if data, err := os.ReadFile(name); err != nil || !bytes.Equal(data, two[0]) && !bytes.Equal(data, two[1]) {
			t.Fatalf("%d bytes, %v", len(data), err)
		}
	}
	wantFile(t, name, string(two[1]))
}

// TestReplace: a new file gets the permissions, and an error of check leaves a file as it
// is.
func TestReplace(t *testing.T) {
	name := filepath.Join(t.TempDir(), "file")
	must.Do(t, atomicfile.Replace(name, []byte("a"), 0o640, nil))
	if info, err := os.Stat(name); err != nil || runtime.GOOS != "windows" && info.Mode().Perm() != 0o640 {
		t.Errorf("mode %v, %v", info.Mode(), err)
	}
	refusal := errors.New("no")
	if err := atomicfile.Replace(name, []byte("b"), 0o640, func() error { return refusal }); !errors.Is(err, refusal) {
		t.Errorf("the error is %v", err)
	}
	wantFile(t, name, "a")
	folder := filepath.Join(t.TempDir(), "folder")
	must.Do(t, os.Mkdir(folder, 0o700))
	if err := atomicfile.Replace(folder, nil, 0o600, nil); err == nil {
		t.Error("a folder was replaced")
	}
}

// TestLeft: whatever lies where the temporary file belongs is in nobody's way, and is not
// written to.
func TestLeft(t *testing.T) {
	other := filepath.Join(t.TempDir(), "other")
	must.Do(t, os.WriteFile(other, []byte("other"), 0o600))
	for what, leave := range map[string]func(temp string) error{
		"a file":      func(temp string) error { return os.WriteFile(temp, []byte("half of a lo"), 0o600) },
		"a link":      func(temp string) error { return os.Symlink(other, temp) },
		"a hard link": func(temp string) error { return os.Link(other, temp) },
		"a bad link":  func(temp string) error { return os.Symlink(other+"-absent", temp) },
		"a pipe":      func(temp string) error { return exec.Command("mkfifo", temp).Run() },
		"a folder":    func(temp string) error { return os.Mkdir(temp, 0o700) },
	} {
		t.Run(what, func(t *testing.T) {
			name := filepath.Join(t.TempDir(), "file")
			if err := leave(atomicfile.Temp(name)); err != nil {
				t.Skip(err)
			}
			must.Do(t, atomicfile.Replace(name, []byte("new"), 0o600, nil))
			wantFile(t, name, "new")
			wantFile(t, other, "other")
		})
	}
}

// TestKilled kills processes that replace a file over and over. The file is always whole,
// and the next process leaves nothing of theirs behind.
func TestKilled(t *testing.T) {
	exe, err := os.Executable()
	must.Do(t, err)
	name := filepath.Join(t.TempDir(), ".claude.json")
	left := 0
	for range 20 {
		cmd := exec.Command(exe)
		cmd.Env = append(os.Environ(), childPath+"="+name)
		out, err := cmd.StdoutPipe()
		must.Do(t, err)
		must.Do(t, cmd.Start())
		_, err = out.Read(make([]byte, 1))
		must.Do(t, err)
		for range 100 { // until a temporary file is there, so that most kills leave one
			if _, err := os.Lstat(atomicfile.Temp(name)); err == nil {
				break
			}
		}
		must.Do(t, cmd.Process.Kill())
		cmd.Wait()
		data, err := os.ReadFile(name)
		if err == nil && strings.Trim(string(data), string(data[:1])) != "" || err != nil && !errors.Is(err, fs.ErrNotExist) {
			t.Fatalf("%d bytes, %v", len(data), err)
		}
		if _, err := os.Lstat(atomicfile.Temp(name)); err == nil {
			left++
		}
		if list, err := os.ReadDir(filepath.Dir(name)); err != nil || len(list) > 2 {
			t.Fatalf("the killed processes left %v, %v", list, err)
		}
	}
	t.Logf("%d of 20 kills left a file", left)
	must.Do(t, atomicfile.Replace(name, []byte("new"), 0o600, nil))
	wantFile(t, name, "new")
}
