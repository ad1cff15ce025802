package sqlite

import (
	"bufio"
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/repertoire-skills/repertoire/internal/must"
	"github.com/repertoire-skills/repertoire/internal/testsize"
	"github.com/repertoire-skills/repertoire/skill"
	"github.com/repertoire-skills/repertoire/store"
	"github.com/repertoire-skills/repertoire/store/storetest"
)

// childJobs are the jobs of the test binary when it runs as a second process.
func childJobs() map[string]func(path string) error {
	return map[string]func(string) error{
		"open":      openChild,
		"rewrite":   rewriteChild,
		"pairs":     pairsChild,
		"read-only": readOnlyChild,
		"seed":      seedChild,
	}
}

// openChild opens a catalog and adds a skill.
func openChild(path string) error {
	ctx := context.Background()
	db, err := Open(ctx, path, nil)
	if err != nil {
		return err
	}
	defer db.Close()
	name := "skill-" + os.Getenv("NAME")
	return db.Update(ctx, func(tx store.Tx) error {
		source, err := tx.PutSource(store.Source{Label: "a"})
		if err != nil {
			return err
		}
		_, err = tx.PutSkill(source, storetest.Record(name, name, name))
		return err
	})
}

func TestTwoOpenDamaged(t *testing.T) {
	path := dbPath(t)
	writeCatalog(t, path)
	for round := range 3 {
		must.Do(t, os.WriteFile(path, []byte(strings.Repeat("garbage ", 1000)), 0o600))
		var cmds []*exec.Cmd
		for i := range 4 {
			cmd := child(t, "open", path, fmt.Sprint("NAME=", i))
			must.Do(t, cmd.Start())
			cmds = append(cmds, cmd)
		}
		for _, cmd := range cmds {
			if err := cmd.Wait(); err != nil {
				t.Error(err)
			}
		}
		db := open(t, path)
		if got := storetest.Offered(t, db); len(got) != 4 {
			t.Errorf("round %d: the catalog has %q, want the skills of 4 processes", round, got)
		}
		if got := aside(t, path); len(got) != round+1 {
			t.Errorf("round %d: %d files moved aside: %q", round, len(got), got)
		}
		if err := checkFile(t.Context(), db); err != nil {
			t.Error(err)
		}
		db.Close()
	}
}

// TestKilledAtBirth kills processes in the first moments of a catalog. The next process
// can use it, whatever there is.
func TestKilledAtBirth(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for i := range testsize.Rounds(12, 1000) {
		path := filepath.Join(t.TempDir(), "catalog.db")
		cmd := child(t, "open", path, "NAME=first")
		must.Do(t, cmd.Start())
		for { // until the process comes to the files
			if names, err := os.ReadDir(filepath.Dir(path)); err != nil || len(names) > 0 {
				break
			}
			runtime.Gosched()
		}
		time.Sleep(time.Duration(rng.Int64N(int64(30 * time.Millisecond)))) // hits another moment each time
		must.Do(t, cmd.Process.Kill())
		cmd.Wait()
		if err := checkNext(t, path); err != nil {
			t.Fatalf("kill %d: %v; files %q", i, err, slices.Collect(maps.Keys(contentsAt(t, path))))
		}
	}
}

// checkNext fails unless a process can use the catalog at path after another was killed:
// nothing in it is damaged, and it can be changed.
func checkNext(t *testing.T, path string) error {
	t.Helper()
	db, err := Open(t.Context(), path, nil)
	if err != nil {
		return err
	}
	defer db.Close()
	if db.Recovered() != "" || db.ReadOnly() {
		return fmt.Errorf("recovered %q, read-only %t", db.Recovered(), db.ReadOnly())
	}
	storetest.Put(t, db, store.Source{Label: "b"}, storetest.Record("next", "next", "next"))
	if left, err := filepath.Glob(path + ".new*"); err != nil || len(left) > 0 {
		return fmt.Errorf("left over: %q, %w", left, err)
	}
	return checkFile(t.Context(), db)
}

// rewriteChild replaces and deletes skills in a loop until it is killed. It prints a line
// when a transaction begins.
func rewriteChild(path string) error {
	ctx := context.Background()
	db, err := Open(ctx, path, nil)
	if err != nil {
		return err
	}
	for round := 0; ; round++ {
		fmt.Println(round)
		if err := rewrite(ctx, db, round); err != nil {
			return err
		}
	}
}

func rewrite(ctx context.Context, db *DB, round int) error {
	return db.Update(ctx, func(tx store.Tx) error {
		source, err := tx.PutSource(store.Source{Label: "a"})
		if err != nil {
			return err
		}
		for i := range 60 {
			body := strings.Repeat(fmt.Sprintf("round%d word%d ", round, i), 50)
			id, err := tx.PutSkill(source, storetest.Record(fmt.Sprint("skill-", i), body, body))
			if err != nil {
				return err
			}
			if (i+round)%7 == 0 {
				if err := tx.DeleteSkill(id); err != nil {
					return err
				}
			}
		}
		return nil
	})
}

