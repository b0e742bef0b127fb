-- Reads a chain, or what decides about it, and the server's clock, all at one moment.
-- KEYS: version, chain, fences, the parent's chain if there is a parent
-- ARGV: what of the chain ("whole" or "decision"), its identity, a fence wanted whatever the
-- depth (or ""), the parent's identity, fence and token (or "" each)
-- Answers: clock in ms, version, revision, whether the parent runs, and fields with their
-- values in turn and in any order: generations and rows, and maybe others
local chain, fences = KEYS[2], KEYS[3]

local function plain(number)
  return string.format('%.0f', number)
end

-- The generation of the attempt of a fence, if it is in that chain.
local function generation_of(fence, identity)
  local member = redis.call('ZRANGEBYSCORE', fences, fence, fence)[1]
  local generation, of = string.match(member or '', '^(%d+):(.*)$')
  return of == identity and generation
end

local function runs(key, identity, fence, token)
  local generation = generation_of(fence, identity)
  local row = generation and redis.call('HGET', key, generation)
  return row and string.find(row, fence .. ' ' .. token .. ' running ', 1, true) == 1
end

local time = redis.call('TIME')
local ms = time[1] * 1000 + math.floor(time[2] / 1000)
local version = redis.call('GET', KEYS[1])
local parent = 1
if ARGV[5] ~= '' and not runs(KEYS[4], ARGV[4], ARGV[5], ARGV[6]) then
  parent = 0
end

local known = redis.call('HMGET', chain, 'revision', 'newest', 'marked')
local revision = known[1] or '0'
local newest = tonumber(known[2] or '')
-- Where nothing says which is the newest, what decides may be any.
if ARGV[1] == 'whole' or not newest then
  return { ms, version, revision, parent, redis.call('HGETALL', chain) }
end

local fields, taken = {}, {}
local function take(generation)
  local row = redis.call('HGET', chain, generation)
  if row and not taken[generation] then
    taken[generation] = true
    fields[#fields + 1] = generation
    fields[#fields + 1] = row
  end
  return row
end

-- The generation next to one, downwards. There are gaps where old attempts were removed.
local function before(generation)
  if redis.call('HEXISTS', chain, plain(generation - 1)) == 1 then
    return generation - 1
  end
  local next
  for _, field in ipairs(redis.call('HKEYS', chain)) do
    local other = tonumber(field)
    if other and other < generation and (not next or other > next) then
      next = other
    end
  end
  return next
end

local generation = newest
while generation do
  local row = take(plain(generation))
  if not row or not string.find(row, '^%S+ %S+ %S+ %S+ over ') then
    break
  end
  generation = before(generation)
end
take(plain(newest - 2))
for marked in string.gmatch(known[3] or '', '%d+') do
  take(marked)
end
local own = ARGV[3] ~= '' and generation_of(ARGV[3], ARGV[2])
if own then
  take(own)
end
return { ms, version, revision, parent, fields }
