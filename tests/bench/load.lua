-- wrk's side: method, body and paths come from the environment; the numbers leave as one line of JSON.
local method = os.getenv("METHOD") or "GET"
local body = os.getenv("BODY")
local tag = os.getenv("TAG")
local count = tonumber(os.getenv("COUNT") or "1")
local headers = {["Host"] = "127.0.0.1"}
if body then headers["Content-Type"] = "application/json" end
if tag then headers["If-None-Match"] = tag end

local requests, at = {}, 0

function init()
  for i = 0, count - 1 do
    local path = string.gsub(os.getenv("TARGET"), "{n}", tostring(i))
    requests[i] = wrk.format(method, path, headers, body)
  end
end

function request()
  at = (at + 1) % count
  return requests[at]
end

function done(summary, latency)
  local e = summary.errors
  io.write(string.format(
    '\nRESULT {"requests": %d, "seconds": %.6f, "p50_us": %d, "p99_us": %d, "errors": %d}\n',
    summary.requests, summary.duration / 1e6, latency:percentile(50), latency:percentile(99),
    e.connect + e.read + e.write + e.status + e.timeout))
end
