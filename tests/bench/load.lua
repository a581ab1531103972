-- wrk's side. REQUESTS names a file that returns a table:
--   requests = {{weight, method, path, body, headers = {}, tags = {}}, ...}   {n}: a table's number, {i}: never twice
--   tables, pick ("turn", "random" or "zipf"), pause (ms before each request), statuses (true: count them),
--   run (a number of its own for each start of wrk)
-- The numbers leave as one line of JSON.
local plan = dofile(os.getenv("REQUESTS"))
local deck, made, cursor = {}, {}, 0
local threads = {}
local READY_MOST = 4096 -- so many requests are written beforehand

function setup(thread)
  thread:set("id", #threads)
  table.insert(threads, thread)
end

local function fill(text, n, i)
  if not text then return nil end
  return (text:gsub("{n}", tostring(n)):gsub("{i}", tostring(i)))
end

local function write(r, n, i)
  local headers = {["Host"] = "127.0.0.1"}
  for name, value in pairs(r.headers) do headers[name] = value end
  if r.body then headers["Content-Type"] = "application/json" end
  if r.tags[1] then headers["If-None-Match"] = r.tags[n % #r.tags + 1] end
  return wrk.format(r.method, fill(r.path, n, i), headers, fill(r.body, n, i))
end

local function changes(r)
  return (r.path .. (r.body or "")):find("{i}", 1, true) ~= nil
end

function init()
  counts, statuses = 0, {}
  math.randomseed(id * 7919 + 1)
  for k, r in ipairs(plan.requests) do
    for _ = 1, r.weight do table.insert(deck, k) end
    made[k] = {}
    if not changes(r) and plan.tables <= READY_MOST then
      for n = 0, plan.tables - 1 do made[k][n] = write(r, n, 0) end
    end
  end
  -- shuffled, so that what weighs much does not come in runs
  for a = #deck, 2, -1 do
    local b = math.random(a)
    deck[a], deck[b] = deck[b], deck[a]
  end
  turn = math.random(0, plan.tables - 1)
end

local function pick()
  if plan.pick == "random" then return math.random(0, plan.tables - 1) end
  if plan.pick == "zipf" then return math.floor(plan.tables ^ math.random()) - 1 end
  turn = (turn + 1) % plan.tables
  return turn
end

function request()
  cursor = cursor + 1
  local k = deck[cursor % #deck + 1]
  local n = pick()
  return made[k][n] or write(plan.requests[k], n, string.format("%d_%d_%d", plan.run, id, cursor))
end

if plan.pause > 0 then
  function delay() return math.random(0, 2 * plan.pause) end
end

if plan.statuses then
  function response(status)
    counts = counts + 1
    statuses[status] = (statuses[status] or 0) + 1
    said = ""
    for s, n in pairs(statuses) do said = said .. s .. ":" .. n .. " " end
  end
end

function done(summary, latency)
  local e, each, said = summary.errors, {}, {}
  for _, thread in ipairs(threads) do
    table.insert(each, thread:get("counts"))
    for status, n in (thread:get("said") or ""):gmatch("(%d+):(%d+)") do
      said[status] = (said[status] or 0) + tonumber(n)
    end
  end
  local words = {}
  for status, n in pairs(said) do table.insert(words, string.format('"%s": %d', status, n)) end
  io.write(string.format(
    '\nRESULT {"requests": %d, "seconds": %.6f, "bytes": %d, "p50_us": %d, "p99_us": %d, "broken": %d, "refused": %d, '
    .. '"each": [%s], "statuses": {%s}}\n',
    summary.requests, summary.duration / 1e6, summary.bytes, latency:percentile(50), latency:percentile(99),
    e.connect + e.read + e.write + e.timeout, e.status, table.concat(each, ", "), table.concat(words, ", ")))
end