func TestKilledInUpdate(t *testing.T) {
	path := dbPath(t)
	for i := range 8 {
		cmd := child(t, "rewrite", path)
		out, err := cmd.StdoutPipe()
		must.Do(t, err)
		must.Do(t, cmd.Start())
		lines := bufio.NewScanner(out)
		for range 2 {
			lines.Scan() // one transaction is done, another begins
		}
		time.Sleep(time.Duration(i) * 7 * time.Millisecond) // hits another moment each time
		must.Do(t, cmd.Process.Kill())
		cmd.Wait()
		db := open(t, path)
		if db.Recovered() != "" {
			t.Fatal("the catalog was damaged")
		}
		if err := checkFile(t.Context(), db); err != nil {
			t.Error(err)
		}
		checkOneRound(t, db)
		db.Close()
	}
}

// checkOneRound fails unless all skills are of the same transaction.
func checkOneRound(t *testing.T, db *DB) {
	t.Helper()
	entries, err := db.Entries(t.Context(), nil)
	if err != nil || len(entries) < 51 {
		t.Fatalf("%d entries, %v", len(entries), err)
	}
	round, _, _ := strings.Cut(entries[0].Description, " ")
	for _, e := range entries {
		if !strings.HasPrefix(e.Description, round+" ") {
			t.Errorf("%s is of %.10s, others of %s", e.Name, e.Description, round)
		}
	}
	found, err := db.Match(t.Context(), round, skill.Weights{Name: 1, Description: 1, Tags: 1, Body: 1}, nil, 100)
	if err != nil || len(found) != len(entries) {
		t.Errorf("full text finds %d of %d skills of %s, %v", len(found), len(entries), round, err)
	}
}

// readOnlyChild reads a catalog that it cannot write.
func readOnlyChild(path string) error {
	db, err := Open(context.Background(), path, nil)
	if err != nil {
		return err
	}
	defer db.Close()
	entries, err := db.Entries(context.Background(), nil)
	if err != nil || len(entries) != 1 || !db.ReadOnly() {
		return fmt.Errorf("%d entries, read-only %v, %v", len(entries), db.ReadOnly(), err)
	}
	return nil
}

const pairs = 25 // transactions of each pairsChild

// pairsChild adds two skills in each transaction. Between transactions it checks that the
// skills of other processes appear only in pairs.
func pairsChild(path string) error {
	ctx := context.Background()
	db, err := Open(ctx, path, nil)
	if err != nil {
		return err
	}
	defer db.Close()
	for i := range pairs {
		err := db.Update(ctx, func(tx store.Tx) error {
			source, err := tx.PutSource(store.Source{Label: os.Getenv("NAME")})
			if err != nil {
				return err
			}
			for half := range 2 {
				name := fmt.Sprintf("%s-%d-%d", os.Getenv("NAME"), i, half)
				if _, err := tx.PutSkill(source, storetest.Record(name, "a pair", "a pair")); err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil {
			return err
		}
		if err := onlyPairs(ctx, db); err != nil {
			return err
		}
	}
	return nil
}

func onlyPairs(ctx context.Context, db *DB) error {
	entries, err := db.Entries(ctx, nil)
	if err != nil {
		return err
	}
	found, err := db.Match(ctx, "pair", skill.Weights{Name: 1, Description: 1, Tags: 1, Body: 1}, nil, 1000)
	if err != nil {
		return err
	}
	if len(entries)%2 != 0 || len(found)%2 != 0 || len(found) < len(entries) {
		return fmt.Errorf("%d entries and then %d hits: half a transaction", len(entries), len(found))
	}
	return nil
}

func TestProcessesWriteAtOnce(t *testing.T) {
	path := dbPath(t)
	const processes = 3
	cmds := make([]*exec.Cmd, processes)
	for i := range cmds {
		cmds[i] = child(t, "pairs", path, "NAME="+strconv.Itoa(i))
		must.Do(t, cmds[i].Start())
	}
	db := open(t, path)
	for range 20 {
		if err := onlyPairs(t.Context(), db); err != nil {
			t.Error(err)
		}
	}
	for _, cmd := range cmds {
		if err := cmd.Wait(); err != nil {
			t.Error(err)
		}
	}
	if got, want := len(storetest.Offered(t, db)), processes*pairs*2; got != want {
		t.Errorf("%d skills, want %d", got, want)
	}
	if got, want := storetest.State(t, db).Generation.Number, int64(processes*pairs); got != want {
		t.Errorf("generation %d, want %d", got, want)
	}
	if err := checkFile(t.Context(), db); err != nil {
		t.Error(err)
	}
}
