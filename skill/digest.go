package skill

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
)

// DigestOf returns the digest of a skill with these instructions and files, see Meta.Digest. Paths
// are quoted because they may hold line breaks.
func DigestOf(textDigest string, files []File) string {
	var b bytes.Buffer
	fmt.Fprintln(&b, textDigest)
	for _, f := range files {
		fmt.Fprintf(&b, "%q %d %s\n", f.Path, f.Size, f.SHA256)
	}
	return fmt.Sprintf("sha256:%x", sha256.Sum256(b.Bytes()))
}

// DigestWithoutExcluded returns the digest that a skill has now whose digest an older version of
// this program wrote down: that one covered files that are not part of a skill any more, see
// IsExcluded. It returns "" if it covered none. sums are the SHA-256 of the files by path, as they
// were written down; their sizes are those in the folder, because a file of another size has
// another SHA-256 too.
func DigestWithoutExcluded(folder string, sums map[string]string) string {
	var files []File
	for _, name := range slices.Sorted(maps.Keys(sums)) {
		if IsExcluded(name) {
			continue
		}
		info, err := os.Stat(filepath.Join(folder, filepath.FromSlash(name)))
		if err != nil || !info.Mode().IsRegular() {
			return ""
		}
		files = append(files, File{Path: name, Size: info.Size(), SHA256: sums[name]})
	}
	for _, name := range FileNames {
		if text := sums[name]; text != "" && len(files) < len(sums) {
			return DigestOf(text, files)
		}
	}
	return ""
}
