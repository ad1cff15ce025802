package cli

import (
	"bytes"
	"context"
	"net/url"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/repertoire-skills/repertoire/internal/must"
	"github.com/repertoire-skills/repertoire/internal/pgtest"
)

// outputs runs a command and returns what it prints to standard output and error.
func outputs(t *testing.T, code int, args ...string) (stdout, stderr string) {
	t.Helper()
	var out, errs bytes.Buffer
	if got := run(t.Context(), args, strings.NewReader(""), &out, &errs); got != code {
		t.Fatalf("skills %s: exit code %d, want %d\n%s%s", strings.Join(args, " "), got, code, &out, &errs)
	}
	return out.String(), errs.String()
}

// TestPush pushes folders into a database and changes them.
func TestPush(t *testing.T) {
	address := pgtest.URL(t)
	fixture(t) // its skills are not pushed: nobody has named their folder
	must.Write(t, "team/pdf/SKILL.md", "---\nname: pdf\ndescription: Fills forms.\n---\nRun scripts/fill.py.\n")
	must.Write(t, "team/pdf/scripts/fill.py", "print()\n")
	must.Write(t, "team/bad/SKILL.md", "nothing\n")
	must.Write(t, "more/mail/SKILL.md", "---\nname: mail\ndescription: Writes letters.\n---\nWrite.\n")
	u, err := url.Parse(address)
	must.Do(t, err)
	secret, _ := u.User.Password()
	t.Setenv("REPERTOIRE_STORE", address)
	name := regexp.MustCompile(`postgres://\S+#default`)
	prints := func(want string, code int, args ...string) {
		t.Helper()
		out, errs := outputs(t, code, append([]string{"push"}, args...)...)
		if diff := cmp.Diff(want, name.ReplaceAllString(out+errs, "DB")); diff != "" {
			t.Errorf("push %q (-want +got):\n%s", args, diff)
		}
		if strings.Contains(out+errs, secret) {
			t.Errorf("push %q tells the password: %s%s", args, out, errs)
		}
	}
	both := []string{"--root", "team", "--root", "more"}
	first := "root:team: 2 added, 0 changed, 0 removed, 0 unchanged, 1 refused; 2 files (73 bytes) sent\n" +
		"  + bad/SKILL.md (cannot be used)\n  + pdf (pdf/SKILL.md)\n" +
		"root:more: 1 added, 0 changed, 0 removed, 0 unchanged; 1 file (55 bytes) sent\n  + mail (mail/SKILL.md)\n"
	dry := strings.ReplaceAll(first, "sent", "to send")
	if out, _ := outputs(t, 0, "store"); out != "" {
		t.Errorf("an empty database holds %q", out)
	}
	prints(dry+"dry run: nothing was changed in DB\n", 0, append(both, "--dry-run")...)
	prints(first+"DB is now at generation 2\n", 0, both...)
	unchanged := "root:team: 0 added, 0 changed, 0 removed, 1 unchanged, 1 refused\nroot:more: 0 added, 0 changed, 0 removed, 1 unchanged\n"
	prints(unchanged+"dry run: nothing was changed in DB\n", 0, append(both, "--dry-run")...)
	prints(unchanged+"DB is up to date (generation 2)\n", 0, both...)
	prints("DB is up to date (generation 2)\n", 0, append(both, "--quiet")...)
	catalogs, _ := outputs(t, 0, "store")
	if want := regexp.MustCompile(`^default\t2\t2\t3\t3\t128\t1\t\d+\n$`); !want.MatchString(catalogs) {
		t.Errorf("the database holds %q", catalogs)
	}
	sources, _ := outputs(t, 0, "store", "--catalog", "default")
	if want := regexp.MustCompile(`^root:team\t2\t1\there\t[0-9a-f]{8}\nroot:more\t1\t0\there\t[0-9a-f]{8}\n$`); !want.MatchString(sources) {
		t.Errorf("sources %q", sources)
	}

	must.Write(t, "team/pdf/scripts/fill.py", "print(1)\n")
	must.Do(t, os.RemoveAll("more"))
	out, errs := outputs(t, 1, append([]string{"push"}, both...)...)
	if !strings.Contains(out, "  ~ pdf (pdf/SKILL.md)\nroot:more: not pushed\n") || !strings.Contains(errs, "root:more was not pushed: it cannot be read here; the database keeps what it has") {
		t.Errorf("a push without one of its folders prints %q and %q", out, errs)
	}
	prints("root:team: 0 added, 0 changed, 0 removed, 1 unchanged, 1 refused\nroot:more: removed, with 1 skill\n  - mail (mail/SKILL.md)\nDB is now at generation 5\n",
		0, "--root", "team", "--prune-label", "root:more", "--yes")
}

