package cli

import (
	"fmt"
	"os/exec"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/repertoire-skills/repertoire/internal/must"
	"github.com/repertoire-skills/repertoire/internal/pgtest"
	"github.com/repertoire-skills/repertoire/internal/testsize"
)

// TestPushKilled: a push whose process is killed where it writes leaves the catalog as it was,
// and holds up no other push.
func TestPushKilled(t *testing.T) {
	testsize.Long(t)
	fixture(t)
	address := pgtest.URL(t)
	t.Setenv("REPERTOIRE_STORE", address)
	must.Write(t, "team/first/SKILL.md", "---\nname: first\ndescription: Comes first.\n---\nBegin.\n")
	call(t, 0, "push", "--root", "team")
	before := call(t, 0, "store")
	for i := range 20 {
		must.Write(t, fmt.Sprintf("team/skill-%d/SKILL.md", i), fmt.Sprintf("---\nname: skill-%d\ndescription: Does the work number %[1]d.\n---\nWork.\n", i))
	}
	conn, err := pgx.Connect(t.Context(), address)
	must.Do(t, err)
	defer conn.Close(t.Context())
	for _, table := range []string{"skills", "contents", "catalogs"} {
		lock, err := conn.Begin(t.Context())
		if err == nil {
			_, err = lock.Exec(t.Context(), "LOCK TABLE repertoire."+table+" IN SHARE MODE") // others may read
		}
		must.Do(t, err)
		push := exec.Command("skills", "push", "--root", "team")
		must.Do(t, push.Start())
		eventually(t, "the push does not write into "+table, func() bool {
			waits := false
			err := conn.QueryRow(t.Context(), "SELECT EXISTS (SELECT FROM pg_locks WHERE NOT granted AND relation = $1::regclass)", "repertoire."+table).Scan(&waits)
			return err != nil || waits
		})
		push.Process.Kill()
		push.Wait()
		must.Do(t, lock.Rollback(t.Context()))
		if after := call(t, 0, "store"); after != before {
			t.Errorf("killed at %s: the database holds %q, before %q", table, after, before)
		}
	}
	if out := call(t, 0, "push", "--root", "team"); !strings.Contains(out, "20 added") {
		t.Error(out)
	}
}
