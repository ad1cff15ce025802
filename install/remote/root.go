package remote

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/gofrs/flock"
	"github.com/robfig/cron/v3"

	"github.com/repertoire-skills/repertoire/install/git"
	"github.com/repertoire-skills/repertoire/install/unpack"
	"github.com/repertoire-skills/repertoire/internal/endpoint"
	"github.com/repertoire-skills/repertoire/internal/tidy"
)

// Never is the schedule of a root that is fetched once, and then only when somebody asks.
const Never = "never"

// A Root is a folder of skills that is kept in step with a place elsewhere: a repository, an
// archive or a site on a server, or an archive on this machine.
type Root struct {
	Path  string // the folder; what else Fetch needs is beside it, with longer names
	Label string // for messages

	Git string // URL of a repository; "" means none
	Ref string // branch, tag or commit; "" means the default branch
	Sub string // folder in the repository, slash-separated; "" means all of it

	// Page is REF/FOLDER as a page of the repository has it; "" means that Ref and Sub say it.
	Page string

	// URL is an archive, or a site that lists its skills: then it is the URL of the site or
	// ends in .json.
	URL string

	// File is an archive on this machine, which is unpacked when it has changed. "" means none.
	File string

	// Schedule is when it is fetched anew, as a cron spec, or Never. "" means once a day for
	// a URL, and Never for a repository, which so stays at its first commit.
	Schedule string

	Limits *Limits // nil means all zero values
}

// Folder returns Sub, also of a page that was fetched.
func (r *Root) Folder() string {
	if r.Page == "" {
		return r.Sub
	}
	s, err := ReadState(r.Path)
	if err != nil {
		return ""
	}
	return s.Sub
}

// origin returns where the skills come from, without a password.
func (r *Root) origin() string {
	if r.File != "" {
		return r.File
	}
	return endpoint.Shown(cmp.Or(r.Git, r.URL))
}

// retryAfter is how long a failed fetch is not tried again, unless the schedule is faster.
const retryAfter = 10 * time.Minute

// Due reports whether a root should be fetched now. A root that was never fetched is due.
func Due(r Root, now time.Time) bool {
	s, err := ReadState(r.Path)
	if err != nil {
		return true // Fetch writes it anew
	}
	return s.due(r, now)
}

func (s *State) due(r Root, now time.Time) bool {
	if s.TriedAt.IsZero() || s.TriedAt.After(now) { // the clock was put back
		return true
	}
	if r.File != "" && s.Stamp != stamp(r.File) {
		return true
	}
	if s.FetchedAt.IsZero() || !exists(r.Path) {
		return now.Sub(s.TriedAt) >= retryAfter
	}
	spec := cmp.Or(r.Schedule, Never)
	if r.Schedule == "" && r.URL != "" {
		spec = "@every 24h"
	}
	schedule := parseSchedule(spec)
	if schedule == nil {
		return false
	}
	next := schedule.Next(s.TriedAt)
	if again := s.TriedAt.Add(retryAfter); s.Error != "" && again.Before(next) {
		next = again
	}
	return !next.After(now)
}

// stamp returns what changes when a file does; "" if nobody can tell.
func stamp(file string) string {
	info, err := os.Stat(file)
	if err != nil {
		return ""
	}
	return fmt.Sprintf("%d bytes of %s", info.Size(), info.ModTime().UTC().Format(time.RFC3339Nano))
}

// parseSchedule returns nil for Never, and for what is no schedule. The parser panics on
// some malformed time zones.
func parseSchedule(spec string) (s cron.Schedule) {
	defer func() {
		if recover() != nil {
			s = nil
		}
	}()
	if s, err := cron.ParseStandard(spec); err == nil {
		return s
	}
	return nil
}

// exists reports whether something is at a path, or may be.
func exists(path string) bool {
	_, err := os.Lstat(path)
	return !errors.Is(err, os.ErrNotExist)
}

// atOnce is how many roots are fetched at a time, so that a slow one delays no other.
const atOnce = 8

