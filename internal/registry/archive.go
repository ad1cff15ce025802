package registry

import (
	"context"
	"net/http"
	"slices"
	"sync"

	"github.com/repertoire-skills/repertoire/internal/ard"
	"github.com/repertoire-skills/repertoire/internal/wellknown"
	"github.com/repertoire-skills/repertoire/search"
)

// An archive is a packed skill that any number of requests read.
type archive struct {
	wellknown.Packed

	mu      sync.Mutex
	readers []*visit // the first of them holds it
	held    func()   // ends that
}

// Bytes implements memo.Sized.
func (a *archive) Bytes() int { return len(a.Zip) }

// use counts the archive as the answer to a request until done is called: once, however many read it, for
// one of these.
func (a *archive) use(v *visit) (done func()) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.readers = append(a.readers, v); len(a.readers) == 1 {
		a.held = v.Hold(len(a.Zip))
	}
	return func() {
		a.mu.Lock()
		defer a.mu.Unlock()
		i := slices.Index(a.readers, v)
		a.readers = slices.Delete(a.readers, i, i+1)
		if i > 0 {
			return
		}
		if a.held(); len(a.readers) > 0 {
			a.held = a.readers[0].Hold(len(a.Zip))
		}
	}
}

// pack packs a skill that a visit sees, as its source has it now, once for all who ask. only is the digest
// that the skill must have, "" for any, and has is the tag of the archive that the client has. What has another
// digest is not packed; nor is what the client has, of which the tag alone is returned.
func (x *Registry) pack(ctx context.Context, v *visit, e search.Entry, only, has string) (a *archive, tag string, err error) {
	err = v.costly(func() error {
		m, err := wellknown.Manifest(ctx, x.catalog, e, v.Agent)
		if err != nil {
			return err
		}
		if only != "" && m.Digest != only {
			return ard.NewError(http.StatusNotFound, "the skill %s has changed: ask for its entry again, and download what that names", m.Name)
		}
		of := contents{m.Name, m.Digest}
		if known := x.digestOf(of); known != "" && tagOf(known) == has {
			tag = has
			return nil
		}
		a, err = x.archives.Get(ctx, of, func() (*archive, error) {
			p, err := wellknown.Pack(ctx, x.catalog, &m, v.Agent)
			if err != nil {
				return nil, err
			}
			return &archive{Packed: p}, nil
		})
		if err == nil {
			tag = tagOf(a.Digest)
			x.remember(of, a.Digest)
		}
		return err
	})
	return a, tag, err
}
