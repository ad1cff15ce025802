package push

import (
	"context"

	"github.com/repertoire-skills/repertoire/store"
)

// An emptyStore stands for a catalog that the first push makes: a dry run compares with it. It
// has only the methods of a store that a dry run calls.
type emptyStore struct{ store.Store }

// Join implements store.Joiner.
func (n *emptyStore) Join(_ context.Context, f func(store.Store) error) error { return f(n) }

// State implements store.Reader.
func (*emptyStore) State(context.Context) (store.State, error) { return store.State{}, nil }

// Sources implements store.Reader.
func (*emptyStore) Sources(context.Context) ([]store.Source, error) { return nil, nil }

// Known implements store.Reader.
func (*emptyStore) Known(context.Context, int64, []string) (map[string]store.Known, error) {
	return nil, nil
}

// Update implements store.Store.
func (*emptyStore) Update(_ context.Context, f func(store.Tx) error) error { return f(emptyTx{}) }

// An emptyTx is a transaction of an emptyStore.
type emptyTx struct{ store.FileTx }

func (emptyTx) PutSource(store.Source) (int64, error) { return 1, nil }

func (emptyTx) PutSkill(int64, *store.Record) (int64, error) { return 1, nil }

func (emptyTx) Missing(sha256 []string) ([]string, error) { return sha256, nil }

func (emptyTx) ForgetStamps(int64) error { return nil }

func (emptyTx) Walked(int64, int64, string) error { return nil }
