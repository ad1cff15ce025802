package index

import (
	"context"
	"encoding/json"

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

// holds reports whether the store holds this generation of this catalog now. It asks the
// store only if no seal says so.
func (x *Index) holds(ctx context.Context, catalog string, g store.Generation) (bool, error) {
	s := seal{catalog, g, x.store.Look()}
	if x.isSealed(s) {
		return true, nil
	}
	now, err := x.store.State(ctx)
	if err != nil || now.Catalog != catalog || now.Generation != g {
		return false, err
	}
	if x.store.Look() == s.Look {
		x.seal(s)
	}
	return true, nil
}

// isSealed reports whether s is the last seal, in memory or on file.
func (x *Index) isSealed(s seal) bool {
	if last := x.sealed.Load(); last != nil && *last == s {
		return s.Look != ""
	}
	data, err := regular.ReadFile(x.opts.Path + sealSuffix)
	var found seal
	if err != nil || json.Unmarshal(data, &found) != nil || found != s || s.Look == "" {
		return false
	}
	x.sealed.Store(&s)
	return true
}

// seal keeps a seal, also for other processes. Without a file they ask the store.
func (x *Index) seal(s seal) {
	if s.Look == "" || x.isSealed(s) {
		return
	}
	x.sealed.Store(&s)
	data, err := json.Marshal(s)
	if err == nil && regular.Check(x.opts.Path+sealSuffix) == nil {
		atomicfile.Write(x.opts.Disk, x.opts.Path+sealSuffix, data) // an error costs the next process a question
	}
}

// settle seals what Close of the store will leave, if the store was needed.
func (x *Index) settle(ctx context.Context) {
	if x.dir == nil || x.opts.Shared {
		return
	}
	if now, look, err := x.store.Settle(ctx); err == nil { // else the next process asks the store
		x.seal(seal{now.Catalog, now.Generation, look})
	}
}
