package repertoire

import (
	"context"
	"crypto/sha256"
	"fmt"
	"io/fs"
	"path"

	"github.com/repertoire-skills/repertoire/internal/config"
	"github.com/repertoire-skills/repertoire/source"
)

// OpenDir opens a catalog of exactly the skills in these folders; a folder may also be that of one
// skill. Nothing of the user's configuration has a part in it. Of two skills with the same name
// the one in the earlier folder wins. A folder that does not exist is an error; if it may come later,
// call [Open] with Config.Dirs and Config.Away.
//
// The index is a file in the user's cache folder, so that the next start takes
// milliseconds. The catalog follows changes of the folders until Close, as that of Open does.
func OpenDir(ctx context.Context, paths ...string) (*Catalog, error) {
	return Open(ctx, Config{Dirs: paths})
}

// OpenFS is OpenDir for file systems, such as those that a program embeds. Their labels are "fs",
// or "fs1", "fs2" and so on where there are several. The index belongs to what their
// files say now: another program, or another version of this one, has an index of its own. For
// file systems whose files change while they are open, call [Open] with source.New.
func OpenFS(ctx context.Context, systems ...fs.FS) (*Catalog, error) {
	var cfg Config
	sum := sha256.New()
	for i, fsys := range systems {
		label := "fs"
		if len(systems) > 1 {
			label = fmt.Sprint("fs", i+1)
		}
		s, err := source.New(fsys, &source.Options{Label: label, Priority: len(systems) - i, Kind: source.KindRoot})
		if err != nil {
			return nil, err
		}
		cfg.Sources = append(cfg.Sources, s)
		for ref := range s.Skills(ctx, nil) {
			if ref == nil {
				continue // the scan reports it
			}
			m, err := source.ReadManifest(ctx, s, path.Dir(ref.Path))
			if err == nil {
				fmt.Fprintf(sum, "%s %q %s\n", label, ref.Path, m.Digest)
			}
		}
	}
	var err error
	if cfg.DB, err = config.NamedDB(fmt.Sprintf("fs %x", sum.Sum(nil))); err != nil {
		return nil, err
	}
	cfg.VectorCache = config.VectorCache()
	return Open(ctx, cfg)
}
