-- Finds attempts that ended before a time, in the order of their fences.
-- KEYS: fences    ARGV: after which fence, what their identities begin with, before when in ms,
-- what the names of chains begin with, how many to look at, how many to find
-- Answers: the last fence that was looked at (or ""), then members and their fences in turn
local beginning, before = ARGV[2], tonumber(ARGV[3])
local members = redis.call('ZRANGEBYSCORE', KEYS[1], '(' .. ARGV[1], '+inf', 'WITHSCORES',
  'LIMIT', 0, ARGV[5])
local found, last = {}, ''
for place = 1, #members, 2 do
  local member = members[place]
  last = string.format('%.0f', tonumber(members[place + 1]))
  local generation, identity = string.match(member, '^(%d+):(.*)$')
  if identity and string.sub(identity, 1, #beginning) == beginning then
    local row = redis.call('HGET', ARGV[4] .. identity, generation)
    local ended = row and tonumber(string.match(row, '^%S+ %S+ %S+ %S+ %S+ (%S+)\n'))
    if ended and ended < before then
      found[#found + 1] = member
      found[#found + 1] = last
    end
  end
  if #found >= 2 * tonumber(ARGV[6]) then
    break
  end
end
return { last, found }
