DELETE FROM sources WHERE id = :source