// TestPushForeign: two repositories that push a folder of one name do not replace each other's
// skills; clones of one do.
func TestPushForeign(t *testing.T) {
	address := pgtest.URL(t)
	fixture(t)
	t.Setenv("REPERTOIRE_STORE", address)
	repo := func(dir, remote, skill string) {
		must.Write(t, dir+"/.git/config", "[remote \"origin\"]\n\turl = "+remote+"\n")
		must.Write(t, dir+"/skills/"+skill+"/SKILL.md", "---\nname: "+skill+"\ndescription: Fills forms.\n---\nFill.\n")
	}
	repo("ours", "https://token:tellnobody@git.example/team/ours.git", "pdf")
	repo("clone", "git@git.example:team/ours", "pdf")
	repo("theirs", "https://git.example/team/theirs", "mail")
	root := func(dir string, more ...string) []string {
		return append([]string{"push", "--only-root", "--root", dir + "/skills"}, more...)
	}
	call(t, 0, root("ours")...)
	before := call(t, 0, "store", "--catalog", "default")
	if _, errs := outputs(t, 0, root("clone")...); strings.Contains(errs, "elsewhere") {
		t.Errorf("a clone is told %q", errs)
	}
	for _, args := range [][]string{root("theirs"), root("theirs", "--dry-run"), root("theirs", "--prune"), root("theirs", "--json")} {
		out, errs := outputs(t, 1, args...)
		for _, want := range []string{"root:skills from another repository or machine (origin ", "with 1 skill;", "--label NAME", "--replace root:skills"} {
			if out != "" || !strings.Contains(errs, want) || strings.Contains(errs, "tellnobody") {
				t.Errorf("skills %q says %q and %q, want %q", args, out, errs, want)
			}
		}
	}
	if after := call(t, 0, "store", "--catalog", "default"); after != before {
		t.Errorf("sources %q, before %q", after, before)
	}
	if out := call(t, 0, root("theirs", "--label", "theirs")...); !strings.Contains(out, "theirs: 1 added") {
		t.Errorf("under another label: %q", out)
	}
	if out := call(t, 0, root("theirs", "--replace", "root:skills")...); !strings.Contains(out, "root:skills: 1 added, 0 changed, 1 removed") {
		t.Errorf("replaced: %q", out)
	}
	origin := object(t, call(t, 0, "store", "--json", "--catalog", "default"))["catalogs"].([]any)[0].(map[string]any)["sources"].([]any)[0].(map[string]any)["origin"].(string)
	if len(origin) != 8 || strings.Contains(before, origin) {
		t.Errorf("origin %q, before %q", origin, before)
	}
	for want, args := range map[string][]string{
		"names one root, but there are 2": {"push", "--root", "ours/skills", "--root", "theirs/skills", "--label", "x"},
		"names nothing":                   root("ours", "--label", ""),
		"no root of this label is pushed; did you mean root:skills?": root("ours", "--replace", "root:skill"),
	} {
		if _, errs := outputs(t, 2, args...); !strings.Contains(errs, want) {
			t.Errorf("skills %q says %q, want %q", args, errs, want)
		}
	}
}

// TestPushJSON pins the fields of the results.
func TestPushJSON(t *testing.T) {
	address := pgtest.URL(t)
	fixture(t)
	must.Write(t, "team/pdf/SKILL.md", "---\nname: pdf\ndescription: Fills forms.\n---\nFill.\n")
	must.Write(t, "team/pdf/.env", "PASSWORD=x\n")
	out, errs := outputs(t, 0, "push", "--json", "--store", address, "--catalog", "web", "--root", "team")
	if errs != "skills: root:team: 1 file left out that may hold a password or key, such as pdf/.env; rename what holds none\n" {
		t.Errorf("it tells %q", errs)
	}
	pushed := object(t, out)
	if diff := cmp.Diff("dry_run generation shared sources store took_ms", keysOf(pushed)); diff != "" {
		t.Errorf("fields (-want +got):\n%s", diff)
	}
	source := pushed["sources"].([]any)[0].(map[string]any)
	if diff := cmp.Diff("added bytes changed complete files found refused removed secrets source unchanged", keysOf(source)); diff != "" {
		t.Errorf("fields of a source (-want +got):\n%s", diff)
	}
	stored := object(t, call(t, 0, "store", "--json", "--store", address))
	if diff := cmp.Diff("catalogs store", keysOf(stored)); diff != "" {
		t.Errorf("fields (-want +got):\n%s", diff)
	}
	catalog := stored["catalogs"].([]any)[0].(map[string]any)
	if diff := cmp.Diff("base_bytes bases bytes files generation name skills sources", keysOf(catalog)); diff != "" || catalog["name"] != "web" {
		t.Errorf("catalog %v; fields (-want +got):\n%s", catalog["name"], diff)
	}
}

