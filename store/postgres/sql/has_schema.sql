SELECT to_regclass('repertoire.schema') IS NOT NULL
