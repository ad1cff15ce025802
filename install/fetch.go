package install

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/repertoire-skills/repertoire/install/git"
	"github.com/repertoire-skills/repertoire/install/remote"
	"github.com/repertoire-skills/repertoire/install/unpack"
	"github.com/repertoire-skills/repertoire/internal/endpoint"
	"github.com/repertoire-skills/repertoire/skill"
)

// A wish says what of a source is wanted.
type wish struct {
	subs    []string          // folders, slash-separated; nil means all
	request Request           // what chooses among the skills of an installation
	have    string            // commit that is installed already: a repository that is still there needs no fetch
	trees   map[string]string // objects of folders that are installed already; nil if this is no update
	names   map[string]string // names of the skills in subs, in an update
	old     string            // commit that is installed, also if it is needed again
}

// A fetched is a source on this disk.
type fetched struct {
	dir       string   // of all of it; a source that is a folder is used where it is
	subs      []string // folders of a repository that are there; nil means all
	commit    string
	trees     map[string]string // objects of the folders of a repository
	signature *Signature
	said      string           // digest of the skill, as a registry says; "" means nothing
	failed    map[string]error // folders that could not be fetched: skills of a site, submodules of a repository
	lacks     map[string]error // folders inside of skills that could not be fetched
	refused   []*unpack.Error  // why skills of an archive were not unpacked
	added     []string         // folders with skills that the commit that is installed does not have
	same      bool             // the repository is still at the commit that was installed; nothing was fetched
}

// absolute returns a source with the path that its text means here.
func (s Source) absolute() (Source, error) {
	if !s.IsLocal() {
		return s, nil
	}
	if rest, ok := strings.CutPrefix(s.Origin, "~"); ok && (rest == "" || rest[0] == '/' || rest[0] == '\\') {
		home, err := os.UserHomeDir()
		if err != nil {
			return s, err
		}
		s.Origin = filepath.Join(home, rest)
	}
	var err error
	s.Origin, err = filepath.Abs(s.Origin)
	return s, err
}

// fetch gets a source into a stage. It sets what only the source knows: the ref and folder of its page.
func (in *Installer) fetch(ctx context.Context, st *stage, s *Source, w wish) (fetched, error) {
	f, err := fetched{}, error(nil)
	switch s.Kind {
	case Git:
		f, err = in.fetchGit(ctx, st, s, w)
	case Folder:
		f, err = in.fetchFolder(*s)
	case Archive:
		f, err = in.fetchArchive(ctx, st, *s)
	case Registry:
		f, err = in.fetchRegistry(ctx, st, *s)
	default:
		f, err = in.fetchSite(ctx, st, *s, w)
	}
	if from := endpoint.Shown(s.Origin); err != nil && ctx.Err() == nil && !strings.Contains(err.Error(), from) {
		err = fmt.Errorf("fetching %s: %w", from, err)
	}
	return f, err
}

func (in *Installer) fetchGit(ctx context.Context, st *stage, s *Source, w wish) (fetched, error) {
	r := git.New(s.Origin, in.opts.Limits.MostBytes())
	v, err := r.Resolve(ctx, s.Ref, s.Page)
	if err != nil {
		return fetched{}, err
	}
	if s.Page != "" {
		s.Ref, s.Sub, s.Page = v.Ref, v.Sub, ""
	}
	if s.Sub != "" {
		w.subs = []string{s.Sub}
	}
	if v.Commit != "" && v.Commit == w.have {
		return fetched{commit: v.Commit, same: true}, nil
	}
	r = r.In(st.fetched())
	f := fetched{dir: st.fetched()}
	if f.commit, err = r.Fetch(ctx, v); err != nil {
		return f, err
	}
	if f.signature, err = in.verifyTag(ctx, st, r, v); err != nil {
		return f, err
	}
	var files []string
	f.trees, files, f.lacks, err = r.Trees(ctx, f.commit, w.subs)
	if err == nil {
		files, err = f.miss(w, files)
	}
	if err != nil {
		return f, err
	}
	if w.trees != nil {
		if w.old != f.commit {
			f.added, _ = r.Added(ctx, f.commit, w.old) // an error means that the server does not give the old commit: nothing is said then
		}
		if err := in.fetchMoved(ctx, r, &f, w); err != nil {
			return f, err
		}
		f.subs = slices.DeleteFunc(f.subs, func(sub string) bool { return f.trees[sub] == "" || f.trees[sub] == w.trees[sub] })
		if len(f.subs) == 0 {
			return f, nil
		}
	} else if f.subs, err = w.narrow(files); err != nil {
		return f, err
	}
	return f, remote.Checkout(ctx, r, f.commit, f.subs)
}

