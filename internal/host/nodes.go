package host

// MemoryNodes are the NUMA nodes that have memory, ascending; node 0 alone where the kernel knows none.
func MemoryNodes(root string) []int {
	nodes, err := tree(root).cpus("/sys/devices/system/node/has_memory") // the same form
	if err != nil || len(nodes) == 0 {
		return []int{0}
	}
	return nodes
}
