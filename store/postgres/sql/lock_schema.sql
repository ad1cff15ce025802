-- The number stands for the schema; nobody else may use it.
SELECT pg_advisory_xact_lock(7306930287)
