package repertoire

import (
	"github.com/repertoire-skills/repertoire/contextprovider"
	"github.com/repertoire-skills/repertoire/index"
	"github.com/repertoire-skills/repertoire/search"
	"github.com/repertoire-skills/repertoire/skill"
	"github.com/repertoire-skills/repertoire/store"
)

// ErrNotFound says that there is no such skill, or none in the agent's scope.
var ErrNotFound = skill.ErrNotFound

// ErrClosed says that the catalog was used after [Catalog.Close].
var ErrClosed = store.ErrClosed

// An Agent sees a part of the catalog. A nil *Agent sees all of it. Fields:
//
//   - Name: by which Catalog.Agent finds it
//   - Include: the [Rules] that skills must match; empty rules match what Uses names, or
//     all skills if that is empty
//   - Exclude: the [Rules] that skills must not match; they win over Include
//   - Pinned: names of skills that stand in every block, in this order, if the agent
//     sees them
//   - Uses: IDs of skills that it always has with all their instructions
//   - Prompt, Instructions: its role, and what it is told after the skills that it uses; for
//     package agent
//   - Script, Foreign: how scripts of skills run for it, and whether somebody else may have
//     written that; see Catalog.Script
//   - Places: where a configuration has each rule, for messages; nil means unknown
//   - Held: Lookup, Body, File and the like find skills that are held back too
//
// A skill outside of what the agent sees does not exist for it: no answer and no error
// names it, and it hides no skill of the same name. Open refuses an agent with a
// malformed pattern, and one that pins or uses what its own rules for names keep out.
type Agent = search.Agent

// A Script says how scripts of skills run. Fields:
//
//   - Executor: one of search.Executors; "" means the default of the program
//   - Timeout: of one run
//   - Output: most bytes of what a run writes to each of its outputs
//   - Network: TCP ports that it may connect to; empty means none
//   - Runtime: of the container executor; "" means its default
type Script = search.Script

// A ScriptRule says how the scripts of some skills run. It has the fields of a [Script], and:
//
//   - Skills: patterns for whole names, as in [Rules]
//   - Sources: labels of the only sources in which it holds; nil means all
//   - Place: where a configuration has it, for messages
type ScriptRule = search.ScriptRule

// Rules match a skill when one of them does. A rule that matches nothing lets nothing
// in, or keeps nothing out; Owner.Unmatched finds it. Fields:
//
//   - Names: patterns for whole names, such as "internal-*": * stands for any characters,
//     ? for one, [a-z] for one of some, and \ takes the next one literally
//   - Tags: tags of skills, without regard to case
//   - Sources: labels of sources
type Rules = search.Rules

// A Rule is one rule of an [Agent]. Fields:
//
//   - Key: "include.names", "exclude.tags", "pinned" and so on
//   - Text: the pattern, tag, label or name
type Rule = search.Rule

// A Policy says which skills are held back from everybody, whatever agent asks: they shadow
// nothing, and no answer has them. Only List, Lookup and Why say that they are there. Lists
// of sources hold labels, or kinds (source.KindProject). Fields:
//
//   - Disabled: rules that disable skills, as search.Ban values
//   - Ask, Trusted: the sources whose skills are offered only if Trusted has their digest
//   - Installed, Locked: the sources whose skills must have the digest that Locked returns;
//     "" means any
//   - Version: identifies what Trusted and Locked answer now; nil means that it never changes
//   - Lower: the sources that are trusted less: their skills rank below equals
//   - Private: the sources whose skills nobody sees but the agents that use them
//
// A skill of Ask, or one with a locked digest, is served only as long as all its files have
// the digest for which it is offered.
type Policy = search.Policy

// ListOptions say what List returns besides the offered skills. Fields:
//
//   - Shadowed: also copies that another skill shadows
//   - Held: also skills that are held back
type ListOptions = search.ListOptions

// A Place is where a configuration has a rule. Fields:
//
//   - File: name of the configuration file
//   - Line: from 1
type Place = search.Place

// A Query asks for the skills that fit a prompt. Fields:
//
//   - Text: any text
//   - Limit: most hits; 0 means 10
//   - Disturb: the share, up to 1, of the prompts that need no skill for which a hit
//     may be relevant; 0 means the share of the catalog, OnlyNamed that only skills
//     are relevant that the prompt names
//   - Threshold: instead of Disturb, the least probability, up to 1, that the prompt
//     wants a skill for any to be relevant; 0 means none, Always means that every
//     prompt reaches it
//   - Agent: the [Agent] who asks; nil means the whole catalog
//   - Relevant: leave out hits that are not relevant
//   - Fitting: leave out hits that are hardly worth listing to somebody who asks, and
//     all of them if nothing fits
//   - Least: with Fitting, the least probability of a hit that is not relevant; 0 means
//     that only a negligible one is too little
//   - Source, Tag: the label of the only source, and the only tag, to search; "" means any
//   - Syntax: read Text as a query with phrases, AND, OR, NOT, NEAR and fields,
//     ranked by BM25 alone; a malformed one is a [*SyntaxError]
type Query = search.Query

