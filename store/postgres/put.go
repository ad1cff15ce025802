package postgres

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/repertoire-skills/repertoire/store"
)

// A Tx implements store.Tx. It gathers what is written, and sends much at once: the order
// of deleting, stamping and putting skills in one Tx makes no difference, as long as no row
// is both put and deleted.
type Tx struct {
	ctx     context.Context
	w       *writer
	changed bool    // readers will see a difference
	found   int     // how many skills there are more than before
	touched []int64 // skills that were put or deleted: the offered skill of their names may change
	sources bool    // the offered skill of any name may change

	deletes []int64
	stamps  map[int64]string
	puts    map[int64]put
	size    int // bytes in puts
	files   filePuts
}

// A put is a skill to be written.
type put struct {
	source int64
	*store.Record
}

// full is the size at which puts are sent. The server and the client each hold a few
// copies of them for a moment.
const full = 4 << 20

// change sends what has been gathered, and says that readers will see a difference.
func (t *Tx) change() error {
	t.changed = true
	return t.flush()
}

// exec runs one statement after all that has been gathered, and returns how many rows it
// changed.
func (t *Tx) exec(name string, args pgx.NamedArgs) (n int64, err error) {
	if err := t.flush(); err != nil {
		return 0, err
	}
	err = t.w.run(t.ctx, func(conn *pgx.Conn, catalog int64) error {
		done, err := conn.Exec(t.ctx, statement(name), with(args, catalog))
		if err != nil {
			return fmt.Errorf("running %s: %w", name, err)
		}
		n = done.RowsAffected()
		return nil
	})
	return n, err
}

// State implements store.Tx.
func (t *Tx) State() (store.State, error) {
	s, err := t.w.State(t.ctx)
	s.Found += t.found
	return s, err
}

// loadSources reads the sources of the catalog, once in a transaction.
func (t *Tx) loadSources() (map[int64]store.Source, error) {
	k := &t.w.kept
	if k.sources != nil {
		return k.sources, nil
	}
	list, err := t.w.Sources(t.ctx)
	if err != nil {
		return nil, err
	}
	k.sources = make(map[int64]store.Source, len(list))
	for _, s := range list {
		k.sources[s.Row] = s
	}
	return k.sources, nil
}

// PutSource implements store.Tx.
func (t *Tx) PutSource(s store.Source) (int64, error) {
	t.changed = true // scopes may name a source without skills
	all, err := t.loadSources()
	if err != nil {
		return 0, err
	}
	s.Row, s.Walked, s.Identity = 0, 0, ""
	for _, old := range all {
		if old.Label != s.Label {
			continue
		}
		s.Row, s.Walked = old.Row, old.Walked
		if s.Origin == "" {
			s.Origin, s.Repository = old.Origin, old.Repository
		}
		if s.Root == old.Root {
			s.Identity = old.Identity
		}
		t.sources = t.sources || s.ComparePrecedence(old) != 0 || s.Apart != old.Apart
	}
	if s.Row == 0 {
		s.Row = t.w.row()
	}
	return s.Row, t.writeSource(s)
}

// row returns a row that the catalog has never used.
func (w *writer) row() int64 {
	w.newest++
	return w.newest
}

func (t *Tx) writeSource(s store.Source) error {
	t.w.kept.sources[s.Row] = s
	_, err := t.exec("put_source", pgx.NamedArgs{
		"source": s.Row, "label": []byte(s.Label), "root": []byte(s.Root), "priority": s.Priority, "apart": s.Apart,
		"walked": s.Walked, "identity": []byte(s.Identity), "away": s.Away, "origin": []byte(s.Origin), "repository": []byte(s.Repository),
	})
	return err
}

// Walked implements store.Tx. The first walk is a change, because from then on a skill that
// the catalog lacks does not exist.
func (t *Tx) Walked(source int64, at int64, identity string) error {
	all, err := t.loadSources()
	if err != nil {
		return err
	}
	s, ok := all[source]
	if !ok {
		return nil
	}
	t.changed = t.changed || s.Walked <= 0
	s.Walked, s.Identity = at, identity
	return t.writeSource(s)
}

// DeleteSource implements store.Tx.
func (t *Tx) DeleteSource(source int64) error {
	all, err := t.loadSources()
	if err != nil {
		return err
	}
	if _, ok := all[source]; !ok {
		return nil
	}
	if err := t.flush(); err != nil { // what was put must be there to be deleted
		return err
	}
	rows, err := t.rowsOf(source)
	if err != nil {
		return err
	}
	for _, row := range rows {
		t.delete(row)
	}
	if err := t.change(); err != nil {
		return err
	}
	delete(all, source)
	delete(t.w.kept.rows, source)
	_, err = t.exec("delete_source", pgx.NamedArgs{"source": source})
	return err
}

