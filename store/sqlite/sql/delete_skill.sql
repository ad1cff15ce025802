DELETE FROM skills WHERE id = :skill
