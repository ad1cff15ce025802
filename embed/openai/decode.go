package openai

import (
	"bytes"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/repertoire-skills/repertoire/embed"
	"github.com/repertoire-skills/repertoire/internal/endpoint"
)

// A response holds the fields of an answer that matter.
type response struct {
	Data  []datum         `json:"data"`
	Error json.RawMessage `json:"error"`
}

type datum struct {
	Index     *int            `json:"index"`
	Embedding json.RawMessage `json:"embedding"` // an array of floats, or a base64 string
}

// decode returns the n vectors of an answer, in the order of the texts. It does not scale
// them. A number that JSON cannot express becomes NaN.
func decode(body []byte, n int) ([]embed.Vector, error) {
	resp, err := parse(body)
	if err != nil {
		return nil, err
	}
	data, err := arrange(resp.Data, n)
	if err != nil {
		return nil, err
	}
	out := make([]embed.Vector, n)
	for i, raw := range data {
		if out[i], err = vector(raw); err != nil {
			return nil, fmt.Errorf("vector %d of the answer: %w", i, err)
		}
	}
	return out, nil
}

func parse(body []byte) (*response, error) {
	var resp response
	err := json.Unmarshal(body, &resp)
	if syntax := (*json.SyntaxError)(nil); errors.As(err, &syntax) {
		// Python writes these words, which are not JSON. Replace them by null, so
		// that a later check can report the number of the text.
		words := strings.NewReplacer("NaN", "null", "-Infinity", "null", "Infinity", "null")
		resp = response{}
		err = json.Unmarshal([]byte(words.Replace(string(body))), &resp)
	}
	switch {
	case err != nil:
		return nil, fmt.Errorf("the answer does not come from an embeddings endpoint: %s", endpoint.Message(body))
	case len(resp.Error) > 0 && string(resp.Error) != "null":
		return nil, fmt.Errorf("the answer is an error: %s", endpoint.Message(body))
	case resp.Data == nil:
		return nil, fmt.Errorf("the answer has no data: %s", endpoint.Message(body))
	}
	return &resp, nil
}

// arrange returns the n vectors of data in the order of their indexes. Some servers send
// no indexes.
func arrange(data []datum, n int) ([]json.RawMessage, error) {
	if len(data) != n {
		return nil, fmt.Errorf("the answer has %d vectors for %d texts", len(data), n)
	}
	numbered := slices.ContainsFunc(data, func(d datum) bool { return d.Index != nil })
	out, seen := make([]json.RawMessage, n), make([]bool, n)
	for i, d := range data {
		at := i
		if numbered {
			if d.Index == nil {
				return nil, errors.New("the answer numbers only some vectors")
			}
			at = *d.Index
		}
		if at < 0 || at >= n || seen[at] {
			return nil, fmt.Errorf("the answer has the index %d twice or out of range", at)
		}
		out[at], seen[at] = d.Embedding, true
	}
	return out, nil
}

// vector decodes one embedding by its actual type, because servers ignore the requested
// encoding in both directions. A missing embedding becomes an empty vector.
func vector(raw json.RawMessage) (embed.Vector, error) {
	switch {
	case len(raw) == 0 || string(raw) == "null":
		return nil, nil
	case raw[0] == '"':
		return fromBase64(raw)
	case raw[0] == '[':
		return fromFloats(raw)
	}
	return nil, errors.New("neither numbers nor base64")
}

// fromFloats parses raw, a valid JSON array. encoding/json would turn null, which servers
// send for NaN, into 0 and so hide a broken vector.
func fromFloats(raw []byte) (embed.Vector, error) {
	rest := bytes.TrimSpace(raw[1 : len(raw)-1])
	if len(rest) == 0 {
		return nil, nil
	}
	v := make(embed.Vector, 0, bytes.Count(rest, []byte(","))+1)
	for more := true; more; {
		var token []byte
		token, rest, more = bytes.Cut(rest, []byte(","))
		x, err := number(bytes.TrimSpace(token))
		if err != nil {
			return nil, err
		}
		v = append(v, x)
	}
	return v, nil
}

// number parses a JSON number. A number that is too large becomes an infinity.
func number(token []byte) (float32, error) {
	switch {
	case string(token) == "null":
		return float32(math.NaN()), nil
	case len(token) > 0 && token[0] == '[':
		return 0, errors.New("an array of arrays: the server does not pool, or it is not an OpenAI endpoint")
	}
	x, err := strconv.ParseFloat(string(token), 32)
	if err != nil && !errors.Is(err, strconv.ErrRange) {
		return 0, errors.New("an array of something else than numbers")
	}
	return float32(x), nil
}

// fromBase64 decodes little-endian float32s in a JSON string, padded or not.
func fromBase64(raw []byte) (embed.Vector, error) {
	var text string
	if err := json.Unmarshal(raw, &text); err != nil {
		return nil, err // unreachable: json.Unmarshal has read raw before
	}
	b, err := base64.RawStdEncoding.DecodeString(strings.TrimRight(text, "="))
	if err != nil || len(b)%4 != 0 {
		return nil, errors.New("a string that is not base64 of 32-bit numbers")
	}
	v := make(embed.Vector, len(b)/4)
	for i := range v {
		v[i] = math.Float32frombits(binary.LittleEndian.Uint32(b[4*i:]))
	}
	return v, nil
}
