package index_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/repertoire-skills/repertoire/search/searchtest"
	"github.com/repertoire-skills/repertoire/store"
	"github.com/repertoire-skills/repertoire/store/sqlite"
)

// unwritableDir names the environment variable that makes the test binary a process
// without privileges, which makes its own folder (the value) unwritable.
const unwritableDir = "INDEX_TEST_UNWRITABLE"

// unwritableChild publishes where nothing can be written any more, and searches
// damaged files that it cannot remove.
func unwritableChild(dir string) error {
	ctx := context.Background()
	path := filepath.Join(dir, "catalog.db")
	db, err := sqlite.Open(ctx, path, nil)
	if err != nil {
		return err
	}
	defer db.Close()
	x := searchtest.Join(db, path, nil, nil)
	defer x.Close()
	src := store.Source{Label: "a", Root: "/a"}
	step := func(version int) error {
		skills := versionOf("a", version, 40)
		for name, s := range skills {
			var words strings.Builder
			for w := range 600 { // a file of many blocks, which are checked one by one
				fmt.Fprintf(&words, "%sx%d ", strings.ReplaceAll(name, "-", "x"), w)
			}
			skills[name] = searchtest.Skill(name, s.Description, words.String())
		}
		_, err := x.Sync(ctx, src, skills.Refs())
		return err
	}
	is := func(when string, x *searchtest.Catalog, want int) error {
		if version, err := oneVersion(x, true); err != nil || version != want {
			return fmt.Errorf("%s: version %d, %w; want %d", when, version, err, want)
		}
		return nil
	}
	if err := errors.Join(step(1), x.Publish(ctx, true), is("published", x, 1), step(2), os.Chmod(dir, 0o555)); err != nil {
		return err
	}
	defer os.Chmod(dir, 0o700)
	if err := x.Publish(ctx, true); err == nil {
		return errors.New("publishing succeeds where nothing can be written")
	}
	if err := errors.Join(is("not published", x, 2), is("not published, anew", searchtest.Join(db, path, nil, nil), 2)); err != nil {
		return err
	}
	if err := errors.Join(os.Chmod(dir, 0o700), x.Publish(ctx, true), is("published again", x, 2)); err != nil {
		return err
	}
	if !x.Published(ctx, []store.Source{src}) {
		return errors.New("what is published cannot be used")
	}
	return searchDamaged(x, dir, func(when string, x *searchtest.Catalog) error { return is(when, x, 2) })
}

// searchDamaged damages the base in many places, in a folder where it cannot be
// removed; then it makes the folder writable, so that the base can be repaired.
func searchDamaged(x *searchtest.Catalog, dir string, check func(when string, x *searchtest.Catalog) error) error {
	bases, err := filepath.Glob(x.Path + ".*.base")
	if err != nil || len(bases) != 1 {
		return fmt.Errorf("there are %q, %w; want one base", bases, err)
	}
	name := bases[0]
	intact, err := os.ReadFile(name)
	if err != nil {
		return err
	}
	if err := os.Chmod(dir, 0o555); err != nil {
		return err
	}
	for at := 0; at < len(intact); at += 1 + len(intact)/11 {
		data := append([]byte(nil), intact...)
		data[at] ^= 0x10
		y := searchtest.Join(x.Store, x.Path, nil, nil)
		err := errors.Join(os.WriteFile(name, data, 0o600), check(fmt.Sprintf("byte %d of %d damaged", at, len(data)), y),
			check("and once more", y), y.Close())
		if err != nil {
			return err
		}
	}
	if err := errors.Join(os.Chmod(dir, 0o700), os.WriteFile(name, intact[:len(intact)/2], 0o600)); err != nil {
		return err
	}
	y := searchtest.Join(x.Store, x.Path, nil, nil)
	defer y.Close()
	err = errors.Join(check("cut", y), y.Publish(context.Background(), true), check("whole", y))
	if err != nil {
		return err
	}
	set, err := y.Current(context.Background())
	if err == nil && !set.Compiled {
		err = errors.New("what is published is not whole")
	}
	return err
}
