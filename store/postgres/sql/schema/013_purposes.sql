-- Vectors are of what a skill is for, see skill.Purpose: the next push reads all skills again.
UPDATE repertoire.skills SET stamp = '', digest = '';
