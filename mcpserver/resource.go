package mcpserver

import (
	"context"
	"fmt"
	"net/url"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/repertoire-skills/repertoire/contextprovider"
)

const resourceText = `Read a file of a skill, such as references/forms.md or scripts/fill.py, as it is on disk now. Call it when the instructions of a loaded skill refer to the file; the path is relative to the skill's folder. Of a long file ask for the lines that matter, such as "10-40". A script is usually better run where it is (read_skill tells the folder) than read.`

// maxBlob is the size in bytes of the largest binary file that is sent: a model cannot
// read binary files, and a client that can open one finds it on disk.
const maxBlob = 64 << 10

type resourceParams struct {
	reference
	Path  string `json:"path" jsonschema:"of the file, relative to the skill's folder"`
	Lines string `json:"lines,omitempty" jsonschema:"lines to read, from 1: \"10-40\", \"10-\" or \"10\"; all if left out"`
}

type resourceResult struct {
	ID          string `json:"id" jsonschema:"of the skill"`
	Path        string `json:"path"`
	Size        int64  `json:"size" jsonschema:"bytes of the file"`
	SHA256      string `json:"sha256" jsonschema:"of the file"`
	Binary      bool   `json:"binary,omitempty" jsonschema:"the file is not text"`
	Text        string `json:"text" jsonschema:"the lines asked for; empty for a binary file"`
	First       int    `json:"first,omitempty" jsonschema:"number of the first line of text"`
	Last        int    `json:"last,omitempty" jsonschema:"number of its last line"`
	Of          int    `json:"of,omitempty" jsonschema:"lines of the file"`
	Next        string `json:"next,omitempty" jsonschema:"lines to ask for next, when the text was cut"`
	HiddenChars int    `json:"hidden_chars,omitempty" jsonschema:"invisible characters that were removed"`
}

func (s *Server) resource(ctx context.Context, _ *mcp.CallToolRequest, p resourceParams) (*mcp.CallToolResult, resourceResult, error) {
	var none resourceResult
	id, err := p.skill()
	if err != nil {
		return nil, none, err
	}
	l, err := parseLines(p.Lines)
	if err != nil {
		return nil, none, err
	}
	f, err := s.catalog.File(ctx, id, p.Path, s.opts.Agent)
	if err != nil {
		return nil, none, named(err, id)
	}
	s.use(ctx, f.ID)
	e := eventOf(ctx)
	e.Skills, e.File, e.Session = []string{f.ID}, f.Path, s.lastSession()
	r := resourceResult{ID: f.ID, Path: f.Path, Size: f.Size, SHA256: f.SHA256, Binary: f.Binary, HiddenChars: f.HiddenChars}
	if f.Binary {
		return s.binary(&f), r, nil
	}
	c := cut(f.Text, l)
	if l.first > max(1, c.of) {
		return nil, none, mistake("the file has %d lines only", c.of)
	}
	r.Text, r.First, r.Last, r.Of, r.Next = c.text, c.first, c.last, c.of, c.rest(l)
	return text(r.text()), r, nil
}

// text returns the text of the file, with a header if lines are missing.
func (r *resourceResult) text() string {
	var b strings.Builder
	if r.First > 1 || r.Last < r.Of {
		fmt.Fprintf(&b, "Lines %d-%d of %d of %s:\n", r.First, r.Last, r.Of, line(r.Path, maxName))
	}
	if r.HiddenChars > 0 {
		fmt.Fprintf(&b, "(%d invisible characters were removed.)\n", r.HiddenChars)
	}
	b.WriteString(r.Text)
	if r.Next != "" {
		fmt.Fprintf(&b, "\n(Cut here; lines %s read on.)", r.Next)
	}
	return b.String()
}

// binary returns the result for a file that is not text.
func (s *Server) binary(f *contextprovider.File) *mcp.CallToolResult {
	say := fmt.Sprintf("%s is a binary file of %d bytes (sha256 %s).", line(f.Path, maxName), f.Size, f.SHA256)
	if f.Size > maxBlob {
		return text(say + " It is too large to be sent here; it is in the skill's folder, which read_skill tells.")
	}
	res := text(say)
	res.Content = append(res.Content, &mcp.EmbeddedResource{Resource: &mcp.ResourceContents{
		URI: below(scheme+url.PathEscape(f.ID), f.Path), MIMEType: mimeType(f.Path), Blob: f.Data,
	}})
	return res
}
