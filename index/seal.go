package index

import (
	"context"
	"encoding/json"
	"sync/atomic"

	"github.com/repertoire-skills/repertoire/internal/atomicfile"
	"github.com/repertoire-skills/repertoire/internal/regular"
	"github.com/repertoire-skills/repertoire/store"
)

// A seal says which generation the store holds as long as it looks the same. The last
// seal lies beside the catalog. It is why a process that finds what it needs in published
// snapshots need not open the store, and why a copy of the catalog that somebody puts back
// never passes for the generation of newer snapshots: the copy looks different, so the
// store itself is asked. A seal stays true for ever, so nobody has to remove it.
type seal struct {
	Catalog    string           `json:"catalog"`
	Generation store.Generation `json:"generation"`
	Look       string           `json:"look"` // see store.Store
}

const sealSuffix = ".seal"

// seals knows the last seal of a catalog.
type seals struct {
	*catalog
	last atomic.Pointer[seal] // that was found or made
}

// holds reports whether the store holds this generation of this catalog now. It asks the
// store only if no seal says so.
func (x *seals) holds(ctx context.Context, catalog string, g store.Generation) (bool, error) {
	s := seal{catalog, g, x.store.Look()}
	if x.has(s) {
		return true, nil
	}
	now, err := x.store.State(ctx)
	if err != nil || now.Catalog != catalog || now.Generation != g {
		return false, err
	}
	if x.store.Look() == s.Look {
		x.keep(s)
	}
	return true, nil
}

// has reports whether s is the last seal, in memory or on file.
func (x *seals) has(s seal) bool {
	if last := x.last.Load(); last != nil && *last == s {
		return s.Look != ""
	}
	data, err := regular.ReadFile(x.opts.Path + sealSuffix)
	var found seal
	if err != nil || json.Unmarshal(data, &found) != nil || found != s || s.Look == "" {
		return false
	}
	x.last.Store(&s)
	return true
}

// keep keeps a seal, also for other processes. Without a file they ask the store.
func (x *seals) keep(s seal) {
	if s.Look == "" || x.has(s) {
		return
	}
	x.last.Store(&s)
	data, err := json.Marshal(s)
	if err == nil && regular.Check(x.opts.Path+sealSuffix) == nil {
		atomicfile.Write(x.opts.Disk, x.opts.Path+sealSuffix, data) // an error costs the next process a question
	}
}

// settle seals what Close of the store will leave, if the store was needed.
func (x *seals) settle(ctx context.Context) {
	if now, look, err := x.store.Settle(ctx); err == nil { // else the next process asks the store
		x.keep(seal{now.Catalog, now.Generation, look})
	}
}
