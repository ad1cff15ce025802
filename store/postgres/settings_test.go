package postgres

import (
	"strings"
	"testing"
)

func TestName(t *testing.T) {
	t.Setenv("PGUSER", "env")
	for _, tt := range []struct{ url, catalog, want string }{
		{"postgres://me:secret@db.example/skills", "", "postgres://me@db.example:5432/skills#default"},
		{"postgres://me:secret@db.example:6432/skills?sslmode=require", "team", "postgres://me@db.example:6432/skills#team"},
		{"host=db.example dbname=skills password='se cret'", "", "postgres://env@db.example:5432/skills#default"},
		{"postgres://me@a.example,b.example:5433/skills", "", "postgres://me@a.example:5432,b.example:5433/skills#default"},
		{"postgres:///skills?host=/run/postgresql", "", "postgres://env@%2Frun%2Fpostgresql:5432/skills#default"},
		{"postgres://me@[::1]/skills", "", "postgres://me@[::1]:5432/skills#default"},
	} {
		db, err := Open(tt.url, &Options{Catalog: tt.catalog})
		if err != nil {
			t.Errorf("%s: %v", tt.url, err)
			continue
		}
		if got := db.Name(); got != tt.want {
			t.Errorf("%s is %s, want %s", tt.url, got, tt.want)
		}
		db.Close()
	}
}

// TestMalformed: what is wrong with a URL is said, but never with its password.
func TestMalformed(t *testing.T) {
	for _, tt := range []struct{ url, want string }{
		{"postgres://me:hunter2@db.example:port/skills", "invalid port"},
		{"postgres://me:hun/ter2@db.example/skills", ""},
		{"postgres://me:hunter2%zz@db.example/skills", ""},
		{"postgres://me:hun ter2@db.example/skills", "spaces"},
		{"postgres://me@db.example/skills?sslmode=perhaps", "sslmode"},
		{"postgres://db.example/skills?password=hunter2&sslmode=perhaps", ""},
		{"postgres://db.example/skills?pass%77ord=hunter2&connect_timeout=soon", ""},
		{"host=db.example password=hunter2 sslmode=perhaps", ""},
		{"host=db.example password='hunter2 sslmode=perhaps", ""},
		{"password = hunter2 port=many", ""},
		{"hunter2", ""},
		{"mysql://me:hunter2@db.example/skills", "in PostgreSQL, and mysql:// is not"},
	} {
		db, err := Open(tt.url, nil)
		if err == nil {
			db.Close()
			t.Errorf("%s was accepted", tt.url)
			continue
		}
		for _, part := range []string{"hunter", "unter2", "ter2"} {
			if strings.Contains(err.Error(), part) {
				t.Errorf("%s: %v", tt.url, err)
			}
		}
		if !strings.Contains(err.Error(), tt.want) || !strings.Contains(err.Error(), "postgres://user@host") {
			t.Errorf("%s: %v; it should say %q and what a URL looks like", tt.url, err, tt.want)
		}
	}
}

// FuzzExplain: no password of a URL or of keywords gets into an error.
func FuzzExplain(f *testing.F) {
	f.Add("postgres://me:", "@host:port/db")
	f.Add("host=x password=", " sslmode=y")
	f.Add("postgres://host/db?password=", "&port=x")
	f.Add("password='", "'")
	f.Fuzz(func(t *testing.T, before, after string) {
		const secret = "Qx7Zj9Vw"
		inURL := strings.HasPrefix(before, "postgres://") && strings.HasSuffix(before, ":") && strings.Contains(after, "@")
		if !inURL && !strings.Contains(before, "password=") {
			return // it is no password
		}
		_, err := settings(before + secret + after)
		if err == nil {
			return
		}
		for i := range len(secret) - 3 {
			if strings.Contains(err.Error(), secret[i:i+4]) {
				t.Errorf("%q: %v", before+secret+after, err)
			}
		}
	})
}