// Each calls fetch for each index of a list of roots, several at a time, and progress, unless it is nil, before the first and after each.
func Each(n int, progress func(done, all int), fetch func(i int)) {
	if n > 0 && progress != nil {
		progress(0, n)
	}
	ended, turns := make(chan struct{}, n), make(chan struct{}, atOnce)
	for i := range n {
		go func() {
			turns <- struct{}{}
			fetch(i)
			<-turns
			ended <- struct{}{}
		}()
	}
	for i := range n {
		if <-ended; progress != nil {
			progress(i+1, n)
		}
	}
}

// FetchDue fetches the roots that are due, or all of them, see Each. Its error joins the errors of all
// roots that could not be fetched. It waits for other processes that fetch the same roots, and then does not fetch these again.
func FetchDue(ctx context.Context, roots []Root, all bool, progress func(done, due int)) error {
	began := time.Now()
	due := slices.DeleteFunc(slices.Clone(roots), func(r Root) bool { return !all && !Due(r, began) })
	errs := make([]error, len(due))
	Each(len(due), progress, func(i int) {
		_, errs[i] = fetch(ctx, due[i], briefly, func(s *State) bool { return s.TriedAt.Before(began) && (all || s.due(due[i], began)) })
	})
	return errors.Join(errs...)
}

// Fetch brings the folder of a root in step with its place, and reports whether the
// skills in it have changed. They change all at once, and whoever is reading a file
// can go on. Skills that are refused are left out and noted in the state; after an error
// everything stays as it was.
func Fetch(ctx context.Context, r Root) (changed bool, err error) {
	return fetch(ctx, r, longest, func(*State) bool { return true })
}

// fetch fetches a root if its state still asks for it, once no other process fetches it. All of it
// takes no longer than the limit of the root, or most if it has none.
func fetch(outer context.Context, r Root, most time.Duration, wanted func(*State) bool) (changed bool, err error) {
	limits := r.Limits.filled()
	most = cmp.Or(limits.Total, most)
	ctx, cancel := context.WithTimeoutCause(outer, most, fmt.Errorf("it took more than %v", most))
	defer cancel()
	if err := os.MkdirAll(filepath.Dir(r.Path), 0o700); err != nil {
		return false, err
	}
	lock := flock.New(r.Path+".lock", flock.SetPermissions(0o600))
	if _, err := lock.TryLockContext(ctx, 20*time.Millisecond); err != nil {
		return false, fmt.Errorf("locking %s, which another process may be fetching: %w", r.Path, cmp.Or(outer.Err(), context.Cause(ctx), err))
	}
	defer lock.Close()
	before, err := ReadState(r.Path)
	if err != nil {
		before = &State{} // it is written anew
	}
	if !wanted(before) {
		return false, nil
	}
	after := State{From: r.origin(), Ref: r.Ref, Sub: r.Sub}
	if r.Page != "" { // what it was parted into, until the repository is asked again
		after.Ref, after.Sub = before.Ref, before.Sub
	}
	f := fetcher{root: r, limits: limits, before: *before, after: after}
	changed, err = f.run(ctx)
	if outer.Err() != nil { // nobody tried hard
		return changed, outer.Err()
	}
	if err != nil && f.unreached == nil && ctx.Err() != nil {
		err = context.Cause(ctx)
	}
	if err != nil {
		err = fmt.Errorf("fetching %s: %w", cmp.Or(r.Label, f.after.From), err)
	}
	return changed, errors.Join(err, f.note(err))
}

// A fetcher fetches a root once. Beside the folder PATH are PATH.new, in which it works,
// and PATH.old, which was in place of PATH before.
type fetcher struct {
	root   Root
	limits Limits
	before State
	after  State

	unreached error // why a site was left before its end; the skills until there count
}

func (f *fetcher) stage(name string) string { return filepath.Join(f.root.Path+".new", name) }

func (f *fetcher) run(ctx context.Context) (changed bool, err error) {
	if err := f.clean(); err != nil {
		return false, err
	}
	defer os.RemoveAll(f.root.Path + ".new")
	fetch := f.archive
	switch {
	case f.root.Git != "":
		fetch = f.repository
	case f.root.URL != "" && isSite(f.root.URL):
		fetch = f.site
	}
	same, err := fetch(ctx)
	if err != nil || same {
		return false, cmp.Or(err, f.unreached)
	}
	if err := swap(f.stage("tree"), f.root.Path); err != nil {
		return false, fmt.Errorf("putting what was fetched in place: %w", err)
	}
	return true, f.unreached
}

