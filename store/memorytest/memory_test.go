package memorytest_test

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"testing"

	"github.com/repertoire-skills/repertoire/internal/must"
	"github.com/repertoire-skills/repertoire/skill"
	"github.com/repertoire-skills/repertoire/store"
	"github.com/repertoire-skills/repertoire/store/memorytest"
	"github.com/repertoire-skills/repertoire/store/storetest"
)

func TestStore(t *testing.T) {
	storetest.Test(t, func(*testing.T) store.Store { return memorytest.New() })
}

func TestShared(t *testing.T) {
	storetest.TestShared(t, func(*testing.T) storetest.Opener {
		s := memorytest.New()
		return func(readOnly bool) storetest.Shared { return s.Another(readOnly) }
	})
}

func TestBreak(t *testing.T) {
	s := memorytest.New()
	node := s.Another(true)
	gone := errors.New("gone")
	ctx, cancel := context.WithCancel(t.Context())
	var said []string
	err := node.Watch(ctx, func(store.State) {
		said = append(said, "heard")
		if len(said) == 1 {
			node.Break(gone)
		} else {
			cancel()
		}
	}, func(err error) {
		said = append(said, err.Error())
		if _, err := node.State(t.Context()); err != gone || node.Look() != "" {
			t.Errorf("a broken store answers: %v, look %q", err, node.Look())
		}
		storetest.Put(t, s, store.Source{Label: "a"}) // another process goes on
		node.Break(nil)
	})
	if err != context.Canceled || len(said) != 3 || said[1] != "gone" {
		t.Errorf("said %q, %v", said, err)
	}
}

func TestDamage(t *testing.T) {
	s := memorytest.New()
	row := storetest.Put(t, s, store.Source{Label: "a"}, storetest.Record("pdf", "d", "b"))[0]
	sum := sha256.Sum256([]byte("text"))
	digest := hex.EncodeToString(sum[:])
	storetest.Update(t, s, func(tx store.Tx) error {
		files := tx.(store.FileTx)
		return errors.Join(files.PutFiles(row, []skill.File{{Path: "SKILL.md", Size: 4, SHA256: digest}}), files.PutContent(digest, []byte("text")))
	})
	must.Do(t, s.Damage(digest, []byte("tex")))
	if _, err := s.Content(t.Context(), digest); !errors.Is(err, store.ErrDamaged) {
		t.Errorf("damaged content: %v", err)
	}
}
