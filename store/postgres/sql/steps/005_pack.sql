UPDATE repertoire.skills s SET meta = p.meta
FROM unnest(@catalogs::bigint[], @rows::bigint[], @metas::bytea[]) p (catalog, id, meta)
WHERE s.catalog = p.catalog AND s.id = p.id
