-- It changes nothing if a base of this generation or a newer one is there.
INSERT INTO repertoire.bases AS b (catalog, key, number, token, size, sha256, upload)
VALUES (@catalog, @key, @generation, @token, @size, @sum, @upload)
ON CONFLICT (catalog, sha256(key)) DO UPDATE SET
  number = excluded.number, token = excluded.token, size = excluded.size, sha256 = excluded.sha256, upload = excluded.upload
WHERE b.number < excluded.number
