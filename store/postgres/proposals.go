package postgres

import (
	"context"
	"fmt"
	"io/fs"

	"github.com/jackc/pgx/v5"

	"github.com/repertoire-skills/repertoire/store"
)

var _ store.Proposals = (*DB)(nil)

// proposals implements store.Proposals.
type proposals struct{ db *DB }

func scanProposal(row pgx.Rows) (p store.Proposal, err error) {
	err = row.Scan(text(&p.ID), &p.Waits, &p.Info, &p.Text)
	return p, err
}

func (p proposals) Proposals(ctx context.Context) ([]store.Proposal, error) {
	return query(ctx, p.db.reader, "proposals", nil, scanProposal)
}

func (p proposals) Proposal(ctx context.Context, id string) (store.Proposal, error) {
	list, err := query(ctx, p.db.reader, "proposal", pgx.NamedArgs{"id": []byte(id)}, scanProposal)
	switch {
	case err != nil:
		return store.Proposal{}, err
	case len(list) == 0:
		return store.Proposal{}, fmt.Errorf("%s: proposal %s: %w", p.db.name, id, fs.ErrNotExist)
	}
	return list[0], nil
}

func (p proposals) AddProposal(ctx context.Context, one store.Proposal) error {
	return p.put(ctx, "put_proposal", one, nil, fs.ErrExist)
}

func (p proposals) SetProposal(ctx context.Context, one store.Proposal, was []byte) error {
	return p.put(ctx, "set_proposal", one, was, store.ErrStale)
}

// put runs a statement. It fails with none if that changes no row.
func (p proposals) put(ctx context.Context, name string, one store.Proposal, was []byte, none error) error {
	return amend(ctx, p.db, func(tx pgx.Tx, catalog int64) error {
		args := pgx.NamedArgs{"id": []byte(one.ID), "waits": one.Waits, "info": one.Info, "text": one.Text, "was": was}
		done, err := tx.Exec(ctx, statement(name), with(args, catalog))
		if err == nil && done.RowsAffected() == 0 {
			err = fmt.Errorf("proposal %s: %w", one.ID, none)
		}
		return err
	})
}
