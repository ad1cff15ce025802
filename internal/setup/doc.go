// Package setup writes the MCP server and the hooks of this program into the
// settings of clients, and takes them back.
//
// Settings belong to their users: an edit replaces bytes at places that a
// parser tells, is parsed again, and is refused unless everything but the entry
// is as it was. What was written is kept in a record, with the file as it was
// before, so that a removal can restore it to the byte.
package setup
