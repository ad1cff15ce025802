package remote

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math"

	"github.com/repertoire-skills/repertoire/internal/endpoint"
)

// A response holds the fields of an answer that matter: results from Jina and Cohere,
// data from Voyage. TEI sends the list alone.
type response struct {
	Results []result        `json:"results"`
	Data    []result        `json:"data"`
	Error   json.RawMessage `json:"error"`
}

type result struct {
	Index          *int     `json:"index"`
	RelevanceScore *float64 `json:"relevance_score"`
	Score          *float64 `json:"score"`
}

// decode returns the scores of n documents in their order; NaN means that the answer has
// no score for the document.
func decode(body []byte, n int) ([]float64, error) {
	results, err := parse(body)
	if err != nil {
		return nil, err
	}
	if len(results) == 0 {
		return nil, fmt.Errorf("the answer scores none of %d documents: %s", n, endpoint.Message(body))
	}
	scores := make([]float64, n)
	for i := range scores {
		scores[i] = math.NaN()
	}
	for _, r := range results {
		if r.Score == nil {
			r.Score = r.RelevanceScore
		}
		switch {
		case r.Index == nil || r.Score == nil:
			return nil, errors.New("the answer has a result without an index or a score")
		case *r.Index < 0 || *r.Index >= n || !math.IsNaN(scores[*r.Index]):
			return nil, fmt.Errorf("the answer has the index %d twice or out of range", *r.Index)
		}
		scores[*r.Index] = *r.Score // finite: JSON has no other numbers
	}
	return scores, nil
}

func parse(body []byte) ([]result, error) {
	var resp response
	var err error
	if bytes.HasPrefix(bytes.TrimSpace(body), []byte("[")) {
		err = json.Unmarshal(body, &resp.Results)
	} else {
		err = json.Unmarshal(body, &resp)
	}
	switch {
	case err != nil:
		return nil, fmt.Errorf("the answer does not come from a reranker: %s", endpoint.Message(body))
	case len(resp.Error) > 0 && string(resp.Error) != "null":
		return nil, fmt.Errorf("the answer is an error: %s", endpoint.Message(body))
	case resp.Results != nil:
		return resp.Results, nil
	}
	return resp.Data, nil
}
