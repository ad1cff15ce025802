package repertoire

import (
	"github.com/repertoire-skills/repertoire/contextprovider"
	"github.com/repertoire-skills/repertoire/index"
	"github.com/repertoire-skills/repertoire/search"
	"github.com/repertoire-skills/repertoire/search/query"
	"github.com/repertoire-skills/repertoire/skill"
	"github.com/repertoire-skills/repertoire/store"
)

// ErrNotFound says that there is no such skill, or none in the agent's scope.
var ErrNotFound = skill.ErrNotFound

// ErrClosed says that the catalog was used after [Catalog.Close].
var ErrClosed = store.ErrClosed

// What a catalog is asked with and answers with. The packages that these types are from explain
// each field: "go doc search.Query" shows those of a Query.
type (
	// An Agent sees a part of the catalog: skills outside of it do not exist for it. No answer and
	// no error names one, and it hides no skill of the same name. A nil *Agent sees everything. Open
	// refuses an agent with a malformed pattern, and one that pins or uses what its own rules for
	// names keep out. Catalog.Agent finds the configured ones by name.
	Agent = search.Agent

	// A Script says how scripts of skills run, see Catalog.Script.
	Script = search.Script

	// A ScriptRule says how the scripts of some skills run.
	ScriptRule = search.ScriptRule

	// Rules match a skill when one of them does. A rule that matches nothing lets nothing
	// in, or keeps nothing out; Owner.Unmatched finds it.
	Rules = search.Rules

	// A Rule is one rule of an [Agent].
	Rule = search.Rule

	// A Policy says which skills are held back from everybody, whatever agent asks: they shadow
	// nothing, and no answer has them. Only List, Lookup and Why say that they are there.
	Policy = search.Policy

	// ListOptions say what List returns besides the offered skills.
	ListOptions = search.ListOptions

	// A Place is where a configuration has a rule.
	Place = search.Place

	// A Query asks for the skills that fit a prompt. Only its Text is needed.
	Query = search.Query

	// An Answer holds the hits of a query, best first, and what the order is based on.
	Answer = search.Answer

	// A Background says what the threshold of an answer follows from.
	Background = search.Background

	// A Hit is one skill of an answer: an [Entry], whether it is worth showing to a model that did
	// not ask (Relevant), and why.
	Hit = search.Hit

	// An Entry is what the catalog knows of a skill without reading it: level 1.
	Entry = search.Entry

	// An Explanation says why a skill is or is not offered for a prompt: its Verdict in one sentence,
	// and the figures behind it.
	Explanation = search.Explanation

	// A Snippet is an excerpt of the instructions of a skill around what a query
	// matches.
	Snippet = search.Snippet

	// A SyntaxError says what is wrong with a Query whose Syntax is set, and where.
	SyntaxError = query.SyntaxError

	// A Budget bounds a block and chooses its form. The zero Budget is a good one.
	Budget = contextprovider.Budget

	// A Block is level 1: the Text that tells a model which skills fit a prompt, "" when none
	// does, and the Skills that it lists.
	Block = contextprovider.Block

	// A Body is level 2: the instructions of a skill as they are now.
	Body = contextprovider.Body

	// A File is level 3: one file of a skill as it is now.
	File = contextprovider.File

	// A Report says what a rescan did with one source.
	Report = index.Report
)
