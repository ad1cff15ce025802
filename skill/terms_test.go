package skill

import (
	"encoding/binary"
	"errors"
	"reflect"
	"slices"
	"strings"
	"testing"
)

// unordered returns f as it is after packing: the terms of each field sorted, without
// terms that no analyzer makes.
func unordered(f Fields) Fields {
	bad := func(term string) bool {
		return strings.ContainsFunc(term, func(r rune) bool { return r < '0' })
	}
	list := func(terms []string) []string {
		kept := slices.DeleteFunc(slices.Clone(terms), bad)
		slices.Sort(kept)
		return append([]string(nil), kept...)
	}
	shown, hidden := list(f.Description[:f.Shown]), list(f.Description[f.Shown:])
	return Fields{
		Name: list(f.Name), Description: append(shown, hidden...), Tags: list(f.Tags), Body: list(f.Body), Shown: len(shown),
	}
}

func FuzzTerms(f *testing.F) {
	f.Add("pdf", "fill forms when asked", "", "form form forms formul fill b日本 日本 \x00 \xff", 2)
	f.Add("a", strings.Repeat("a", 70)+" "+strings.Repeat("a", 71), "Zebra zebra 0 a-b", strings.Repeat("word ", 300), 0)
	f.Fuzz(func(t *testing.T, name, description, tags, body string, shown int) {
		in := Fields{
			Name: strings.Fields(name), Description: strings.Fields(description),
			Tags: strings.Fields(tags), Body: strings.Fields(body),
		}
		in.Shown = min(max(shown, 0), len(in.Description))
		packed := in.Pack()
		if got, err := packed.Fields(); err != nil || !reflect.DeepEqual(got, unordered(in)) {
			t.Errorf("became %+v, %v; want %+v", got, err, unordered(in))
		}
		last := ""
		err := packed.Each(func(term *Term) {
			if string(term.Text) <= last {
				t.Errorf("%q stands behind %q", term.Text, last)
			}
			last = string(term.Text)
		})
		if err != nil {
			t.Error(err)
		}
	})
}

// FuzzTermsDamaged: any bytes are either refused, or terms that survive packing again.
func FuzzTermsDamaged(f *testing.F) {
	f.Add([]byte{})
	f.Add([]byte("\x00\x02pdf\x01\x04age"))
	f.Add([]byte("\x00\x01\x01\x02\x00\x02\x01pdf\x02\x02ab"))
	f.Add([]byte("\x00\x01\x01\x01\x00\x02\x02pdf"))
	f.Add([]byte("\x05\x02pdf"))
	f.Add([]byte("\x00\x03pdf"))
	f.Add(append(binary.AppendUvarint([]byte{0}, 4*maxCount), 'a'))
	f.Add(append(binary.AppendUvarint([]byte{0}, 2*maxCount), "aa"...))
	f.Fuzz(func(t *testing.T, data []byte) {
		got, err := Terms(data).Fields()
		if err != nil {
			if !errors.Is(err, errTerms) {
				t.Errorf("error %v, want errTerms", err)
			}
			return
		}
		if len(got.Name)+len(got.Description)+len(got.Tags)+len(got.Body) > 1<<16 {
			return
		}
		if again, err := got.Pack().Fields(); err != nil || !reflect.DeepEqual(again, unordered(got)) {
			t.Errorf("%+v became %+v, %v", got, again, err)
		}
	})
}

// TestWithout: what is left of terms is what packing the rest gives.
func TestWithout(t *testing.T) {
	f := Fields{Name: []string{"pdf", "form"}, Description: []string{"fill", "form", "later"}, Shown: 2, Tags: []string{"office"}, Body: []string{"pdf", "pages", "fill", "pdfs"}}
	got, err := f.Pack().Without(func(c *Term) bool {
		c.Body = 0
		return c.Name+c.Description+c.Tags == 0
	})
	f.Body = nil
	if want := f.Pack(); err != nil || string(got) != string(want) {
		t.Errorf("%q, %v; want %q", got, err, want)
	}
}
