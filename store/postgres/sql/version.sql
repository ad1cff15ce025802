SELECT version FROM repertoire.schema
