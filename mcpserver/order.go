package mcpserver

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/base64"
	"encoding/json"
	"slices"
	"strings"
	"sync"

	"github.com/repertoire-skills/repertoire/internal/access"
	"github.com/repertoire-skills/repertoire/internal/words"
	"github.com/repertoire-skills/repertoire/search"
	"github.com/repertoire-skills/repertoire/skill"
)

const (
	// maxListed is how many skills are listed for hosts, which may load every skill in
	// the list. Hosts find the others by search and skills/get.
	maxListed = 500
	// maxFitting is how many skills are listed for a query.
	maxFitting = 200
	// maxOrders is how many lists may be read page by page at once.
	maxOrders = 16
	maxCursor = 1024 // bytes
)

// orders keeps the lists that clients are reading page by page. The order of skills
// changes with their use, so all pages of a list must be cut from the same order.
type orders struct {
	mu   sync.Mutex
	list []order // the newest one last
}

// An order is the IDs of the skills to list, the most relevant first.
type order struct {
	key string
	ids []string
}

// keep stores an order and returns its key. Equal orders share a key.
func (o *orders) keep(ids []string) string {
	o.mu.Lock()
	defer o.mu.Unlock()
	for _, old := range o.list {
		if slices.Equal(old.ids, ids) {
			return old.key
		}
	}
	n := order{rand.Text(), ids}
	o.list = append(o.list[max(0, len(o.list)-maxOrders+1):], n)
	return n.key
}

// find returns the IDs of an order.
func (o *orders) find(key string) (ids []string, ok bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	i := slices.IndexFunc(o.list, func(k order) bool { return k.key == key })
	if i < 0 {
		return nil, false
	}
	return o.list[i].ids, true
}

// order returns the skills to list: first pinned skills, then recently used ones, then
// the others by source and name. Skills whose names hosts do not accept come last: a
// host can load only the few of them that have another name in their own files.
func (x *extension) order(ctx context.Context) ([]string, error) {
	entries, err := x.catalog.List(ctx, x.opts.Agent, nil)
	if err != nil {
		return nil, err
	}
	entries = slices.DeleteFunc(entries, func(e search.Entry) bool { return e.State == search.Unavailable })
	first := x.used.list()
	if x.opts.Agent != nil {
		first = slices.Concat(x.opts.Agent.Pinned, first)
	}
	ranks := make(map[string]int)
	for i, name := range slices.Backward(first) {
		ranks[words.NameKey(name)] = i
	}
	var sources []string
	if x.opts.Sources != nil {
		sources = x.opts.Sources()
	}
	place := func(e *search.Entry) int {
		rank, ranked := ranks[words.NameKey(e.ID)]
		source := slices.Index(sources, e.Source)
		switch {
		case ranked:
			return rank
		case !skill.IsPortableName(e.Name):
			return len(first) + len(sources) + 1
		case source < 0:
			return len(first) + len(sources)
		}
		return len(first) + source
	}
	slices.SortStableFunc(entries, func(a, b search.Entry) int {
		return cmp.Or(cmp.Compare(place(&a), place(&b)), strings.Compare(a.ID, b.ID))
	})
	entries = entries[:min(len(entries), maxListed)]
	ids := make([]string, len(entries))
	for i, e := range entries {
		ids[i] = e.ID
	}
	return ids, nil
}

// A cursor says where a list goes on. To clients it is opaque.
type cursor struct {
	Order string `json:"o,omitempty"` // the key of an order
	Query string `json:"q,omitempty"` // the digest of a query, for a list without a kept order
	Next  int    `json:"n,omitempty"` // the next place in the list
}

var errCursor = access.Mistake("the cursor is malformed or no longer valid; list again without one")

func (c cursor) encode() string {
	text, err := json.Marshal(c)
	if err != nil {
		panic(err) // unreachable: it holds texts and a number
	}
	return base64.RawURLEncoding.EncodeToString(text)
}

// decodeCursor reads a cursor; "" means the start of a list.
func decodeCursor(s string) (c cursor, err error) {
	if s == "" {
		return c, nil
	}
	if len(s) > maxCursor {
		return c, errCursor
	}
	text, err := base64.RawURLEncoding.DecodeString(s)
	if err != nil || json.Unmarshal(text, &c) != nil || c.Next < 0 || c == (cursor{}) || c.encode() != s {
		return cursor{}, errCursor
	}
	return c, nil
}

// maxRecent bounds how many skills are remembered as used.
const maxRecent = 32

// recent remembers the skills that were last offered or read, by ID.
type recent struct {
	mu  sync.Mutex
	ids []string // the most recent one last
}

// use notes that the client has used a skill. Clients over HTTP share a server, and no
// client may change what another one lists, or learn from it: there the order is fixed.
func (r *recent) use(ctx context.Context, id string) {
	if eventOf(ctx).Address == "" {
		r.add(id)
	}
}

// add notes that a skill was used.
func (r *recent) add(id string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.ids = append(slices.DeleteFunc(r.ids, func(s string) bool { return s == id }), id)
	r.ids = r.ids[max(0, len(r.ids)-maxRecent):]
}

// list returns the IDs, the most recent one first.
func (r *recent) list() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	list := slices.Clone(r.ids)
	slices.Reverse(list)
	return list
}
