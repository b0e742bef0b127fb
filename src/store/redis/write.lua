-- Changes a chain as a whole, if nothing has changed it since it was read.
-- KEYS: version, revision, chain, fences, tokens, leases, running, subjects, then every other
-- key that is known beforehand
-- ARGV: a plan, as JSON
-- Answers: "written", or why nothing was: "changed", "late", "upload" or "version"
local version, revision, chain, fences = KEYS[1], KEYS[2], KEYS[3], KEYS[4]
local tokens, leases, running, subjects = KEYS[5], KEYS[6], KEYS[7], KEYS[8]
local plan = cjson.decode(ARGV[1])

local function parts(row)
  return string.match(row, '^(%d+) (%x+) (%S+) (%d+) ')
end

-- The generation of the attempt of a fence, if it is in that chain.
local function generation_of(fence, identity)
  local member = redis.call('ZRANGEBYSCORE', fences, fence, fence)[1]
  local generation, of = string.match(member or '', '^(%d+):(.*)$')
  return of == identity and generation
end

local function runs(parent)
  local generation = generation_of(parent.fence, parent.identity)
  local row = generation and redis.call('HGET', parent.chain, generation)
  return row and string.find(row, parent.fence .. ' ' .. parent.token .. ' running ', 1, true) == 1
end

-- A script that fails half-way is not undone, so nothing is written before it is known that
-- all of it may be (which a server can say since Redis 7).
local needed = { 'INCR', 'HGET', 'HSET', 'HDEL', 'HINCRBY', 'HKEYS', 'HGETALL', 'ZADD', 'ZREM',
  'ZSCORE', 'ZRANGEBYSCORE', 'ZRANGEBYLEX', 'UNLINK', 'RENAME', 'PERSIST', 'PEXPIRE' }
for _, command in ipairs(redis.acl_check_cmd and needed or {}) do
  if not redis.acl_check_cmd(command, chain, chain, chain) then
    return redis.error_reply('NOPERM this user may not run ' .. command)
  end
end
local time = redis.call('TIME')
local ms = time[1] * 1000 + math.floor(time[2] / 1000)
if redis.call('GET', version) ~= plan.version then
  return 'version'
end
if (redis.call('HGET', chain, 'revision') or '0') ~= plan.revision then
  return 'changed'
end
if plan.patience_ms and math.abs(ms - plan.read_ms) > plan.patience_ms then
  return 'late'
end
if plan.parent and not runs(plan.parent) then
  return 'changed'
end
if plan.upload and redis.call('LLEN', plan.upload.from) ~= plan.upload.parts then
  return 'upload'
end

-- How many attempts have a lease of that length.
local function count(lease, by)
  if lease and lease ~= '0' and redis.call('HINCRBY', leases, lease, by) <= 0 then
    redis.call('HDEL', leases, lease)
  end
end

local function forget(identity, generation, row)
  local fence, token, _, lease = parts(row)
  local member = generation .. ':' .. identity
  -- A row that cannot be read names neither, and nothing may fail half-way.
  fence = redis.call('ZSCORE', fences, member) or fence
  redis.call('ZREM', fences, member)
  redis.call('ZREM', running, member)
  if token then
    redis.call('HDEL', tokens, token)
  end
  if fence then
    redis.call('UNLINK', plan.outputs .. fence)
  end
  count(lease, -1)
end

-- A server without memory lets what only makes room be done. It refuses everything else at
-- the first write, so that nothing is done by halves.
local number = plan.rows[1] and redis.call('INCR', revision)
local marked = {}
for generation in string.gmatch(redis.call('HGET', chain, 'marked') or '', '%d+') do
  marked[generation] = true
end
local newest = redis.call('HGET', chain, 'newest') or nil
newest = tonumber(newest or '') and newest
for _, fence in ipairs(plan.removed) do
  local generation = generation_of(fence, plan.identity)
  local row = generation and redis.call('HGET', chain, generation)
  if row then
    redis.call('HDEL', chain, generation)
    forget(plan.identity, generation, row)
    marked[generation] = nil
    newest = newest ~= generation and newest or nil
  end
end
for _, generation in ipairs(plan.discarded) do
  forget(plan.identity, generation, redis.call('HGET', chain, generation) or '')
  redis.call('HDEL', chain, generation)
  marked[generation] = nil
  newest = newest ~= generation and newest or nil
end
for _, fence in ipairs(plan.outputs_removed) do
  redis.call('UNLINK', plan.outputs .. fence)
end
for _, operation in ipairs(plan.steps_removed) do
  local first, last = '[step:' .. operation .. '\31', '(step:' .. operation .. ' '
  for _, identity in ipairs(redis.call('ZRANGEBYLEX', subjects, first, last)) do
    local rows = redis.call('HGETALL', plan.chains .. identity)
    redis.call('UNLINK', plan.chains .. identity)
    for place = 1, #rows, 2 do
      if tonumber(rows[place]) then
        forget(identity, rows[place], rows[place + 1])
      end
    end
    redis.call('ZREM', subjects, identity)
  end
end

for _, new in ipairs(plan.rows) do
  local member = new.generation .. ':' .. plan.identity
  local old = redis.call('HGET', chain, new.generation)
  if old then
    local _, _, _, lease = parts(old)
    if lease ~= new.lease then
      count(new.lease, 1)
      count(lease, -1)
    end
  else
    count(new.lease, 1)
    redis.call('ZADD', fences, new.fence, member)
    redis.call('HSET', tokens, new.token, new.fence)
    redis.call('ZADD', subjects, 0, plan.identity)
  end
  redis.call('HSET', chain, new.generation, new.row)
  if new.running then
    redis.call('ZADD', running, new.fence, member)
  else
    redis.call('ZREM', running, member)
  end
  marked[new.generation] = new.marked or nil
  if newest and tonumber(new.generation) > tonumber(newest) then
    newest = new.generation
  end
end

if plan.upload then
  redis.call('RENAME', plan.upload.from, plan.upload.to)
  redis.call('PERSIST', plan.upload.to)
end
for _, kept in ipairs(plan.kept) do
  if kept.ms then
    redis.call('PEXPIRE', kept.output, kept.ms)
  else
    redis.call('PERSIST', kept.output)
  end
end

if not newest then
  for _, field in ipairs(redis.call('HKEYS', chain)) do
    if tonumber(field) and tonumber(field) > tonumber(newest or '0') then
      newest = field
    end
  end
end
if newest then
  local list = {}
  for generation in pairs(marked) do
    list[#list + 1] = generation
  end
  redis.call('HSET', chain, 'revision', number or redis.call('INCR', revision), 'newest',
    newest, 'marked', table.concat(list, ' '))
else
  redis.call('UNLINK', chain)
  redis.call('ZREM', subjects, plan.identity)
end
if plan.channel then
  -- Who may not publish may write all the same; then waiters look again by themselves.
  redis.pcall('PUBLISH', plan.channel, '')
end
return 'written'
