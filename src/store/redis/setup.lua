-- Makes a store, or brings it to this format.
-- KEYS: version    ARGV: this format
-- Answers: "created", "migrated", "nothing", or a newer format, or what is no format at all
local found = redis.call('GET', KEYS[1])
if found and not string.find(found, '^%d+$') then
  return found
end
if found and tonumber(found) > tonumber(ARGV[1]) then
  return found
end
if found == ARGV[1] then
  return 'nothing'
end
redis.call('SET', KEYS[1], ARGV[1])
return found and 'migrated' or 'created'
