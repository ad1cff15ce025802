SELECT terms, sketch FROM ranked WHERE skill_id = :skill
