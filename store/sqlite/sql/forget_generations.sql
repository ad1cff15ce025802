-- Changes tells nothing of what follows a generation that is not there.
DELETE FROM generations WHERE number < :until
