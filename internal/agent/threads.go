package agent

import (
	"runtime"
	"sync"
)

// spareThreads are what the agent may need beside those it has: one for every
// system call of its own that waits, such as writes to the client and reads of
// /proc under load.
const spareThreads = 8

// reserveThreads makes the runtime begin threads that it parks and uses later.
// An instance may use up all tasks it may have, and the runtime does not survive
// a thread that it cannot begin. It takes about 0.4 ms, which is why a bare
// command goes without.
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
