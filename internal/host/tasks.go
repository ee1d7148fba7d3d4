package host

// MaxTasks returns the task limit of the host whose files are under root: the smaller of the
// kernel's limits on process ids and on threads; 0 if neither is known.
func MaxTasks(root string) int {
	least := 0
	for _, file := range []string{"pid_max", "threads-max"} {
		n, err := tree(root).number("/proc/sys/kernel/" + file)
		if err == nil && n > 0 && (least == 0 || n < least) {
			least = n
		}
	}
	return least
}
