-- Requests to a working set in memory, for sysbench 1.0. A request reads some
-- pages, every cache line of each, and writes to one page in four.

local ffi = require("ffi")

ffi.cdef[[
void *mmap(void *addr, size_t length, int prot, int flags, int fd, long offset);
int madvise(void *addr, size_t length, int advice);
struct tare_time { long s, ns; };
int clock_gettime(int clock, struct tare_time *now);
]]

sysbench.cmdline.options = {
  set = {"bytes of the working set, of all threads", 67108864},
  pages = {"pages that a request touches", 64},
  spread = {"which: uniform or pareto", "pareto"},
  warm = {"seconds from the start until requests are measured", 0},
  step = {"seconds of a step of the series, 0 for none", 0},
}

local PAGE, WORDS, LINE = 4096, 1024, 16 -- bytes; words of 4 bytes in a page and in a cache line

local began = os.time()
local words, count, choose

-- Of the series: requests by step, and how many are left until the clock is looked at. It is looked at
-- about every two milliseconds: what is done at every request would cost half a percent of a short one.
local steps, every, left = {}, 1, -1
local origin, last, now
local request

function thread_init()
  count = math.floor(sysbench.opt.set / sysbench.opt.threads / PAGE)
  local at = ffi.C.mmap(nil, count * PAGE, 3, 0x22, -1, 0) -- private, anonymous
  if at == ffi.cast("void *", -1) then
    error("no memory for the working set")
  end
  ffi.C.madvise(at, count * PAGE, 15) -- no huge pages; a kernel without them refuses
  words = ffi.cast("uint32_t *", at)
  choose = sysbench.opt.spread == "uniform" and sysbench.rand.uniform or sysbench.rand.pareto
  for page = 0, count - 1 do -- no two alike, for nothing shall be merged
    words[page * WORDS] = page + 1
  end
  -- Instances that were started together are measured together, however long
  -- each took to lay out its set.
  while os.time() < began + sysbench.opt.warm do
    request()
  end
  now = ffi.new("struct tare_time")
end

local function seconds()
  ffi.C.clock_gettime(1, now) -- monotonic
  return tonumber(now.s) + tonumber(now.ns) / 1e9
end

-- look divides the requests since the last time among the steps that have passed.
local function look()
  local at = seconds()
  at = math.max(at, last + 1e-9)
  local from, to = (last - origin) / sysbench.opt.step, (at - origin) / sysbench.opt.step
  for step = math.floor(from), math.floor(to) do
    local within = math.min(to, step + 1) - math.max(from, step)
    steps[step + 1] = (steps[step + 1] or 0) + every * within / (to - from)
  end
  every = math.max(1, math.min(1000, math.floor(every * 0.002 / (at - last))))
  last, left = at, every
end

-- The first request tells when the measurement begins.
function event()
  if sysbench.opt.step > 0 then
    origin = seconds()
    last, left = origin, every
  end
  event = request
  request()
end

function thread_done()
  if origin then
    local line = {"series"}
    for step = 1, table.maxn(steps) do
      line[step + 1] = string.format("%.1f", steps[step] or 0)
    end
    io.write(table.concat(line, " ") .. "\n")
  end
end

request = function()
  local sum = 0
  for i = 1, sysbench.opt.pages do
    local first = choose(0, count - 1) * WORDS
    for word = first, first + WORDS - 1, LINE do
      sum = sum + words[word]
    end
    if i % 4 == 0 then
      words[first + 1] = sum % 4294967296
    end
  end
  left = left - 1
  if left == 0 then
    look()
  end
end
