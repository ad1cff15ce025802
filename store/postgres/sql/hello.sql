-- What a program asks first. A catalog that does not exist has no id, and no state.
SELECT s.version, k.id, pg_is_in_recovery() OR current_setting('default_transaction_read_only')::boolean
  OR NOT has_table_privilege('repertoire.catalogs', 'UPDATE'),
  coalesce(k.identity, ''), coalesce(k.generation, 0), coalesce(k.token, 0), coalesce(k.found, 0)
FROM repertoire.schema s LEFT JOIN repertoire.catalogs k ON k.name = @name
