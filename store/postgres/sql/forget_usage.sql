WITH months AS (DELETE FROM repertoire.usage_months WHERE catalog = @catalog)
DELETE FROM repertoire.usage WHERE catalog = @catalog
