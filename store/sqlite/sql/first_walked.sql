UPDATE sources SET walked = :time, identity = :identity WHERE id = :source AND walked <= 0
