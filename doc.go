// Package repertoire finds the agent skills that fit a prompt, among hundreds or
// thousands of them.
//
// A skill is a folder with a SKILL.md: a name, a description and instructions,
// perhaps with scripts and other files. A program that tells a model the names
// and descriptions of all skills pays for them with every prompt, and the model
// sees most of them cut. This package indexes the full text of every skill, and
// returns for each prompt the few that fit, or none. Skills are folders on disk,
// or lie in any [io/fs.FS], in memory or elsewhere, see package source.
//
// # The names that most programs need
//
//   - [OpenDir], [OpenFS], [OpenDefault], and [Open] with a [Config], return a [Catalog]; [Catalog.Close] ends it.
//   - [Catalog.Block] with a [Budget] returns a [Block] for a prompt, [Catalog.Body] a [Body], [Catalog.File] a [File].
//   - [Catalog.Search] with a [Query] returns an [Answer] with its [Hit] values, [Catalog.List] each [Entry].
//   - An [Agent] with [Rules] bounds what a model sees; [ErrNotFound] is what is outside.
//
// # Three steps
//
// A program asks for the three levels of a skill one after the other:
//
//  1. [Catalog.Block]: which skills does this prompt need? Its Text has their names
//     and descriptions, to be put in front of the prompt; it is "" if it needs none.
//  2. [Catalog.Body]: the instructions of a skill, when the model asks for them.
//  3. [Catalog.File]: another file of the skill, when the instructions refer to it.
//
// [Budget].Intro is the sentence that tells the model how to ask for them, with the names
// of your own tools. Without it the text names the tool read_skill of package agent.
//
// Levels 2 and 3 are read from the source at that moment, never from the index:
//
//	catalog, err := repertoire.OpenDir(ctx, "skills")
//	…
//	defer catalog.Close()
//	block, err := catalog.Block(ctx, prompt, repertoire.Budget{}, nil)
//	…
//	body, err := catalog.Body(ctx, block.Skills[0].ID, nil)
//
// # When to use what
//
//   - [OpenDefault] opens the catalog that the command "skills" would open, with
//     the settings of the user and of the project. [ReadConfig] returns the same
//     as a [Config], for a program that changes something in it before [Open].
//   - [OpenDir] opens exactly the skills in some folders, and [OpenFS] those in file systems,
//     such as a program embeds. [Open] with Config.Sources opens those of any source. The
//     user's configuration then has no part in it.
//   - Block is for a model that did not ask: it returns nothing unless the prompt
//     probably needs a skill. [Catalog.Search] is for people, and for models that
//     ask: it ranks whatever is near, and says how likely each is wanted.
//     [Catalog.Why] explains both. [Catalog.List] and [Catalog.Lookup] do not rank.
//   - [Catalog.FindText] finds the sections of a skill's files that a question is about, for long
//     skills of which a model should not read all.
//   - [Catalog.Owner] is for who looks after a catalog: it rescans at once, calibrates, and
//     finds twins and rules that match nothing. Other programs do not need it.
//   - A host with a model loop of its own calls these methods, see the example
//     AgentLoop; a server keeps one Catalog for all requests, see the example Server.
//     Package agent has a loop, and the tools with which a model loads skills.
//     Package mcpserver serves a Catalog to clients of the Model Context Protocol.
//
// # How fresh answers are
//
// A catalog that stays open rescans its sources on Config.Schedule, every 5 s by
// default, and answers from the last rescan meanwhile. Open returns after the
// first one; Config.Background makes that run in the background. A program that
// answers once and ends sets Schedule to [Never] and calls [Catalog.Freshen], which
// looks for changes within a time limit. Until a rescan notices an edit, Block
// ranks by the old text, and Body already returns the new one, with Stale set.
//
// A catalog of a new set of folders holds only a part of them until its first scan is
// complete. With FreshenOptions.Partial, Freshen does not wait for that: then
// Freshness.Partial is true and Answer.Unread is not 0, and what is not found may still be
// there. Catalog.Unread says so at any time.
//
// The index is a cache in Config.DB: deleting it costs a rebuild. A damaged one is
// moved aside and rebuilt. Several processes may share it.
//
// # Errors
//
// A skill that does not exist, that the agent does not see, or that is held back
// is [ErrNotFound]; a file that a skill does not have is [io/fs.ErrNotExist]. The
// messages name similar ones. A malformed Query with Syntax is a [*SyntaxError].
// A call that ctx cuts short returns the error of ctx, and a call after Close
// [ErrClosed]. Everything else is about the machine: the catalog file, or a source
// while it is read.
//
// What goes wrong with one skill or one source stops nothing else: it is a problem
// of its [Report], and a message to Config.Logger. Only Open returns an error for a folder
// that does not exist, as its path is probably wrong. With Config.Away, which ReadConfig sets,
// and after Open, it is none: Report.Away is set, and the Logger gets a message.
// Without an embedder, or with a slow one, text alone ranks, and Answer.Mode says so.
//
// # Goroutines
//
// A Catalog is used by any number of goroutines at once: a server opens one, and
// closes it after its last request. Questions do not wait for a rescan. With a
// schedule a Catalog has goroutines of its own, until Close; with Never it has none.
// Config, Agent, Policy and what they refer to must not change while it is open.
//
// # Agents
//
// An [Agent] sees a part of the catalog. Methods take one, and nil means everything.
// Its scope holds in all of them: skills outside of it do not exist for the agent,
// and no answer or error names them. Only [Catalog.Why] and [Owner.Unmatched], which
// are for the owner of the catalog, do. What an Agent sees is remembered by its rules,
// so programs may make one for each question.
//
// # What it costs
//
// Importing this package makes a stripped program 42 MB larger: 12 MB are the model of the
// built-in embedder, 17 MB the encoder, most of the rest SQLite and HTTPS. Package mcpserver adds
// 2.6 MB and package agent 0.9 MB. The start of the process takes 3 ms longer (1 and 4 ms), all of
// it in package initialization and in the loading of a larger file. There is no cgo.
//
// With 500 skills a Catalog takes some 45 MB of memory and 6 MB on disk. On one core,
// the first Open takes about 1 s, later ones less than 0.1 s, a Block 0.2 ms and a Body 0.1 ms.
// Nothing leaves the machine unless the configuration names a server for embeddings
// or reranking, or a source elsewhere.
package repertoire
