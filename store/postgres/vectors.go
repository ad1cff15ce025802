package postgres

import (
	"math"

	"github.com/jackc/pgx/v5"

	"github.com/repertoire-skills/repertoire/store"
)

// PutVectors implements store.Tx.
func (t *Tx) PutVectors(model string, hashes, vectors [][]byte) error {
	if len(hashes) == 0 {
		return nil
	}
	if err := t.change(); err != nil {
		return err
	}
	id, err := t.model(model)
	if err != nil {
		return err
	}
	last := make(map[string]int, len(hashes)) // of equal hashes the last one counts
	for i, hash := range hashes {
		last[string(hash)] = i
	}
	var own, packed [][]byte
	for i, hash := range hashes {
		if last[string(hash)] == i {
			own, packed = append(own, hash), append(packed, vectors[i])
		}
	}
	batch := new(pgx.Batch)
	t.queue(batch, "put_vectors", pgx.NamedArgs{"id": id, "hashes": own, "vectors": packed, "generation": t.w.generation()})
	return t.send(batch)
}

// model returns the number of a model, and adds the model if there is none of this name.
func (t *Tx) model(name string) (int64, error) {
	k := &t.w.kept
	if k.models == nil {
		list, err := query(t.ctx, t.w.reader, "models", nil, scanModel)
		if err != nil {
			return 0, err
		}
		k.models = make(map[string]int64)
		for _, m := range list {
			k.models[m.Name] = m.id
		}
	}
	if id, ok := k.models[name]; ok {
		return id, nil
	}
	id := t.w.row()
	k.models[name] = id
	_, err := t.exec("put_model", pgx.NamedArgs{"id": id, "model": []byte(name)})
	return id, err
}

// PruneVectors implements store.Tx.
func (t *Tx) PruneVectors() error {
	_, err := t.exec("prune_vectors", nil)
	return err
}

// DropModel implements store.Tx.
func (t *Tx) DropModel(name string) error {
	n, err := t.exec("drop_model", pgx.NamedArgs{"name": []byte(name)})
	if n == 0 || err != nil {
		return err
	}
	t.changed, t.w.kept.models = true, nil
	// Any skill may have lost vectors, so a list of changes would be useless.
	_, err = t.exec("forget_generations", pgx.NamedArgs{"before": int64(math.MaxInt64)})
	return err
}

// Forget implements store.Tx.
func (t *Tx) Forget(before store.Generation) error {
	if _, err := t.exec("forget_changes", pgx.NamedArgs{"until": before.Number}); err != nil {
		return err
	}
	_, err := t.exec("forget_generations", pgx.NamedArgs{"before": before.Number})
	return err
}