// An Answer holds the hits of a query. Fields:
//
//   - Hits: the [Hit] values, best first
//   - Unfit: how many candidates Query.Fitting left out
//   - Mode: what the order is based on: "hybrid", "text (no embedder)", "text
//     (embedder timed out)" and so on, "syntax" for a query with Syntax
//   - Kind: why the prompt wants no skill that it does not name: "empty",
//     "reply", "log", "diff", "code" and so on; "" for all other prompts
//   - Demand: Demand.Probability is the probability that the prompt wants any
//     skill, Demand.Terms are its reasons
//   - Threshold: what that probability is compared with
//   - Background: what Threshold follows from, a [Background]
//   - Unread: how many sources the catalog has not read yet, as that of a new worktree:
//     what is not found may still be there
//   - AsOf: when the answer was last known to be right, if Config.Store cannot be asked now;
//     the zero time means that it is right
//   - RerankError: why the reranker had no part in the order; nil when it had, or
//     when there is none or nothing to order
type Answer = search.Answer

// A Background says what the threshold of an answer follows from. Fields:
//
//   - Disturb: the share of the prompts that need no skill that may get an offer; -1
//     means that the threshold was set
//   - Prompts: how many prompts that need no skill were ranked in this catalog, see
//     Owner.Calibrate
//   - Higher: how many of them are more likely to want a skill than this prompt
//   - Missing: why Prompts is 0
//   - Due: Prompts is 0 because Owner.Calibrate was not called
type Background = search.Background

// A Hit is one skill of an answer. It has the fields of an [Entry], and:
//
//   - Relevant: the skill is worth showing to a model that did not ask for it
//   - Lower: its source is trusted less, see [Policy]
//   - Probability: that the prompt wants this skill, 0 to 1; comparable between
//     prompts and catalogs
//   - Score, Terms: what hits are ordered by, comparable within one answer, and
//     the summands of it
//   - Matched: words of the prompt that the skill has, stemmed, by field
//   - Trigger: the best of its triggers that the prompt has: its Kind ("keyword",
//     "verb" or "pattern"), Text and Value, 0 to 1; nil for none
//   - Coverage, Evidence: the share of the prompt that name, description and tags
//     cover, and how much that is
//   - Strength: how strongly the full text matches
//   - Copies: entries of the same skill elsewhere, which are left out
//   - RerankScore: the score of the reranker; nil when it did not score this hit
//   - RequiredBy: in a [Block], the ID of the skill that requires this one, which is
//     listed only because of that
type Hit = search.Hit

// An Entry is what the catalog knows of a skill without reading it: level 1.
// Fields:
//
//   - ID: by which Body and File find the skill: its name, or "source/folder" for
//     a skill that another one of the same name shadows
//   - Name, Description: of its frontmatter
//   - Source: the label of its source
//   - Path: of its SKILL.md in the source, slash-separated
//   - Location: of its SKILL.md: an absolute path, or "label:path" when it is not
//     on disk
//   - Version, License, Author, Compatibility: of its frontmatter, "" if it does not say
//   - Tags: of its frontmatter, without duplicates
//   - Needs: what it needs to work: skills, commands, environment variables
//   - Triggers: Keywords, Verbs and Patterns that prompts for it contain, as its author
//     says
//   - Requires, Lacking: IDs of the skills that it requires, and names of those that
//     the scope does not have
//   - Tokens: of its instructions, estimated
//   - Digest, TextDigest: SHA-256 over all its files, and of SKILL.md alone
//   - ShadowedBy, ShadowedFrom: ID and source of the skill that has its name instead; ""
//     when it is offered itself, away or held back
//   - Away: its source cannot be read now, so that it is listed but not offered
//   - State, Reason: why it is not offered to anybody, such as "unavailable", "needs
//     the command gh, which is not in PATH", see [Policy]; "" for most skills
//   - Sealed: the state that it gets when its files change; "" when they may
type Entry = search.Entry