// rowsOf returns the rows of the skills of a source by path. It reads them once in a
// transaction.
func (t *Tx) rowsOf(source int64) (map[string]int64, error) {
	k := &t.w.kept
	if rows := k.rows[source]; rows != nil {
		return rows, nil
	}
	if err := t.flush(); err != nil { // what was deleted must not be found
		return nil, err
	}
	type skill struct {
		row  int64
		path string
	}
	list, err := query(t.ctx, t.w.reader, "rows_of", pgx.NamedArgs{"source": source}, func(row pgx.Rows) (s skill, err error) {
		err = row.Scan(&s.row, text(&s.path))
		return s, err
	})
	if err != nil {
		return nil, err
	}
	if k.rows == nil {
		k.rows, k.places = make(map[int64]map[string]int64), make(map[int64]place)
	}
	rows := make(map[string]int64, len(list))
	for _, s := range list {
		rows[s.path], k.places[s.row] = s.row, place{source, s.path}
	}
	k.rows[source] = rows
	return rows, nil
}

// PutSkill implements store.Tx. It needs no answer of the server, except for the rows that
// the source has.
func (t *Tx) PutSkill(source int64, r *store.Record) (int64, error) {
	if all, err := t.loadSources(); err != nil {
		return 0, err
	} else if _, ok := all[source]; !ok {
		return 0, fmt.Errorf("%s: there is no source %d", r.Path, source)
	}
	if r.Body == nil {
		if err := r.Pack(); err != nil {
			return 0, fmt.Errorf("%s: %w", r.Path, err)
		}
	}
	rows, err := t.rowsOf(source)
	if err != nil {
		return 0, err
	}
	row, ok := rows[r.Path]
	if !ok {
		row = t.w.row()
		rows[r.Path], t.w.kept.places[row] = row, place{source, r.Path}
		t.found++
	}
	t.changed, t.puts[row] = true, put{source, r}
	t.touched = append(t.touched, row)
	t.size += len(r.Body) + len(r.PackedTerms) + len(r.Skill.Description) + 1000
	if t.size >= full {
		err = t.flush()
	}
	return row, err
}

// PutStamp implements store.Tx.
func (t *Tx) PutStamp(row int64, stamp string) error {
	if _, ok := t.puts[row]; ok {
		if err := t.flush(); err != nil {
			return err
		}
	}
	t.stamps[row] = stamp
	return nil
}

// ForgetStamps implements store.Tx.
func (t *Tx) ForgetStamps(source int64) error {
	n, err := t.exec("forget_stamps", pgx.NamedArgs{"source": source, "generation": t.w.generation()})
	t.changed = t.changed || n > 0
	return err
}

// DeleteSkill implements store.Tx.
func (t *Tx) DeleteSkill(row int64) error {
	if t.puts[row].Record != nil || t.files.lists[row] != nil {
		if err := t.flush(); err != nil {
			return err
		}
	}
	t.delete(row)
	return nil
}

func (t *Tx) delete(row int64) {
	t.deletes = append(t.deletes, row)
	k := &t.w.kept
	if at, ok := k.places[row]; ok {
		delete(k.places, row)
		delete(k.rows[at.source], at.path)
	}
}

// flush sends what has been gathered, in one trip.
func (t *Tx) flush() error {
	if len(t.deletes)+len(t.stamps)+len(t.puts) == 0 && t.files.empty() {
		return nil
	}
	batch := new(pgx.Batch)
	t.queueDeletes(batch)
	if len(t.stamps) > 0 {
		rows := slices.Sorted(maps.Keys(t.stamps))
		stamps := make([][]byte, len(rows))
		for i, row := range rows {
			stamps[i] = []byte(t.stamps[row])
		}
		t.queue(batch, "put_stamps", pgx.NamedArgs{"rows": rows, "stamps": stamps})
	}
	t.queuePuts(batch)
	t.queueFiles(batch)
	clear(t.stamps)
	clear(t.puts)
	t.deletes, t.size = nil, 0
	return t.send(batch)
}

func (t *Tx) queue(batch *pgx.Batch, name string, args pgx.NamedArgs) *pgx.QueuedQuery {
	return batch.Queue(statement(name), with(args, t.w.catalog))
}

func (t *Tx) send(batch *pgx.Batch) error {
	return t.w.run(t.ctx, func(conn *pgx.Conn, _ int64) error {
		if err := conn.SendBatch(t.ctx, batch).Close(); err != nil {
			return fmt.Errorf("writing skills: %w", err)
		}
		return nil
	})
}

func (t *Tx) queueDeletes(batch *pgx.Batch) {
	if len(t.deletes) == 0 {
		return
	}
	t.touched = append(t.touched, t.deletes...)
	t.queueContentsOf(batch, t.deletes)
	q := t.queue(batch, "delete_skills", pgx.NamedArgs{"rows": t.deletes, "generation": t.w.generation()})
	q.Exec(func(done pgconn.CommandTag) error {
		n := int(done.RowsAffected())
		t.found -= n
		t.changed = t.changed || n > 0
		return nil
	})
}

// settle sends the rest, then updates which skills are offered, which depends on all
// changes.
func (t *Tx) settle() error {
	if err := t.flush(); err != nil || !t.changed {
		return err
	}
	w := t.w
	w.changed = true
	w.found.Add(int64(t.found))
	if len(t.touched) == 0 && !t.sources {
		return nil
	}
	_, err := t.exec("shadow", pgx.NamedArgs{"rows": t.touched, "all": t.sources, "generation": w.generation()})
	return err
}
