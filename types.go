package repertoire

import (
	"github.com/repertoire-skills/repertoire/contextprovider"
	"github.com/repertoire-skills/repertoire/index"
	"github.com/repertoire-skills/repertoire/search"
)

// The types that the methods of a Catalog take and return.
type (
	Agent       = search.Agent           // a part of the catalog
	Rules       = search.Rules           // of an agent
	Query       = search.Query           // what to search for
	Answer      = search.Answer          // hits and the mode of ranking
	Hit         = search.Hit             // a skill with its score
	Snippet     = search.Snippet         // what matches in a body
	SyntaxError = search.SyntaxError     // what is wrong with a query
	Entry       = search.Entry           // a skill, level 1
	Explanation = search.Explanation     // why a skill is or is not offered
	Report      = index.Report           // what a rescan did with one source
	Budget      = contextprovider.Budget // of a block
	Block       = contextprovider.Block  // level 1
	Body        = contextprovider.Body   // level 2
	File        = contextprovider.File   // level 3
)