// fetchMoved sets the folders that an update needs: those of its skills. If one of these is gone, it adds the
// folders of all skills with its name. To find them it fetches every SKILL.md, because a folder need not have the
// name of its skill.
func (in *Installer) fetchMoved(ctx context.Context, r git.Repo, f *fetched, w wish) error {
	f.subs = slices.Clone(w.subs)
	gone := make(map[string]bool)
	for _, sub := range w.subs {
		if f.trees[sub] == "" {
			gone[w.names[sub]] = true
		}
	}
	if len(gone) == 0 {
		return nil
	}
	trees, files, _, err := r.Trees(ctx, f.commit, nil)
	if err != nil || len(files) == 0 {
		return err
	}
	if err := remote.Checkout(ctx, r, f.commit, files); err != nil {
		return err
	}
	all, err := f.find(ctx, nil)
	for _, one := range all {
		if gone[one.name] {
			f.subs, f.trees[one.dir] = append(f.subs, one.dir), trees[one.dir]
		}
	}
	return err
}

// miss moves from lacks to failed the submodules that are not there and may be skills, and returns the paths of
// all SKILL.md files, with those that they would have. Those that stay in lacks lie inside of a skill.
func (f *fetched) miss(w wish, files []string) ([]string, error) {
	all := files
	f.failed = make(map[string]error)
	for dir, err := range f.lacks {
		if slices.ContainsFunc(files, func(file string) bool { return git.In(dir, path.Dir(file)) }) {
			continue
		}
		if w.trees == nil && slices.ContainsFunc(w.subs, func(sub string) bool { return git.In(sub, dir) }) {
			return nil, err
		}
		delete(f.lacks, dir)
		if len(files) == 0 || path.Dir(dir) != "." || slices.Contains(w.request.Skills, path.Base(dir)) || slices.Contains(w.subs, dir) {
			f.failed[dir] = err
			all = append(all, path.Join(dir, skill.FileNames[0]))
		}
	}
	return all, nil
}

// narrow returns the folders of a repository that are needed for a wish, given all its
// SKILL.md files: a few skills are fetched without the rest. By the specification, a
// folder has the name of its skill; if a wanted name is no folder's, everything is needed.
func (w wish) narrow(files []string) ([]string, error) {
	r := w.request
	if r.All || len(files) < 2 {
		return w.subs, nil
	}
	var all []found
	for _, file := range files {
		dir := path.Dir(file)
		all = append(all, found{dir: dir, name: path.Base(dir)})
	}
	if len(r.Skills) == 0 {
		_, err := r.choose(all)
		return nil, err
	}
	chosen, err := r.named(all)
	if err != nil {
		return w.subs, nil
	}
	var subs []string
	for _, one := range chosen {
		subs = append(subs, one.dir)
	}
	return subs, nil
}

func (in *Installer) fetchFolder(s Source) (fetched, error) {
	if err := in.unsigned("a folder"); err != nil {
		return fetched{}, err
	}
	switch info, err := os.Stat(s.Origin); {
	case errors.Is(err, os.ErrNotExist):
		return fetched{}, errors.New("there is no such folder; a repository is owner/repo or a URL")
	case err != nil:
		return fetched{}, err
	case !info.IsDir():
		return fetched{}, errors.New("this is no folder, and no archive by its name (.zip, .tar.gz, .tgz, .skill)")
	}
	return fetched{dir: s.Origin}, nil
}

func (in *Installer) fetchArchive(ctx context.Context, st *stage, s Source) (f fetched, err error) {
	file, sig := s.Origin, s.Origin+".minisig"
	if !s.IsLocal() {
		file, sig = st.archive(), st.archive()+".minisig"
		if err := in.download(ctx, remote.File{URL: s.Origin}, file, sig); err != nil {
			return f, err
		}
	}
	if f.signature, err = in.verifyFile(file, sig); err != nil {
		return f, err
	}
	return f, in.unpack(ctx, st, &f, file)
}