// An Explanation says why a skill is or is not offered for a prompt. It has the
// fields of a [Hit] and of an [Answer] but Hits, and:
//
//   - Verdict: what decided, in one sentence
//   - Rank, Of: the place among the candidates, from 1, and their number; a Rank
//     of 0 means that the skill is no candidate
//   - Best: ID of the first candidate
//   - CopyOf: ID of the skill that is kept instead of this copy; "" when it is none
//   - Missing: words of the prompt that the skill does not have, but others, stemmed
//   - Absent: all words of the prompt that the skill does not have, stemmed
//   - Ignored: triggers of the skill that do not count, and why
//   - Filter: the rule of the agent that keeps the skill out; "" when none does
type Explanation = search.Explanation

// A Snippet is an excerpt of the instructions of a skill around what a query
// matches. Fields:
//
//   - Text: one line; "" when nothing matches
//   - Matches: start and end of each match in Text, in bytes
type Snippet = search.Snippet

// A SyntaxError says what is wrong with a Query whose Syntax is set. Fields:
//
//   - Message: what is wrong, and what to do
//   - Column: where, in characters from 1
//   - Offset: where, in bytes from 0
type SyntaxError = search.SyntaxError

// A Budget bounds a block and chooses its form. The zero Budget is a good one.
// Fields:
//
//   - Tokens: most tokens of the listed skills, estimated; 0 means 1,000
//   - Skills: most skills that are listed; 0 means 8
//   - Chars: most UTF-16 code units of the list as a JSON string; 0 means no limit
//   - Disturb, Threshold: as in a [Query]
//   - Format: contextprovider.XML, Markdown or JSON; "" means XML
//   - Form: contextprovider.Short (name, first sentence of the description, and the
//     location if the model opens files itself) or Full (name, description, location);
//     "" means the form of the Config, or else Short if Intro or Server is set, else Full
//   - Intro: the sentence that tells the model how to load a skill, with the names
//     of your own tools; "" means one that Server decides
//   - Server: the MCP server whose tool read_skill loads skills; "" means that the
//     model reads their files
//   - Command: the program whose command show prints the instructions of a skill, for a
//     list without Intro and Server; "" means "skills"
//   - ListPinned: list pinned skills like others instead of giving all their
//     instructions
//   - Choose: returns which of some hits to list, best first; nil means all
type Budget = contextprovider.Budget

// A Block is level 1: the text that tells a model which skills fit a prompt. It
// has the fields of an [Answer] but Hits, and:
//
//   - Text: for the model; "" when no skill is relevant and none is pinned
//   - Skills: the listed skills as [Hit] values, best first, with the descriptions that
//     Text shows; each is followed by those that it requires
//   - Pinned: the skills that stand in Text with all their instructions, as [Body]
//     values
//   - Problems: of pinned skills that are left out because they cannot be read now, or
//     lack a command that they need
//   - Omitted: number of relevant skills that the budget left out
//   - Tokens: of Text, estimated
type Block = contextprovider.Block

// A Body is level 2: the instructions of a skill as they are now. Fields:
//
//   - ID, Name, Source, Location: as in an [Entry]
//   - Folder: what relative paths in Text are relative to
//   - Text: the whole SKILL.md, without invisible characters
//   - Tokens: of Text, estimated
//   - Resources: the other files; their Path is for Catalog.File
//   - Requires: the skills that this one asks for, and whether they are available
//   - Required: with Config.LoadRequired, these skills as further Body values
//   - Unavailable: what it needs and is not there; "" if it has all
//   - Stale: SKILL.md has changed since it was indexed
//   - HiddenChars: number of invisible characters that were removed
//   - Shared: other skills lie in Folder, so that its scripts must not have the folder
type Body = contextprovider.Body

// A File is level 3: one file of a skill as it is now. Fields:
//
//   - ID: of the skill
//   - Path: slash-separated, relative to the folder of the skill
//   - Binary: the file is not text, so that Text is empty
//   - Text: the file without invisible characters
//   - Data: the bytes of the file
//   - Size, SHA256: of Data
//   - HiddenChars: number of invisible characters that were removed from Text
type File = contextprovider.File

// A Report says what a rescan did with one source. Fields:
//
//   - Source: the label of the source
//   - Found: number of SKILL.md files
//   - Added, Changed, Removed, Unchanged: numbers of skills
//   - Refused: number of files that hold no usable skill, of those that were read
//   - Unreadable: number of files that could not be read; what is indexed of them stays
//   - Complete: the whole source was searched; else what lies in the folders that could
//     not be searched stays
//   - Away: the source could not be read at all: its skills stay, but are not offered
//   - Problems: what is wrong with the source and with what was read
//   - Took: the time that it took
type Report = index.Report
