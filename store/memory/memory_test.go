package memory_test

import (
	"testing"

	"github.com/repertoire-skills/repertoire/store"
	"github.com/repertoire-skills/repertoire/store/memory"
	"github.com/repertoire-skills/repertoire/store/storetest"
)

func TestStore(t *testing.T) {
	storetest.Test(t, func(*testing.T) store.Store { return memory.New() })
}
