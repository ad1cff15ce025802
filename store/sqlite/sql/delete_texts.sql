DELETE FROM texts WHERE skill_id = :skill
