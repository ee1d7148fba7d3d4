-- Asks for pages of the shop, any of its items, by wrk: ITEMS BIDS, where BIDS percent of the pages are
-- bids, and of the others three in five browse and two in five view. A page that is not whole has failed.
local threads = {}

function setup(thread)
   table.insert(threads, thread)
   thread:set("seed", #threads)
end

function init(args)
   items, bids = tonumber(args[1]), tonumber(args[2])
   failed, said = 0, ""
   math.randomseed(seed)
end

local form = {["Content-Type"] = "application/x-www-form-urlencoded"}

function request()
   local item, kind = math.random(items), math.random(100)
   if kind <= bids then
      return wrk.format("POST", "/bid.php", form, "item=" .. item .. "&user=" .. math.random(items))
   elseif math.random(5) <= 3 then
      local pages = math.ceil(math.floor(items / 20) / 20)
      return wrk.format("GET", "/browse.php?category=" .. math.random(20) .. "&page=" .. math.random(pages) - 1)
   end
   return wrk.format("GET", "/view.php?item=" .. item)
end

function response(status, headers, body)
   if status ~= 200 or body:sub(-15) ~= "<!-- whole -->\n" then
      failed = failed + 1
      if said == "" then
         said = status .. " " .. body:sub(1, 200):gsub("[^%w%p ]", " ")
      end
   end
end

function done(summary, latency)
   local e = summary.errors
   local n, text = e.connect + e.read + e.write + e.timeout, ""
   for _, thread in ipairs(threads) do
      n = n + thread:get("failed")
      if text == "" then
         text = thread:get("said")
      end
   end
   print("pages in all: " .. summary.requests)
   print("pages failed: " .. n)
   print("first failure: " .. text)
   print("elapsed us: " .. summary.duration)
   print("mean us: " .. latency.mean)
   print("p90 us: " .. latency:percentile(90))
   print("p99 us: " .. latency:percentile(99))
end
