package client

import (
	"encoding/json"
	"reflect"
	"testing"
)

// TestJSON5: what JSON5 allows beside JSON, and what stays a mistake.
func TestJSON5(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		`{a: 1, $b_2: 'x', "c": [1, 2,],}`:                  `{"a": 1, "$b_2": "x", "c": [1, 2]}`,
		"// all\n{ü /* a: 2 */ : -.5 /*}*/, n: 5.}\n// end": `{"ü": -0.5, "n": 5}`,
		`{h: 0xFF, p: +7, e: 1e3, i: -Infinity, n: NaN}`:    `{"h": 255, "p": 7, "e": 1000, "i": null, "n": null}`,
		`['it\'s', "a\"b", 'c"d', 'e\x41\u00e9\tf', 'g\
h']`: `["it's", "a\"b", "c\"d", "eAé\tf", "gh"]`,
		`['a\nb\x0ac\ud83d\ude00']`:               `["a\nb\nc\ud83d\ude00"]`,
		`{true: true, null: null, a: [{}, [],],}`: `{"true": true, "null": null, "a": [{}, []]}`,
		"\ufeff{'//': '/* no comment */'}":        `{"//": "/* no comment */"}`,
		`{a: 1,, b: 2}`:                           "", `{a 1}`: "", `{'a: 1}`: "", `/* {}`: "", `{a: b}`: "", "['a\nb']": "", `[1 2]`: "", `{a: 1}}`: "", `'\`: "", `'\uZZ'`: "",
	} {
		var got, wanted any
		err := ParseJSON([]byte(text), &got)
		if want == "" {
			if err == nil {
				t.Errorf("%s is %v", text, got)
			}
			continue
		}
		if e := json.Unmarshal([]byte(want), &wanted); e != nil {
			t.Fatal(e)
		}
		if err != nil || !reflect.DeepEqual(got, wanted) {
			t.Errorf("%s is %v, %v; want %s", text, got, err, want)
		}
	}
}

// FuzzJSON5: any bytes become some text, and JSON stays what it is.
func FuzzJSON5(f *testing.F) {
	f.Add([]byte(`{a: 'b', "c": [.5, 0x1F,], /* d */}`))
	f.Add([]byte(`'\u12`))
	f.Fuzz(func(t *testing.T, data []byte) {
		var plain, got any
		out := fromJSON5(data)
		if json.Unmarshal(data, &plain) == nil && (json.Unmarshal(out, &got) != nil || !reflect.DeepEqual(plain, got)) {
			t.Errorf("%q becomes %q", data, out)
		}
	})
}
