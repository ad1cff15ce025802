package skill

import (
	"reflect"
	"testing"
)

// TestPack: every field comes back, except for those that stores keep in columns. A field
// that nobody packs would be lost by every store.
func TestPack(t *testing.T) {
	var m Meta
	fill(t, reflect.ValueOf(&m).Elem())
	want := m
	want.ID, want.Name, want.Source, want.Path, want.Location, want.Digest = "", "", "", "", "", ""
	got := Meta{Description: "before", Tags: []string{"before"}}
	if err := got.Unpack(string(m.Pack())); err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("got %+v, %v\nwant %+v", got, err, want)
	}
	got = want
	if err := got.Unpack(string(new(Meta).Pack())); err != nil || !reflect.DeepEqual(got, Meta{}) {
		t.Errorf("an empty Meta became %+v, %v", got, err)
	}
}

// fill sets every text, list and number to something of its own.
func fill(t *testing.T, v reflect.Value) {
	for i := range v.NumField() {
		switch f, name := v.Field(i), v.Type().Field(i).Name; f.Kind() {
		case reflect.Struct:
			fill(t, f)
		case reflect.String:
			f.SetString(name + " \x00\xff")
		case reflect.Int:
			f.SetInt(300)
		case reflect.Slice:
			f.Set(reflect.ValueOf([]string{name, "", "two"}))
		default:
			t.Fatalf("%s has a kind that this test does not know", name)
		}
	}
}

// TestUnpackOlder: a record that was packed before Meta had all its fields is read.
func TestUnpackOlder(t *testing.T) {
	m := Meta{Description: "d", Tokens: 3, Tags: []string{"t"}}
	data := m.Pack()
	data[0] = 2
	var got Meta
	if err := got.Unpack(string(data)); err != nil || !reflect.DeepEqual(got, m) {
		t.Errorf("got %+v, %v", got, err)
	}
	data[0] = MetaVersion() + 1
	if err := got.Unpack(string(data)); err == nil {
		t.Error("a record of a newer version is read")
	}
}

func FuzzUnpack(f *testing.F) {
	f.Add("")
	f.Add(string((&Meta{Description: "d", Tags: []string{"a", "b"}, Tokens: 200, About: About{License: "MIT"}}).Pack()))
	f.Fuzz(func(t *testing.T, data string) {
		var m, again Meta
		if m.Unpack(data) != nil {
			return
		}
		if err := again.Unpack(string(m.Pack())); err != nil || !reflect.DeepEqual(m, again) {
			t.Errorf("%+v became %+v, %v", m, again, err)
		}
	})
}
