-- The words that a description rules out are no terms, see skill.Fields: the next push reads all skills again.
UPDATE repertoire.skills SET stamp = '', digest = '';
