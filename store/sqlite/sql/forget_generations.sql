-- Changes does not answer for a generation that has no row here.
DELETE FROM generations WHERE number < :before
