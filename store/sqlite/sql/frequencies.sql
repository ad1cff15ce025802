SELECT t.term, t.doc FROM terms t WHERE t.term IN (SELECT value FROM json_each(:terms))
