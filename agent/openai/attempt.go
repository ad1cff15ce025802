package openai

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"time"

	api "github.com/sashabaranov/go-openai"

	"github.com/repertoire-skills/repertoire/agent"
	"github.com/repertoire-skills/repertoire/internal/endpoint"
)

const (
	maxAnswer  = 64 << 20 // bytes of a stream; each token may take 500
	maxMessage = 1 << 20  // bytes of an error or a list of models
)

// errSilent means that the server was silent for too long.
var errSilent = errors.New("the server is silent")

// attempt asks once.
func (m *Model) attempt(ctx context.Context, q agent.Question, text func(string)) (agent.Message, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	watch := time.AfterFunc(m.cfg.Timeout, func() { cancel(errSilent) })
	defer watch.Stop()
	r := m.request(q, text != nil)
	resp, err := m.conn.Send(func(client *api.Client) (err error) {
		if text != nil {
			_, err = client.CreateChatCompletionStream(ctx, r)
		} else {
			_, err = client.CreateChatCompletion(ctx, r)
		}
		return err
	})
	if err == nil && (resp.StatusCode < 200 || resp.StatusCode > 299) {
		var a endpoint.Answer
		if a, err = endpoint.Read(resp, maxMessage); err == nil {
			return m.refused(ctx, a, q, text)
		}
	}
	if err != nil {
		return agent.Message{}, silence(ctx, err)
	}
	defer resp.Body.Close()
	answer, err := decode(resp.Body, func() { watch.Reset(m.cfg.Timeout) }, text)
	return answer, silence(ctx, err)
}

// refused returns the error for a response that is not OK. A server that does not know the
// field that asks for the usage is asked without it, now and later.
func (m *Model) refused(ctx context.Context, a endpoint.Answer, q agent.Question, text func(string)) (agent.Message, error) {
	if text != nil && (a.Status == http.StatusBadRequest || a.Status == http.StatusUnprocessableEntity) &&
		strings.Contains(string(a.Body), "stream_options") && m.noUsage.CompareAndSwap(false, true) {
		return m.attempt(ctx, q, text)
	}
	return agent.Message{}, m.statusError(ctx, a)
}

// silence returns errSilent in place of the error that it leads to.
func silence(ctx context.Context, err error) error {
	if err != nil && errors.Is(context.Cause(ctx), errSilent) {
		return errSilent
	}
	return err
}
