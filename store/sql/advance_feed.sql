UPDATE state SET feed = max(feed, :until)
