package endpoint

import "testing"

func TestShown(t *testing.T) {
	for in, want := range map[string]string{
		"https://h/a/b":                                     "https://h/a/b",
		"https://h/t/abcdefghijklmnopqrstuvwx/a":            "https://h/t/xxxxx/a",
		"https://h/t/abcdefghijklmnopqrstuvwx":              "https://h/t/xxxxx",
		"https://h/t/short/a":                               "https://h/t/short/a",
		"registry+https://h/t/abcdefghijklmnopqrstuvwx/-/b": "registry+https://h/t/xxxxx/-/b",
		"https://user:secret@h/a":                           "https://user:xxxxx@h/a",
		"https://token@h/a.git":                             "https://xxxxx@h/a.git",
		"ssh://git@h/a":                                     "ssh://git@h/a",
		"git@h:a/b":                                         "git@h:a/b",
		"https://h/a.zip?token=secret&secret":               "https://h/a.zip?token=xxxxx&xxxxx",
		"https://h/a.zip#secret":                            "https://h/a.zip",
		"https://user:se%zzcret@h/a":                        "https://xxxxx@h/a",
		"https://user:secret@h:port/a?x=secret":             "https://xxxxx@h:port/a",
		"postgres://user@h/a":                               "postgres://user@h/a",
		"postgresql://user:secret@h/a":                      "postgresql://user:xxxxx@h/a",
		"postgres://u@h/a?password=secret":                  "postgres://u@h/a?password=xxxxx",
		"host=h password=secret dbname=a":                   "host=h password=xxxxx",
		"host=h sslpassword = 'sec ret' a=b":                "host=h sslpassword=xxxxx",
		"/srv/password/skills":                              "/srv/password/skills",
		"postgres://user@h/db?sslmode=require":              "postgres://user@h/db?sslmode=require",
		"postgres://user:secret@h/db":                       "postgres://user:xxxxx@h/db",
		"postgresql:///db?password=secret":                  "postgresql:///db?password=xxxxx",
		"postgres://h/db?options=secret":                    "postgres://h/db?options=xxxxx",
		"host=h password = 'the secret' port=1":             "host=h password=xxxxx",
		"host=h port=1":                                     "host=h port=1",
		"/srv/password":                                     "/srv/password",
		"/srv/skills":                                       "/srv/skills",
		"a?b":                                               "a?b",
		"":                                                  "",
	} {
		if got := Shown(in); got != want {
			t.Errorf("%s: %s, want %s", in, got, want)
		}
	}
}