// clean removes what an earlier run has left, and makes the folder in which this run works.
func (f *fetcher) clean() error {
	if !exists(f.root.Path) && exists(f.root.Path+".old") { // killed between two renames, or removed
		if err := os.Rename(f.root.Path+".old", f.root.Path); err != nil {
			return err
		}
		f.before.Commit, f.before.Digest, f.before.Skills = "", "", nil // it is older than that
	}
	if err := os.RemoveAll(f.root.Path + ".new"); err != nil {
		return err
	}
	return os.Mkdir(f.root.Path+".new", 0o700)
}

// has reports whether the folder is there and was fetched from the same place, or a part of it.
func (f *fetcher) has() bool {
	return (!f.before.FetchedAt.IsZero() || len(f.before.Skills) > 0) && f.before.From == f.after.From && f.before.Sub == f.after.Sub && exists(f.root.Path)
}

// isSite reports whether a URL names a site, not an archive.
func isSite(address string) bool {
	u, err := url.Parse(address)
	return err == nil && (strings.Trim(u.Path, "/") == "" || strings.HasSuffix(u.Path, ".json") || strings.HasSuffix(u.Path, "/"))
}

// treeLimits returns the limits of a whole repository or archive of many skills, of which
// those that are refused are noted.
func (f *fetcher) treeLimits() *unpack.Limits {
	l := *cmp.Or(f.limits.Unpack, new(unpack.Limits))
	l.Members, l.Expanded, l.Shared = cmp.Or(l.Members, 200_000), cmp.Or(l.Expanded, 1<<30), true
	l.Refused = func(e *unpack.Error) { f.after.Refused = append(f.after.Refused, e.Error()) }
	return &l
}

// repository fetches a commit of a repository.
func (f *fetcher) repository(ctx context.Context) (same bool, err error) {
	repo := git.New(f.root.Git, f.limits.Unpack.MostBytes())
	v, err := repo.Resolve(ctx, f.root.Ref, f.root.Page)
	if err != nil {
		return false, err
	}
	if f.root.Page != "" {
		f.after.Ref, f.after.Sub = v.Ref, v.Sub
	}
	if f.after.Commit = v.Commit; f.has() && v.Commit != "" && v.Commit == f.before.Commit {
		f.after.Refused = f.before.Refused
		return true, nil
	}
	from := f.stage("git")
	repo = repo.In(from)
	if f.after.Commit, err = repo.Fetch(ctx, v); err != nil {
		return false, err
	}
	var subs []string
	if f.after.Sub != "" {
		subs = []string{f.after.Sub}
	}
	_, skills, missing, err := repo.Trees(ctx, f.after.Commit, subs)
	if err == nil {
		err = Checkout(ctx, repo, f.after.Commit, subs)
	}
	if err != nil {
		return false, err
	}
	for dir, err := range missing {
		if strings.Contains(dir, "/") || len(skills) == 0 { // at the top, beside skills, it is seldom one
			f.after.Refused = append(f.after.Refused, err.Error())
		}
	}
	return false, unpack.Part(ctx, from, f.after.Sub, f.stage("tree"), f.treeLimits())
}

// archive fetches an archive.
func (f *fetcher) archive(ctx context.Context) (same bool, err error) {
	file := f.root.File
	if file == "" {
		file = f.stage("archive")
		err = Download(ctx, f.root.URL, file, &f.limits)
	}
	if err != nil {
		return false, err
	}
	f.after.Stamp = stamp(f.root.File) // before it is read
	if f.after.Digest, err = Digest(file); err != nil {
		return false, err
	}
	if f.has() && f.after.Digest == f.before.Digest {
		f.after.Refused = f.before.Refused
		return true, nil
	}
	return false, unpack.Archive(ctx, file, f.stage("tree"), f.treeLimits())
}