// TestPushRefused: wrong uses are refused before anything is opened, and a database that
// cannot be reached is an error without a password.
func TestPushRefused(t *testing.T) {
	fixture(t)
	t.Setenv("REPERTOIRE_STORE", "")
	must.Write(t, "team/pdf/SKILL.md", "---\nname: pdf\ndescription: Fills forms.\n---\nFill.\n")
	for _, c := range []struct {
		code int
		want string
		args []string
	}{
		{2, "--store is missing", []string{"push", "--root", "team"}},
		{2, "--store is missing", []string{"store"}},
		{2, "there is nothing to push", []string{"push", "--store", "postgres://127.0.0.1:1/x"}},
		{1, "127.0.0.1:1", []string{"push", "--root", "team", "--store", "postgres://ann:tellnobody@127.0.0.1:1/x"}},
		{1, "127.0.0.1:1", []string{"store", "--store", "postgres://ann:tellnobody@127.0.0.1:1/x"}},
		{1, "", []string{"push", "--root", "team", "--store", "postgres://ann:tellnobody@[::1/x"}},
	} {
		_, errs := outputs(t, c.code, c.args...)
		if !strings.Contains(errs, c.want) || strings.Contains(errs, "tellnobody") {
			t.Errorf("skills %q says %q, want %q", c.args, errs, c.want)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if code := run(ctx, []string{"push", "--root", "team", "--store", "postgres://127.0.0.1:1/x"}, strings.NewReader(""), new(bytes.Buffer), new(bytes.Buffer)); code != 1 {
		t.Errorf("an interrupted push ends with %d", code)
	}
}

// TestRoles: the printed SQL makes roles; a reader cannot push, but shows what there is.
func TestRoles(t *testing.T) {
	address := pgtest.URL(t)
	fixture(t)
	must.Write(t, "team/pdf/SKILL.md", "---\nname: pdf\ndescription: Fills forms.\n---\nFill.\n")
	call(t, 0, "push", "--store", address, "--root", "team")
	pgtest.Exec(t, address, call(t, 0, "store", "roles"))
	pgtest.Exec(t, address, "CREATE ROLE node_of_a_test LOGIN PASSWORD 'x' IN ROLE repertoire_reader")
	t.Cleanup(func() { pgtest.Exec(t, address, "DROP ROLE node_of_a_test") })
	u, err := url.Parse(address)
	must.Do(t, err)
	u.User = url.UserPassword("node_of_a_test", "x")
	if out := call(t, 0, "store", "--store", u.String()); !strings.HasPrefix(out, "default\t1\t1\t1\t1\t") {
		t.Errorf("a reader sees %q", out)
	}
	if _, errs := outputs(t, 1, "token", "add", "ann", "--store", u.String()); !strings.Contains(errs, "node_of_a_test may not write") || !strings.Contains(errs, "skills store roles") {
		t.Errorf("a reader adds a token: %q", errs)
	}
	must.Write(t, "team/pdf/SKILL.md", "---\nname: pdf\ndescription: Fills forms.\n---\nFill them.\n")
	out, errs := outputs(t, 1, "push", "--store", u.String(), "--root", "team")
	if out != "" || !strings.Contains(errs, "catalog is read-only") || !strings.Contains(errs, "skills store roles") {
		t.Errorf("a reader pushes: %q, %q", out, errs)
	}
}

// TestEmptyStore: who searches a shared catalog without skills learns what fills it.
func TestEmptyStore(t *testing.T) {
	address := pgtest.URL(t)
	fixture(t)
	call(t, 1, "push", "--store", address, "--root", "nowhere")
	if _, errs := outputs(t, 0, "search", "--store", address, "pdf"); !strings.Contains(errs, `the shared catalog holds no skills yet; "skills push"`) {
		t.Errorf("the search says %q", errs)
	}
}
