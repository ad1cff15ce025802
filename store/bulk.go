package store

import "context"

// A BulkReader is a Reader that answers one question about many skills at once. It is for
// engines that are asked over a network, where each question takes long. The Reader of a
// View and the Store itself may both be one; package storetest checks them.
type BulkReader interface {
	// Rankings returns what ranking needs about the skills in these rows: for each row what
	// Ranked returns and, unless model is "", what Vectors returns. It leaves out rows that
	// do not exist and refused skills. Callers ask about some hundred rows at a time.
	Rankings(ctx context.Context, model string, rows []int64) (map[int64]Ranking, error)
}

// A Ranking is what ranking needs about one skill.
type Ranking struct {
	Ranked
	Vectors []Vector // ordered by ordinal
}
