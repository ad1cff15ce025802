package postgres

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"
)

// A rollCall is a question to the nodes of a catalog, or the answer of one of them. It is sent
// with NOTIFY, for which a reader's role is enough, and is kept nowhere: nodes that have died
// do not answer.
type rollCall struct {
	Question string   `json:"question"` // a random name
	Catalog  int64    `json:"catalog"`
	Agent    string   `json:"agent"` // whom the question is about
	Answer   bool     `json:"answer,omitempty"`
	Knows    bool     `json:"knows,omitempty"`
	Agents   []string `json:"agents,omitempty"` // the first ones that the node knows
}

// maxAnswer bounds the names in an answer: PostgreSQL takes 8,000 bytes, and JSON may write a byte
// as six.
const maxAnswer = 1000

// Answers say what the nodes of a catalog know.
type Answers struct {
	Nodes  int      // that have answered
	Known  bool     // one of them knows the agent
	Agents []string // some of those that they know
}

// Know makes this process answer Knows of others, as long as it watches the catalog.
func (db *DB) Know(agents []string) { db.agents.Store(&agents) }

// Knows asks the nodes that run now whether they know an agent, until one does or the time for
// answers is over. Nodes behind some poolers, and those of replicas, never answer.
func (db *DB) Knows(ctx context.Context, agent string, limit time.Duration) (a Answers, err error) {
	w := &watcher{db: db, limit: 10 * time.Second}
	conn, catalog, err := w.connect(ctx)
	if err != nil {
		return a, db.note(ctx, err)
	}
	defer w.close(ctx, conn)
	asked := rollCall{Question: rand.Text(), Catalog: catalog, Agent: agent}
	limited, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	for err = asked.send(limited, conn); err == nil && !a.Known; {
		var reply rollCall
		n, failed := conn.WaitForNotification(limited)
		if err = failed; err == nil && json.Unmarshal([]byte(n.Payload), &reply) == nil && reply.Answer && reply.Question == asked.Question {
			a.Nodes++
			a.Known = reply.Knows
			a.Agents = append(a.Agents, reply.Agents...)
		}
	}
	slices.Sort(a.Agents)
	a.Agents = slices.Compact(a.Agents)
	if limited.Err() != nil {
		err = ctx.Err()
	}
	return a, db.note(ctx, err)
}

// answer answers a question of Knows. Other notifications are none.
func (w *watcher) answer(ctx context.Context, conn *pgx.Conn, catalog int64, payload string) error {
	var call rollCall
	agents := w.db.agents.Load()
	if agents == nil || json.Unmarshal([]byte(payload), &call) != nil || call.Answer || call.Catalog != catalog || call.Question == "" {
		return nil
	}
	call.Answer, call.Knows, call.Agents = true, slices.Contains(*agents, call.Agent), nil
	call.Agent = ""
	for room, i := maxAnswer, 0; i < len(*agents) && len((*agents)[i]) <= room; i++ {
		call.Agents, room = append(call.Agents, (*agents)[i]), room-len((*agents)[i])-1
	}
	ctx, cancel := context.WithTimeout(ctx, w.limit)
	defer cancel()
	err := call.send(ctx, conn)
	if err != nil && !conn.IsClosed() {
		return nil // a replica refuses it
	}
	return err
}

func (r rollCall) send(ctx context.Context, conn *pgx.Conn) error {
	data, err := json.Marshal(r)
	if err == nil {
		_, err = conn.Exec(ctx, statement("roll_call"), pgx.NamedArgs{"payload": string(data)})
	}
	return err
}
