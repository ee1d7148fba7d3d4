package image

// boots adds an init system to the recipe, for instances that boot: systemd to
// multi-user.target, and udev. Elsewhere none of it runs. What makes noise of its
// own while something is measured, or waits for what is not there, is left out.
func boots(r *Recipe) {
	r.Packages = append(r.Packages, "systemd-sysv", "udev")
	// Names and quirks of hardware that no virtual machine has, 22 MB.
	r.Drop = append(r.Drop, "usr/lib/udev/hwdb.bin", "usr/lib/udev/hwdb.d/*", "var/lib/systemd/catalog/*")
	// An empty one is filled in memory at each boot; one that is missing would be a first boot, with questions.
	r.Files["etc/machine-id"] = ""
	// Younger than /usr, or the first boot would rebuild caches (systemd-update-done.service(8)).
	r.Files["etc/.updated"], r.Files["var/.updated"] = "", ""
	r.Files["etc/systemd/journald.conf.d/tare.conf"] = "[Journal]\nStorage=volatile\nRuntimeMaxUse=4M\n"
	r.Links = map[string]string{"etc/systemd/system/default.target": "/usr/lib/systemd/system/multi-user.target"}
	for _, unit := range []string{
		"timers.target",                                                                                                 // updates, backups, trims and cleaning
		"getty.target", "systemd-logind.service", "systemd-ask-password-wall.path", "systemd-ask-password-console.path", // nobody logs in
		"systemd-machine-id-commit.service", "systemd-random-seed.service", // nothing is kept for a next boot
		"tmp.mount", // it lies where it does in an instance that does not boot
		"netperf.service", "fio.service",
	} {
		r.Links["etc/systemd/system/"+unit] = "/dev/null"
	}
}
