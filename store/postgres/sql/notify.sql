-- Those who wait for changes of any catalog hear its number.
SELECT pg_notify('repertoire', @catalog::bigint::text)