// site fetches the skills of a site that have a new digest. A skill that cannot be fetched
// stays as it was. A site that is too slow is left; the next fetch goes on from there.
func (f *fetcher) site(ctx context.Context) (same bool, err error) {
	s, err := List(ctx, f.root.URL, &f.limits)
	if err != nil {
		return false, err
	}
	if err := os.Mkdir(f.stage("tree"), 0o700); err != nil {
		return false, err
	}
	f.after.Skills = make(map[string]string)
	same = f.has()
	var first error
	for i, one := range s.Skills {
		if f.current(one) {
			err = f.keep(ctx, one.Name)
		} else if err = s.Fetch(ctx, one, f.stage("tree/"+one.Name)); err == nil {
			same, f.after.Skills[one.Name] = false, one.Digest
		}
		if errors.Is(ctx.Err(), context.Canceled) {
			return false, ctx.Err()
		}
		if _, slow := errors.AsType[*slowError](err); slow || err != nil && ctx.Err() != nil {
			err = cmp.Or(context.Cause(ctx), err)
			ctx = context.WithoutCancel(ctx) // what is there is kept all the same
			if err := f.leave(ctx, s.Skills[i:], err); err != nil {
				return false, err
			}
			break
		}
		if err != nil {
			first = cmp.Or(first, err)
			f.after.Refused = append(f.after.Refused, err.Error())
			os.RemoveAll(f.stage("tree/" + one.Name)) // at most an empty folder
			if err := f.keep(ctx, one.Name); err != nil {
				return false, err
			}
		}
	}
	for _, p := range s.Problems {
		f.after.Refused = append(f.after.Refused, p.String())
		if err := f.keep(ctx, p.Name); err != nil {
			return false, err
		}
	}
	if len(f.after.Skills) == 0 {
		return false, cmp.Or(f.unreached, first, fmt.Errorf("it lists no skill that can be used%s", firstOf(f.after.Refused)))
	}
	return same && len(f.after.Skills) == len(f.before.Skills), nil
}

// leave keeps what is there of the skills of a site that were not reached, and notes why they were not.
func (f *fetcher) leave(ctx context.Context, rest []Listed, cause error) error {
	n := 0
	for _, one := range rest {
		if !f.current(one) {
			n++
		}
		os.RemoveAll(f.stage("tree/" + one.Name)) // at most a part of it
		if err := f.keep(ctx, one.Name); err != nil {
			return err
		}
	}
	f.unreached = fmt.Errorf("%d of its skills were not reached: %w", n, cause)
	return nil
}

func firstOf(list []string) string {
	if len(list) == 0 {
		return ""
	}
	return ": " + list[0]
}

// keeps reports whether a skill is there from an earlier fetch of the same site.
func (f *fetcher) keeps(name string) bool {
	return f.has() && f.before.Skills[name] != "" && exists(filepath.Join(f.root.Path, name))
}

// current reports whether a skill is there as a site lists it.
func (f *fetcher) current(one Listed) bool {
	return f.keeps(one.Name) && f.before.Skills[one.Name] == one.Digest
}

// keep copies a skill as it is, if it is there.
func (f *fetcher) keep(ctx context.Context, name string) error {
	if !f.keeps(name) || f.after.Skills[name] != "" {
		return nil
	}
	err := unpack.Folder(ctx, filepath.Join(f.root.Path, name), f.stage("tree/"+name), f.limits.Unpack)
	if err == nil {
		f.after.Skills[name] = f.before.Skills[name]
	}
	return err
}

// note writes the state after a fetch.
func (f *fetcher) note(err error) error {
	now := time.Now().UTC()
	s := f.after
	if err != nil {
		s = f.before
		s.From, s.Ref, s.Stamp = f.after.From, f.after.Ref, f.after.Stamp
		if f.unreached != nil {
			s.Skills, s.Refused = f.after.Skills, f.after.Refused
		}
		s.Error = tidy.Visible(tidy.Shorten(err.Error(), 1000))
		if s.FailedSince.IsZero() {
			s.FailedSince = now
		}
	} else {
		s.FetchedAt = now
	}
	slices.Sort(s.Refused)
	s.TriedAt = now
	return s.write(f.root.Path)
}
