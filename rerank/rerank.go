// Package rerank declares the Reranker, a model that scores documents by how well they
// answer a query. Its one rule: scores of different calls are not comparable. The
// implementation is in package remote.
package rerank

import "context"

// A Reranker scores documents for a query. Several goroutines may use it at once.
type Reranker interface {
	// Rerank returns one score for each document, in the order of documents;
	// higher is better. Scores are comparable within one call only: some models
	// return probabilities, others any number. NaN means that the model did not
	// score the document. An error comes without scores.
	Rerank(ctx context.Context, query string, documents []string) ([]float64, error)
}
