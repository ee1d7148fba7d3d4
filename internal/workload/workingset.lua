-- Requests to a working set in memory, for sysbench 1.0. A request reads some
-- pages, every cache line of each, and writes to one page in four.

local ffi = require("ffi")

ffi.cdef[[
void *mmap(void *addr, size_t length, int prot, int flags, int fd, long offset);
int madvise(void *addr, size_t length, int advice);
]]

sysbench.cmdline.options = {
  set = {"bytes of the working set, of all threads", 67108864},
  pages = {"pages that a request touches", 64},
  spread = {"which: uniform or pareto", "pareto"},
  warm = {"seconds from the start until requests are measured", 0},
}

local PAGE, WORDS, LINE = 4096, 1024, 16 -- bytes; words of 4 bytes in a page and in a cache line

local began = os.time()
local words, count, choose

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
    event()
  end
end

function event()
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
end
