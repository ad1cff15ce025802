DELETE FROM changes WHERE generation <= :until
