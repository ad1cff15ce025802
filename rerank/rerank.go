// Package rerank scores documents by how well they answer a query, with a model
// that reads both together. It holds the interface; the implementation is in
// its subfolder.
package rerank

import "context"

// A Reranker scores documents for a query. It may be called from several
// goroutines.
type Reranker interface {
	// Rerank returns one score for each document, in the order of documents;
	// higher is better. Scores are comparable within one call only: some models
	// return probabilities, others any number. A document that the model left
	// out has NaN. On an error there are no scores.
	Rerank(ctx context.Context, query string, documents []string) ([]float64, error)
}
