package cache

import "time"

// SetLimits sets how many bytes the cache may take, and its clock.
func (c *Cache) SetLimits(max int64, now func() time.Time) { c.max, c.now = max, now }
