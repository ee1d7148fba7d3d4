package host

// MaxTasks is how many tasks the kernel of the host whose files lie under root
// takes: the lesser of its bounds on numbers and on threads; 0 if neither is known.
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
