-- What nodes ask and answer beside changes of a catalog.
SELECT pg_notify('repertoire', @payload::text)
