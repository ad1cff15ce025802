package bench

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/repertoire-skills/repertoire/internal/api"
	"github.com/repertoire-skills/repertoire/internal/apiclient"
	"github.com/repertoire-skills/repertoire/internal/must"
)

// TestMeasureLoad: all requests are counted, answers and errors apart; a server that answers
// nothing is an error.
func TestMeasureLoad(t *testing.T) {
	t.Parallel()
	var asked atomic.Int64
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked.Add(1)
		var p api.Prompt
		if err := json.NewDecoder(r.Body).Decode(&p); err != nil || p.Agent != "keeper" {
			t.Errorf("%+v, %v", p, err)
		}
		answer := api.Suggestion{Skills: []api.Offer{{Name: "cat"}}}
		switch p.Text {
		case "two":
			http.Error(w, "out of order", http.StatusServiceUnavailable)
			return
		case "three":
			answer.Skills = nil
		}
		json.NewEncoder(w).Encode(answer)
	}))
	defer server.Close()
	c, err := apiclient.New(server.URL, &apiclient.Options{Connections: 4})
	must.Do(t, err)
	o := &LoadOptions{Client: c, Agent: "keeper", Prompts: []string{"one", "two", "three"}, Clients: 4, Duration: 30 * time.Millisecond}
	l, err := MeasureLoad(t.Context(), o)
	must.Do(t, err)
	if l.Requests != int(asked.Load())-4 || l.Requests < 4 || l.Failed == 0 || l.PerS <= 0 || l.P50MS > l.P99MS || l.P99MS > l.P999MS || l.P999MS > l.MaxMS || l.Offered <= 0 || l.Offered >= 1 {
		t.Errorf("%+v of %d", l, asked.Load())
	}
	if len(l.Errors) != 1 || l.Errors[0].Kind != "status 503" || l.Errors[0].Count != l.Failed || !strings.Contains(l.Errors[0].First, "out of order") {
		t.Errorf("%+v", l.Errors)
	}
	o.Prompts = o.Prompts[1:2]
	if l, err := MeasureLoad(t.Context(), o); err == nil {
		t.Errorf("a server that answers nothing: %+v", l)
	}
}
