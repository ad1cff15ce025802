package store

import (
	"encoding/binary"
	"slices"
	"strings"
	"testing"
)

func FuzzPack(f *testing.F) {
	f.Add("")
	f.Add("# Title\n\ntext \x00 \xff")
	f.Fuzz(func(t *testing.T, text string) {
		for range 2 { // the second time with what the first left
			data, err := pack([]byte(text))
			if err != nil {
				t.Fatal(err)
			}
			if got, err := unpack(data); err != nil || string(got) != text {
				t.Errorf("%q became %q, %v", text, got, err)
			}
		}
	})
}

func sorted(text string) string {
	terms := strings.FieldsFunc(text, isSeparator)
	slices.Sort(terms)
	return strings.Join(terms, " ")
}

func FuzzPackFields(f *testing.F) {
	f.Add("pdf", "fill forms", "", "form form forms formul fill b日本 日本 \x00 \xff")
	f.Add("a", strings.Repeat("a", 70)+" "+strings.Repeat("a", 71), "Zebra zebra 0", strings.Repeat("word ", 300))
	f.Fuzz(func(t *testing.T, name, description, tags, body string) {
		data, err := packFields(&Fields{name, description, tags, body})
		if err != nil {
			t.Fatal(err)
		}
		want := Fields{sorted(name), sorted(description), sorted(tags), sorted(body)}
		if got, err := unpackFields(data); err != nil || *got != want {
			t.Errorf("became %q, %v; want %q", got, err, want)
		}
	})
}

// FuzzUnpackFields: whatever the file holds is refused, or is what would be
// packed of it.
func FuzzUnpackFields(f *testing.F) {
	f.Add([]byte{})
	f.Add([]byte("\x00\x02pdf\x01\x04age"))
	f.Add([]byte("\x00\x01\x01\x00\x02\x03pdf"))
	f.Add([]byte("\x05\x02pdf"))
	f.Add(append(binary.AppendUvarint([]byte{0}, 2*maxField), 'a'))
	f.Fuzz(func(t *testing.T, data []byte) {
		packed, err := pack(data)
		if err != nil {
			t.Fatal(err)
		}
		got, err := unpackFields(packed)
		if err != nil || len(got.Name)+len(got.Description)+len(got.Tags)+len(got.Body) > 1<<16 {
			return
		}
		want := Fields{sorted(got.Name), sorted(got.Description), sorted(got.Tags), sorted(got.Body)}
		again, err := packFields(got)
		if err != nil {
			t.Fatal(err)
		}
		if same, err := unpackFields(again); err != nil || *same != want {
			t.Errorf("%q became %q, %v", got, same, err)
		}
	})
}
