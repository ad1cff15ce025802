package push

import (
	"context"
	"maps"

	"github.com/repertoire-skills/repertoire/store"
)

// An emptyStore stands for a catalog that the first push makes: a dry run compares with it. It
// knows only what the current transaction has put, and has only the methods of a store that
// a dry run calls.
type emptyStore struct {
	store.Store
	source string // label of the source of the transaction; "" means none yet
	known  map[string]store.Known
}

// Join implements store.Joiner.
func (*emptyStore) Join(_ context.Context, f func(store.Store) error) error {
	return f(&emptyStore{known: make(map[string]store.Known)})
}

// State implements store.Reader.
func (*emptyStore) State(context.Context) (store.State, error) { return store.State{}, nil }

// Sources implements store.Reader.
func (n *emptyStore) Sources(context.Context) ([]store.Source, error) {
	if n.source == "" {
		return nil, nil
	}
	return []store.Source{{Row: 1, Label: n.source}}, nil
}

// Known implements store.Reader.
func (n *emptyStore) Known(context.Context, int64, []string) (map[string]store.Known, error) {
	return maps.Clone(n.known), nil // index keeps it while it puts skills
}

// Update implements store.Store.
func (n *emptyStore) Update(_ context.Context, f func(store.Tx) error) error {
	return f(&emptyTx{n: n})
}

// An emptyTx is a transaction of an emptyStore.
type emptyTx struct {
	store.FileTx
	n *emptyStore
}

func (t *emptyTx) PutSource(s store.Source) (int64, error) {
	t.n.source = s.Label
	return 1, nil
}

func (t *emptyTx) PutSkill(_ int64, r *store.Record) (int64, error) {
	t.n.known[r.Path] = store.Known{Name: r.Skill.Name, Digest: r.Skill.Digest}
	return int64(len(t.n.known)), nil
}

func (*emptyTx) Missing(sha256 []string) ([]string, error) { return sha256, nil }

func (*emptyTx) ForgetStamps(int64) error { return nil }

func (*emptyTx) Walked(int64, int64, string) error { return nil }
