package search

import (
	"crypto/sha256"
	"fmt"
	"strconv"
	"sync"

	"github.com/repertoire-skills/repertoire/snapshot"
)

// How many values of a kind a set remembers. Each takes a few bytes for each skill of the
// catalog, but for pairs and families.
const (
	mostScopes   = 128 // agents are configured, and seldom more
	mostPolicies = 4   // only the current one is asked for
	mostPairs    = 1 << 14
	mostFamilies = 1 << 12
)

// A memory keeps values by key. When it has too many, a new one takes the place of the oldest.
type memory[K comparable, V any] struct {
	mu     sync.RWMutex
	values map[K]V
	keys   []K // of values; the oldest is at next, once there are as many as may be
	next   int
}

// remember returns the value that a set remembers under a key, at most most of the kind of the
// key, which is its type. At the first call it calls make and keeps the result, but not an error.
func remember[K comparable, V any](s *snapshot.Set, most int, key K, make func() (V, error)) (V, error) {
	m := memoryOf[K, V](s)
	m.mu.RLock()
	v, ok := m.values[key]
	m.mu.RUnlock()
	if ok {
		return v, nil
	}
	v, err := make()
	if err == nil {
		m.keep(most, key, v)
	}
	return v, err
}

// memoryOf returns the memory of a set for keys of this type.
func memoryOf[K comparable, V any](s *snapshot.Set) *memory[K, V] {
	m, _ := s.Cached((*memory[K, V])(nil), func() (any, error) { return &memory[K, V]{values: make(map[K]V)}, nil })
	return m.(*memory[K, V])
}

func (m *memory[K, V]) keep(most int, key K, v V) {
	m.mu.Lock()
	defer m.mu.Unlock()
	switch _, ok := m.values[key]; {
	case ok: // of another goroutine, which was faster
	case len(m.keys) < most:
		m.keys = append(m.keys, key)
	default:
		delete(m.values, m.keys[m.next])
		m.keys[m.next], m.next = key, (m.next+1)%most
	}
	m.values[key] = v
}

// sees returns what decides which skills the agent sees and has pinned: agents of which it is
// the same see the same, whatever their names and addresses. It is "" if that is everything.
func (a *Agent) sees() string {
	if a == nil {
		return ""
	}
	var text []byte
	if a.Foreign {
		text = append(text, '!')
	}
	if a.Client != "" {
		text = append(append(text, a.Client...), ':')
	}
	if len(a.Switches) > 0 {
		all := sha256.New() // a client may send many
		for _, s := range a.Switches {
			fmt.Fprintf(all, "%q %q %t %q;", s.Names, s.Digest, s.Full, s.Use)
		}
		text = all.Sum(text)
	}
	for i, list := range [...][]string{
		a.Include.Names, a.Include.Tags, a.Include.Sources, a.Exclude.Names, a.Exclude.Tags, a.Exclude.Sources, a.Pinned, a.Uses,
	} {
		for _, rule := range list { // with its length, so that no rule looks like two
			text = append(append(text, byte('a'+i)), strconv.Itoa(len(rule))...)
			text = append(append(text, ' '), rule...)
		}
	}
	return string(text)
}
