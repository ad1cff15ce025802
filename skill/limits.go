package skill

import "cmp"

// Limits are what a skill may be before a problem is reported. Zero values mean those of
// the specification, or of MCP's skills extension.
type Limits struct {
	Name        int   // code points of the name
	Description int   // code points of the description; more are indexed and shown only if this is larger than MaxDescription
	Body        int   // tokens of the instructions
	Files       int   // files of the folder; more are listed only if this is larger than MaxPublishedFiles
	Bytes       int64 // of all files
}

// OrDefault returns l with the defaults for zero values.
func (l Limits) OrDefault() Limits {
	return Limits{
		Name: cmp.Or(l.Name, MaxName), Description: cmp.Or(l.Description, MaxDescription), Body: cmp.Or(l.Body, maxBodyTokens),
		Files: cmp.Or(l.Files, MaxPublishedFiles), Bytes: cmp.Or(l.Bytes, MaxPublishedBytes),
	}
}
