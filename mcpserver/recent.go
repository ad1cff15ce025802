package mcpserver

import (
	"slices"
	"sync"
)

// maxRecent bounds how many skills are remembered as used.
const maxRecent = 32

// recent remembers the skills that were last offered or read, by ID.
type recent struct {
	mu  sync.Mutex
	ids []string // the most recent one last
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
