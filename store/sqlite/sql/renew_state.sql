UPDATE state SET catalog = lower(hex(randomblob(8))),
  token = ifnull((SELECT g.token FROM generations g WHERE g.number = generation), random())
