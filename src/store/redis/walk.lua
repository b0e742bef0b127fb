-- Reads the next chains of a range of subjects, until they are many or large.
-- KEYS: subjects    ARGV: first, last (as of ZRANGEBYLEX), what their chains' names begin with,
-- how many at the most, and after how many bytes to end
-- Answers: pairs of an identity and its rows
local found, bytes = {}, 0
local identities = redis.call('ZRANGEBYLEX', KEYS[1], ARGV[1], ARGV[2], 'LIMIT', 0, ARGV[4])
for _, identity in ipairs(identities) do
  local rows = redis.call('HVALS', ARGV[3] .. identity)
  found[#found + 1] = identity
  found[#found + 1] = rows
  for _, row in ipairs(rows) do
    bytes = bytes + #row
  end
  if bytes > tonumber(ARGV[5]) then
    break
  end
end
return found
