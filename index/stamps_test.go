package index

import (
	"bufio"
	"bytes"
	"reflect"
	"testing"

	"github.com/repertoire-skills/repertoire/source"
)

func FuzzReadStamp(f *testing.F) {
	one := stamp{1, source.Trace{Dir: "group/pdf", Skill: true, Below: []string{"SKILL.md", "scripts/", "scripts/a.sh"}, Stamp: "1x2y", Time: 1234567890}}
	f.Add(appendStamp(nil, &one))
	f.Add(appendStamp(nil, &stamp{0, source.Trace{Dir: ".", Full: true, Stamp: "s", Time: -1}}))
	f.Add([]byte{3, 0, 0, 0})
	f.Fuzz(func(t *testing.T, data []byte) {
		got, size, err := readStamp(bufio.NewReader(bytes.NewReader(data)), 2)
		if err != nil {
			return
		}
		if size > len(data) || got.source > 1 {
			t.Errorf("%d of %d bytes: %+v", size, len(data), got)
		}
		again, _, err := readStamp(bufio.NewReader(bytes.NewReader(appendStamp(nil, &got))), 2)
		if err != nil || !reflect.DeepEqual(again, got) {
			t.Errorf("%+v became %+v, %v", got, again, err)
		}
	})
}
