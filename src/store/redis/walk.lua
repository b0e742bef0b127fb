-- Reads the next chains of a range of subjects, until they are many or large.
-- KEYS: subjects    ARGV: first, last (as of ZRANGEBYLEX), what their chains' names begin with,
-- how many at the most, and after how many bytes to end
-- Answers: pairs of an identity and its fields with their values in turn
local found, bytes = {}, 0
local identities = redis.call('ZRANGEBYLEX', KEYS[1], ARGV[1], ARGV[2], 'LIMIT', 0, ARGV[4])
for _, identity in ipairs(identities) do
  local fields = redis.call('HGETALL', ARGV[3] .. identity)
  found[#found + 1] = { identity, fields }
  for _, field in ipairs(fields) do
    bytes = bytes + #field
  end
  if bytes > tonumber(ARGV[5]) then
    break
  end
end
return found
