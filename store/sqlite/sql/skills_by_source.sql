SELECT source_id, count(*) FROM skills GROUP BY source_id
