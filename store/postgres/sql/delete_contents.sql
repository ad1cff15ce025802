DELETE FROM repertoire.contents WHERE catalog = @catalog AND sha256 = ANY (ARRAY(
  SELECT sum FROM unnest(@sums::bytea[]) sum
  WHERE NOT EXISTS (SELECT 1 FROM repertoire.files WHERE catalog = @catalog AND sha256 = sum OFFSET 0)))
