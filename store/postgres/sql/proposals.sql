-- All proposals without their texts.
SELECT id, waits, info, ''::bytea FROM repertoire.proposals WHERE catalog = @catalog ORDER BY id
