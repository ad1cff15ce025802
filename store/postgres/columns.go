package postgres

import (
	"maps"
	"path"
	"slices"

	"github.com/jackc/pgx/v5"
)

// queuePuts writes the skills that were put. The rows of the last ones are new, so nothing
// of them needs deleting.
func (t *Tx) queuePuts(batch *pgx.Batch) {
	if len(t.puts) == 0 {
		return
	}
	rows := slices.Sorted(maps.Keys(t.puts))
	t.queue(batch, "put_skills", skillColumns(rows, t.puts))
	t.queue(batch, "note_skills", pgx.NamedArgs{"rows": rows, "generation": t.w.generation()})
	if fresh, _ := slices.BinarySearch(rows, t.w.written+1); fresh > 0 {
		t.queue(batch, "delete_documents", pgx.NamedArgs{"rows": rows[:fresh]})
		t.queue(batch, "delete_texts", pgx.NamedArgs{"rows": rows[:fresh]})
	}
	t.w.written = max(t.w.written, rows[len(rows)-1])
	t.queue(batch, "put_documents", documentColumns(rows, t.puts))
	t.queue(batch, "put_texts", textColumns(rows, t.puts))
}

func skillColumns(rows []int64, puts map[int64]put) pgx.NamedArgs {
	var sources []int64
	var refused, own []bool
	columns := make(map[string][][]byte)
	add := func(name string, value []byte) { columns[name] = append(columns[name], value) }
	for _, row := range rows {
		p := puts[row]
		s := p.Skill
		sources = append(sources, p.source)
		refused, own = append(refused, p.Refused), append(own, path.Base(path.Dir(p.Path)) == s.Name)
		add("paths", []byte(p.Path))
		add("stamps", []byte(p.Stamp))
		add("digests", []byte(s.Digest))
		add("names", []byte(s.Name))
		add("name_keys", []byte(p.NameKey))
		add("locations", []byte(s.Location))
		add("metas", s.Pack())
		add("problems", p.Problems)
	}
	args := pgx.NamedArgs{"rows": rows, "sources": sources, "refused": refused, "own_folder": own}
	for name, list := range columns {
		args[name] = list
	}
	return args
}

func documentColumns(rows []int64, puts map[int64]put) pgx.NamedArgs {
	var skills []int64
	var bodies, terms, sketches [][]byte
	for _, row := range rows {
		p := puts[row]
		if p.Refused {
			continue
		}
		skills = append(skills, row)
		bodies, terms = append(bodies, p.Body), append(terms, p.PackedTerms)
		sketches = append(sketches, append([]byte{}, p.Sketch...)) // not nil
	}
	return pgx.NamedArgs{"rows": skills, "bodies": bodies, "terms": terms, "sketches": sketches}
}

func textColumns(rows []int64, puts map[int64]put) pgx.NamedArgs {
	var skills []int64
	var ordinals []int32
	var hashes [][]byte
	for _, row := range rows {
		p := puts[row]
		if p.Refused {
			continue
		}
		for i, hash := range p.Ordinals() {
			skills, ordinals, hashes = append(skills, row), append(ordinals, int32(i)), append(hashes, hash)
		}
	}
	return pgx.NamedArgs{"rows": skills, "ordinals": ordinals, "hashes": hashes}
}
