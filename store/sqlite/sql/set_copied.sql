-- -1 is store.Copied.
UPDATE sources SET walked = -1 WHERE id = :source
