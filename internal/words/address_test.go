package words

import "testing"

func TestAddress(t *testing.T) {
	for in, want := range map[string]string{
		"https://h/a/b":                         "https://h/a/b",
		"https://user:secret@h/a":               "https://user:xxxxx@h/a",
		"https://token@h/a.git":                 "https://xxxxx@h/a.git",
		"ssh://git@h/a":                         "ssh://git@h/a",
		"git@h:a/b":                             "git@h:a/b",
		"https://h/a.zip?token=secret&secret":   "https://h/a.zip?token=xxxxx&xxxxx",
		"https://h/a.zip#secret":                "https://h/a.zip",
		"https://user:se%zzcret@h/a":            "https://xxxxx@h/a",
		"https://user:secret@h:port/a?x=secret": "https://xxxxx@h:port/a",
		"/srv/skills":                           "/srv/skills",
		"a?b":                                   "a?b",
		"":                                      "",
	} {
		if got := Address(in); got != want {
			t.Errorf("%s: %s, want %s", in, got, want)
		}
	}
}
