package check

import (
	"context"
	"io/fs"
	"iter"
	"path"

	"github.com/repertoire-skills/repertoire/skill"
	"github.com/repertoire-skills/repertoire/source"
)

// An overlay is a source in which one skill is another one.
type overlay struct {
	source.Source
	dir     string     // of the skill
	changed *source.FS // has the skill that is in its place, in the same folder
}

// Skills implements source.Source.
func (o *overlay) Skills(ctx context.Context, trace func(source.Trace)) iter.Seq2[*skill.Ref, error] {
	return func(yield func(*skill.Ref, error) bool) {
		for ref, err := range o.Source.Skills(ctx, trace) {
			if ref != nil && path.Dir(ref.Path) == o.dir {
				if changed, _, ok := o.changed.Skill(o.dir); ok {
					ref = changed
				}
			}
			if !yield(ref, err) {
				return
			}
		}
	}
}

// Skill implements source.Source.
func (o *overlay) Skill(dir string) (*skill.Ref, source.Trace, bool) {
	if dir == o.dir {
		return o.changed.Skill(dir)
	}
	return o.Source.Skill(dir)
}

// Unchanged implements source.Source.
func (o *overlay) Unchanged(t source.Trace) bool { return t.Dir != o.dir && o.Source.Unchanged(t) }

// List implements source.Source.
func (o *overlay) List(ctx context.Context, dir string) (source.Listing, error) {
	if dir == o.dir {
		return o.changed.List(ctx, dir)
	}
	return o.Source.List(ctx, dir)
}

// Open implements source.Source.
func (o *overlay) Open(ctx context.Context, dir, name string) (fs.File, error) {
	if dir == o.dir {
		return o.changed.Open(ctx, dir, name)
	}
	return o.Source.Open(ctx, dir, name)
}
