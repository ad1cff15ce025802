UPDATE skills SET stamp = :stamp WHERE id = :skill
