-- Warms up by transactions on the threads and connections that are then measured, for sysbench 1.0. It
-- comes after the script of the transactions, whose event it calls.

sysbench.cmdline.options.warm = {"seconds from the start until transactions are measured", 0}

local began = os.time()
local connect = thread_init

-- All threads have done this before sysbench says "Threads started!" and measures.
function thread_init()
  connect()
  while os.time() < began + sysbench.opt.warm do
    local done, why = pcall(event)
    if not done then -- as sysbench itself does with what it measures
      if type(why) ~= "table" or why.errcode ~= sysbench.error.RESTART_EVENT then
        error(why)
      end
      if sysbench.hooks.before_restart_event then
        sysbench.hooks.before_restart_event(why)
      end
    end
  end
end
