package agent

import (
	"runtime"
	"sync"
)

// spareThreads is how many more threads the agent may need: one for each of its blocking system
// calls, such as writes to the client and reads of /proc under load.
const spareThreads = 8

// reserveThreads makes the runtime start threads that it parks and uses later. An instance may use
// up its task limit, and the Go runtime crashes if it cannot start a thread. It takes about 0.4 ms,
// so a bare command does without it.
func reserveThreads() {
	var locked, let sync.WaitGroup
	let.Add(1)
	for range spareThreads {
		locked.Add(1)
		go func() {
			runtime.LockOSThread()
			defer runtime.UnlockOSThread()
			locked.Done()
			let.Wait()
		}()
	}
	locked.Wait()
	let.Done()
}
