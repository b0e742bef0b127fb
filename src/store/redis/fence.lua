-- Draws the next fence.
-- KEYS: fence    ARGV: the clock in ms
-- Lua's numbers are exact up to 2^53, which a clock in ms passes in 280,000 years.
local last = tonumber(redis.call('GET', KEYS[1]) or '0')
local next = string.format('%.0f', math.max(last + 1, tonumber(ARGV[1])))
redis.call('SET', KEYS[1], next)
return next
