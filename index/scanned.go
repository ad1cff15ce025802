package index

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"fmt"
	"io"

	"github.com/repertoire-skills/repertoire/internal/regular"
	"github.com/repertoire-skills/repertoire/source"
)

// Scanned returns the sources of the last complete walk of the catalog at path, with Label,
// Root, Priority and Settings. It reads the head of the list of stamps and opens no
// database. It fails if no walk is known, as of a catalog that has never been complete.
func Scanned(path string) ([]source.Info, error) {
	f, err := regular.Open(path + stampSuffix)
	if err != nil {
		return nil, err
	}
	defer f.Close() // it was only read
	return readHeader(bufio.NewReader(f))
}

// readHeader reads what header returns.
func readHeader(r *bufio.Reader) ([]source.Info, error) {
	magic := make([]byte, len(stampMagic))
	if _, err := io.ReadFull(r, magic); err != nil || string(magic) != stampMagic {
		return nil, errStamps
	}
	length, err := binary.ReadUvarint(r)
	if err != nil || length > maxRecord {
		return nil, errStamps
	}
	data := make([]byte, length)
	if _, err := io.ReadFull(r, data); err != nil {
		return nil, errStamps
	}
	var list []source.Info
	for line := range bytes.Lines(data) {
		var s source.Info
		if _, err := fmt.Sscanf(string(line), headerLine, &s.Label, &s.Root, &s.Priority, &s.Settings); err != nil {
			return nil, errStamps
		}
		list = append(list, s)
	}
	return list, nil
}
