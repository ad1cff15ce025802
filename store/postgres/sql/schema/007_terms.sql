-- Terms are made in another way (short forms are written out): the next push reads all skills again.
UPDATE repertoire.skills SET stamp = '', digest = '';
