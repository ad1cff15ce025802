package postgres

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/repertoire-skills/repertoire/store"
)

var _ store.UsageLog = (*DB)(nil)

// usageTime is how long a piece of the log of usage may take: nobody waits for ever for a server that hangs.
const usageTime = 10 * time.Second

// AddUsage implements store.UsageLog. It needs the role repertoire_node or repertoire_writer; a DB that
// is opened with Options.ReadOnly adds lines too, because they change nothing of the catalog.
func (db *DB) AddUsage(ctx context.Context, lines []store.UsageLine) error {
	times, ids, data := make([]time.Time, len(lines)), make([]int64, len(lines)), make([][]byte, len(lines))
	for i, l := range lines {
		sum := sha256.Sum256(l.Data)
		times[i], ids[i], data[i] = l.Time, int64(binary.BigEndian.Uint64(sum[:])>>1), l.Data
	}
	limited, cancel := context.WithTimeout(ctx, usageTime)
	defer cancel()
	err := db.try(limited, db.read, func(conn *pgx.Conn) (begun bool, err error) {
		k, err := db.hello(limited, conn)
		if err == nil {
			args := pgx.NamedArgs{"times": times, "ids": ids, "lines": data}
			_, err = conn.Exec(limited, statement("put_usage"), with(args, k.catalog))
		}
		return false, needsNode(conn, err) // a line that is there already is not added again
	})
	return inTime(ctx, limited, db.name, db.note(limited, err))
}

// needsNode adds to the error of what a node writes which role is missing.
func needsNode(conn *pgx.Conn, err error) error {
	if isState(err, insufficientPrivilege) {
		err = fmt.Errorf("user %s lacks the role repertoire_node, which \"skills store roles\" makes: %w", conn.Config().User, err)
	}
	return err
}

// inTime returns the error of a call or, if only the time for a piece of the log is over, one that says so.
func inTime(ctx, limited context.Context, name string, err error) error {
	if err != nil && ctx.Err() == nil && limited.Err() != nil {
		return fmt.Errorf("%s: no answer in %s", name, usageTime)
	}
	return err
}

// UsageSince implements store.UsageLog.
func (db *DB) UsageSince(ctx context.Context, since time.Time, f func(store.UsageLine) error) error {
	for at, id := since, int64(-1); ; {
		limited, cancel := context.WithTimeout(ctx, usageTime)
		piece, err := query(limited, db.reader, "usage_since", pgx.NamedArgs{"at": at, "id": id}, func(row pgx.Rows) (l store.UsageLine, err error) {
			err = row.Scan(&at, &id, &l.Data)
			l.Time = at.UTC()
			return l, err
		})
		err = inTime(ctx, limited, db.name, err)
		cancel()
		if err != nil || len(piece) == 0 {
			return err
		}
		for _, l := range piece {
			if err := f(l); err != nil {
				return err
			}
		}
	}
}

// ForgetUsage implements store.UsageLog.
func (db *DB) ForgetUsage(ctx context.Context) error {
	return db.change(ctx, func(tx pgx.Tx, catalog int64) error {
		_, err := tx.Exec(ctx, statement("forget_usage"), with(nil, catalog))
		return err
	})
}
