package sqlite

import (
	"fmt"
	"testing"

	"github.com/repertoire-skills/repertoire/store"
)

// BenchmarkVectorsMissing asks for the texts without a vector, in a catalog of 20,000
// skills with two texts each, in which only the last texts have none.
func BenchmarkVectorsMissing(b *testing.B) {
	const skills = 20_000
	for _, missing := range []int{0, 16, skills / 2, skills} {
		db := open(b, dbPath(b))
		fill := fmt.Sprintf(`PRAGMA foreign_keys = off;
			WITH RECURSIVE n (i) AS (SELECT 2 UNION ALL SELECT i + 1 FROM n WHERE i < 2 * %d + 1)
			INSERT INTO texts SELECT i / 2, i %% 2, randomblob(16) FROM n;
			INSERT INTO models (name) VALUES ('m'), ('n');
			INSERT INTO vectors SELECT m.id, hash, zeroblob(260) FROM models m, texts WHERE skill_id <= %[1]d - %d`, skills, missing)
		if _, err := db.write.Exec(fill); err != nil {
			b.Fatal(err)
		}
		b.Run(fmt.Sprintf("Unembedded/%d", missing), func(b *testing.B) {
			for b.Loop() {
				if texts, err := db.Unembedded(b.Context(), store.Space{Model: "m"}, 0, 16); err != nil || len(texts) != 2*min(missing, 16) {
					b.Fatal(len(texts), err)
				}
			}
		})
		rows := make([]int64, skills)
		for i := range rows {
			rows[i] = int64(i + 1)
		}
		for name, rows := range map[string][]int64{"all": nil, "rows": rows, "few": rows[:20]} {
			b.Run(fmt.Sprintf("Coverage/%s/%d", name, missing), func(b *testing.B) {
				for b.Loop() {
					if texts, _, err := db.Coverage(b.Context(), store.Space{Model: "m"}, rows); err != nil || texts < 40 {
						b.Fatal(texts, err)
					}
				}
			})
		}
	}
}
