package sandbox

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"github.com/repertoire-skills/repertoire/internal/regular"
)

// A process is one of this system.
type process struct {
	pid, parent, threads int
	memory               int64 // bytes in RAM
	state                byte  // 'Z' is a zombie
}

// processes lists all processes that can be seen.
func processes() []process {
	dir, err := os.Open("/proc")
	if err != nil {
		return nil
	}
	defer dir.Close()
	names, _ := dir.Readdirnames(-1) // what was read counts
	var list []process
	for _, name := range names {
		pid, err := strconv.Atoi(name)
		if err != nil {
			continue
		}
		text, err := os.ReadFile("/proc/" + name + "/stat")
		if err != nil {
			continue // it has ended
		}
		// The name of the program is in parentheses and can hold anything, parentheses too.
		fields := bytes.Fields(text[bytes.LastIndexByte(text, ')')+1:])
		if len(fields) < 22 {
			continue
		}
		number := func(i int) int { n, _ := strconv.Atoi(string(fields[i])); return n }
		list = append(list, process{pid: pid, state: fields[0][0], parent: number(1), threads: number(17),
			memory: int64(number(21)) * int64(os.Getpagesize())})
	}
	return list
}

// descendants lists the children of this process, their children, and so on.
func descendants() []process {
	children := make(map[int][]process)
	for _, p := range processes() {
		children[p.parent] = append(children[p.parent], p)
	}
	list := slices.Clone(children[os.Getpid()])
	for i := 0; i < len(list); i++ {
		list = append(list, children[list[i].pid]...)
		delete(children, list[i].pid) // numbers that are used again must not make a circle
	}
	return list
}

// tasks is the number of threads of this system.
func tasks() int {
	text, _ := os.ReadFile("/proc/loadavg") // such as "0.20 0.18 0.12 1/80 11206"
	fields := strings.Fields(string(text))
	if len(fields) < 4 {
		return 0
	}
	_, all, _ := strings.Cut(fields[3], "/")
	n, _ := strconv.Atoi(all)
	return n
}

// usage returns what the files in dir take on the disk. A file counts as 4 KiB at least, for
// names need space too.
func usage(dir string) (int64, error) {
	var used int64
	err := filepath.WalkDir(dir, func(_ string, d fs.DirEntry, err error) error {
		if errors.Is(err, fs.ErrNotExist) {
			return nil // it was just removed
		}
		if err != nil {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return nil // it was just removed
		}
		if st, ok := info.Sys().(*syscall.Stat_t); ok {
			used += max(4096, st.Blocks*512)
		}
		return nil
	})
	return used, err
}

// opened returns how many files are open in the processes, and what those take that are
// removed from dir.
func opened(dir string, list []process) (count int, removed int64) {
	sizes := make(map[uint64]int64) // by inode
	for _, p := range list {
		files, err := os.ReadDir(fmt.Sprintf("/proc/%d/fd", p.pid))
		if err != nil {
			continue // the process has ended
		}
		count += len(files)
		for _, f := range files {
			name := fmt.Sprintf("/proc/%d/fd/%s", p.pid, f.Name())
			file, err := os.Readlink(name)
			var st syscall.Stat_t
			if err == nil && strings.HasSuffix(file, " (deleted)") && regular.In(dir, file) && syscall.Stat(name, &st) == nil {
				sizes[st.Ino] = st.Blocks * 512
			}
		}
	}
	for _, size := range sizes {
		removed += size
	}
	return count, removed
}
