package skill_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/repertoire-skills/repertoire/internal/must"
	"github.com/repertoire-skills/repertoire/skill"
)

// TestMend: what Parse forgives is written as it was read, and nothing else changes.
func TestMend(t *testing.T) {
	for _, c := range []struct {
		name, text, want string
		rules            []string
	}{
		{"sound", "---\nname: a\ndescription: Sorts mail.\n---\nSort.\n", "", nil},
		{"colon", "---\n# first\nname: a\ndescription: Sorts: mail.\n# why\nversion: 1\n---\nSort.\n", "---\n# first\nname: a\ndescription: 'Sorts: mail.'\n# why\nversion: 1\n---\nSort.\n", []string{"yaml-repaired"}},
		{"line ends", "---\r\nname: a\r\ndescription: Sorts: mail.\r\n---\r\nSort.\r\n", "---\r\nname: a\r\ndescription: 'Sorts: mail.'\r\n---\r\nSort.\r\n", []string{"yaml-repaired"}},
		{"mixed line ends", "---\r\nname: a\r\ndescription: Sorts: mail.\r\n---\r\nSort.\nAll.\n", "---\r\nname: a\r\ndescription: 'Sorts: mail.'\r\n---\r\nSort.\nAll.\n", []string{"yaml-repaired"}},
		{"cut", "---\n# first\nname: a\ndescription: Sorts the #team's mail\nmetadata:\n  examples:\n    - mail #ö\n    - #x\ntags:\n  - c #d\n---\nSort.\n", "---\n# first\nname: a\ndescription: 'Sorts the #team''s mail'\nmetadata:\n  examples:\n    - 'mail #ö'\n    - '#x'\ntags:\n  - 'c #d'\n---\nSort.\n", []string{"yaml-cut"}},
		{"cut lines", "---\nname: a\ndescription: Sorts\n  the #mail\n  #now\nversion: 1 # of it\n---\nSort.\n", "---\nname: a\ndescription: 'Sorts the #mail #now'\nversion: 1 # of it\n---\nSort.\n", []string{"yaml-cut"}},
		{"cut and colon", "---\nname: a\ndescription: Sorts #mail\nwhen_to_use: &now when: mail\n---\nSort.\n", "---\nname: a\ndescription: 'Sorts #mail'\nwhen_to_use: '&now when: mail'\n---\nSort.\n", []string{"yaml-cut", "yaml-repaired"}},
		{"cut block", "---\nname: a\ndescription: > #now\n  Sorts.\n---\nSort.\n", "", nil},
		{"unclosed", "---\nname: a\ndescription: Sorts mail.\n\n# Sort\n", "---\nname: a\ndescription: Sorts mail.\n---\n# Sort\n", []string{"closing-fence"}},
		{"text", "---\nname: a\ndescription: It's here: a text\nthat goes on: to here\n---\nSort.\n", "---\nname: a\ndescription: 'It''s here: a text that goes on: to here'\n---\nSort.\n", []string{"yaml-repaired"}},
		{"mark", "\ufeff---\nname: a\ndescription: Sorts mail.\n---\nSort.\n", "---\nname: a\ndescription: Sorts mail.\n---\nSort.\n", []string{"byte-order-mark"}},
		{"fence", "---\nname: a\ndescription: Sorts mail.\n----\nSort.\n", "---\nname: a\ndescription: Sorts mail.\n---\nSort.\n", []string{"closing-fence"}},
		{"mark and hidden characters", "\ufeff---\nname: a\ndescription: Sorts: \u202email.\n---\nSort.\n", "---\nname: a\ndescription: Sorts: \u202email.\n---\nSort.\n", []string{"byte-order-mark"}},
		{"hidden characters", "---\nname: a\ndescription: Sorts: \u202email.\n---\nSort.\n", "", nil},
		{"text before", "Hello\n\n---\nname: a\ndescription: Sorts: mail.\n---\nSort.\n", "", nil},
		{"refused", "---\nname: a\n---\nSort.\n", "", nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, rules := skill.Mend([]byte(c.text), "a/SKILL.md", "")
			if string(got) != c.want || !slices.Equal(rules, c.rules) {
				t.Errorf("got %q %q, want %q %q", got, rules, c.want, c.rules)
			}
		})
	}
}

// FuzzMend: what is mended says the same and needs no mending.
func FuzzMend(f *testing.F) {
	f.Add("---\nname: a\ndescription: b: c\n---\nd")
	f.Add("\ufeff--- name: a\ndescription: |x\n  b\n...\nd")
	f.Add("---\nname: a\ndescription: b #c\n  #d\nwhen_to_use: !x y\ntags:\n  - e #f\n---\nd")
	f.Fuzz(func(t *testing.T, text string) {
		mended, rules := skill.Mend([]byte(text), "a/SKILL.md", "")
		if len(rules) == 0 {
			return
		}
		before, err := skill.Parse(strings.NewReader(text), "a/SKILL.md")
		must.Do(t, err)
		after, err := skill.Parse(strings.NewReader(string(mended)), "a/SKILL.md")
		if err != nil || before.Name != after.Name || before.Description != after.Description || before.Body != after.Body {
			t.Errorf("%q became %q: %v", text, mended, err)
		}
		for _, p := range after.Problems {
			if slices.Contains(rules, p.Rule) {
				t.Errorf("%q became %q, which still has %v", text, mended, p)
			}
		}
	})
}
