SELECT EXISTS (SELECT 1 FROM vectors v JOIN models m ON m.id = v.model_id WHERE m.name = :model AND v.hash = :hash)