// unpack unpacks an archive into a stage.
func (in *Installer) unpack(ctx context.Context, st *stage, f *fetched, file string) error {
	f.dir = st.fetched()
	l := *cmp.Or(in.opts.Limits, new(unpack.Limits))
	l.Refused = func(e *unpack.Error) { f.refused = append(f.refused, e) }
	return unpack.Archive(ctx, file, f.dir, &l)
}

// fetchRegistry gets what a registry has under a name now. It passes the gates of any archive, and
// if the registry has said a digest, that one.
func (in *Installer) fetchRegistry(ctx context.Context, st *stage, s Source) (f fetched, err error) {
	if in.opts.Ask == nil {
		return f, errors.New("no registry is configured here")
	}
	from, err := in.opts.Ask(ctx, s.Origin)
	if err != nil {
		return f, err
	}
	f.said = from.Skill
	file, sig := st.archive(), st.archive()+".minisig"
	if err := in.download(ctx, from, file, sig); err != nil {
		return f, err
	}
	if err := from.Verify(file); err != nil {
		return f, err
	}
	if f.signature, err = in.verifyFile(file, sig); err != nil {
		return f, err
	}
	if !from.Plain {
		return f, in.unpack(ctx, st, &f, file)
	}
	f.dir = st.fetched()
	if err := os.Mkdir(f.dir, 0o700); err != nil {
		return f, err
	}
	return f, os.Rename(file, filepath.Join(f.dir, skill.FileNames[0]))
}

// find finds the skills in some folders of a source; nil means all of it.
func (f fetched) find(ctx context.Context, subs []string) ([]found, error) {
	var all []found
	for name, err := range f.failed {
		if len(subs) == 0 || slices.Contains(subs, name) {
			all = append(all, found{name, path.Base(name), err})
		}
	}
	if len(subs) == 0 {
		subs = []string{"."}
	}
	for _, sub := range subs {
		if f.failed[sub] != nil {
			continue
		}
		real, err := unpack.Resolve(f.dir, sub) // there may be links on the way
		if err != nil {
			return nil, fmt.Errorf("the source has no folder %s: %w", sub, err)
		}
		list, problems, err := find(ctx, f.dir, real)
		if err != nil {
			return nil, err
		}
		if len(list) == 0 && len(problems) > 0 {
			return nil, fmt.Errorf("no skill was found: %s", problems[0].Message)
		}
		for _, one := range list {
			if f.failed[one.dir] == nil {
				all = append(all, one)
			}
		}
	}
	if len(all) == 0 && len(f.refused) > 0 {
		return nil, fmt.Errorf("it is refused: %w", f.refused[0])
	}
	return all, nil
}

// download gets a file, and its signature if one is asked for.
func (in *Installer) download(ctx context.Context, from remote.File, file, sig string) error {
	l := &remote.Limits{Key: from.Key, Named: from.Named}
	if err := remote.Download(ctx, from.URL, file, l); err != nil || len(in.keys) == 0 {
		return err
	}
	before, query, _ := strings.Cut(from.URL, "?")
	if query != "" {
		query = "?" + query
	}
	if err := remote.Download(ctx, before+".minisig"+query, sig, l); err != nil {
		return fmt.Errorf("%w (trust.keys asks for a signature)", err)
	}
	return nil
}

// fetchSite gets the chosen skills of a site. A skill that cannot be fetched does not stop
// the others.
func (in *Installer) fetchSite(ctx context.Context, st *stage, s Source, w wish) (fetched, error) {
	f := fetched{dir: st.fetched(), failed: make(map[string]error)}
	if err := in.unsigned("a site"); err != nil {
		return f, err
	}
	site, err := remote.List(ctx, s.Origin, &remote.Limits{Unpack: in.opts.Limits})
	if err != nil {
		return f, err
	}
	listed := make(map[string]remote.Listed)
	var all []found
	for _, one := range site.Skills {
		listed[one.Name] = one
		all = append(all, found{dir: one.Name, name: one.Name})
	}
	if w.subs != nil { // an update says of each skill that is gone
		all = slices.DeleteFunc(all, func(one found) bool { return !slices.Contains(w.subs, one.dir) })
	} else if all, err = w.request.choose(all); err != nil {
		return f, err
	}
	if err := os.Mkdir(f.dir, 0o700); err != nil {
		return f, err
	}
	for _, one := range all {
		if err := site.Fetch(ctx, listed[one.name], filepath.Join(f.dir, one.name)); err != nil {
			f.failed[one.name] = err
		}
	}
	return f, ctx.Err()
}
