UPDATE repertoire.skills s SET stamp = p.stamp
FROM unnest(@rows::bigint[], @stamps::bytea[]) p (id, stamp)
WHERE s.catalog = @catalog AND s.id = p.id
