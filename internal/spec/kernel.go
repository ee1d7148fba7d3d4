package spec

import (
	"path/filepath"
	"slices"
	"strings"

	"tare/internal/bench"
)

// kernel reads which kernel of the user's own machines without an agent boot.
func (d *decoder) kernel(n *node, f map[string]*node, e *Experiment) {
	for _, key := range []string{"initrd", "disk", "append", "port"} {
		if f[key] != nil && f["kernel"] == nil {
			d.fail(f[key].place, "%s belongs to a kernel, and none is named%w", key, bench.Hint("such as: image: {kernel: ./server.elf, port: 8080}"))
		}
	}
	if f["kernel"] == nil {
		return
	}
	k := &bench.OwnKernel{}
	d.bootFile(f["kernel"], "kernel", &k.Kernel, e)
	if f["initrd"] != nil {
		k.Initrd = &bench.BootFile{}
		d.bootFile(f["initrd"], "initrd", k.Initrd, e)
	}
	if f["disk"] != nil {
		k.Disk = &bench.BootFile{}
		d.bootFile(f["disk"], "disk", k.Disk, e)
	}
	if line := f["append"]; line != nil {
		d.text(line, &k.Append)
		if err := bench.CheckAppend(k.Append); err != nil {
			d.fail(line.place, "append: %w", err)
		}
	}
	if f["port"] == nil {
		d.fail(n.place, "the kernel needs a port%w", bench.Hint("port: 8080 is where its server accepts connections; it counts as up once it does"))
	} else {
		d.integer(f["port"], 1, 65535, &k.Port)
		e.Places["image.port"] = f["port"].place
	}
	e.Kernel = k
}

// bootFile reads the path of a file that machines boot, relative to the directory tare is started in.
func (d *decoder) bootFile(n *node, what string, into *bench.BootFile, e *Experiment) {
	if d.text(n, &into.Path); into.Path == "" {
		if n.kind == scalar {
			d.fail(n.place, "no file is named for the %s", what)
		}
		return
	}
	e.Places["image."+what] = n.place
	path, err := filepath.Abs(into.Path)
	if err != nil {
		d.fail(n.place, "%s: %w", what, err)
		return
	}
	into.Path = path
}

// agentless refuses machines without an agent that cannot be: without a kernel, or in a nesting.
func (d *decoder) agentless(e *Experiment) {
	used := false
	look := func(ref bench.PlatformRef, at Place) {
		own := false
		for r := &ref; r != nil; r = r.On {
			own = own || r.Options[bench.GuestOption] == bench.OwnGuest
		}
		if !own {
			return
		}
		used = true
		switch {
		case ref.On != nil:
			d.fail(at, "%s: a machine without an agent neither runs in another nor has another in it%w", ref, bench.Hint("leave the nesting out"))
		case ref.Options[bench.KernelOption] != "":
			d.fail(at, "%s names two kernels%w", ref, bench.Hint("option kernel is another one for the image; with guest=own image.kernel is booted"))
		case e.Kernel == nil:
			d.fail(at, "%s boots a kernel of your own, and none is named%w", ref, bench.Hint("beside scenes: image: {kernel: ./server.elf, port: 8080}"))
		}
	}
	seen := map[string]bool{}
	each := func(refs []bench.PlatformRef, at Place) {
		for _, r := range refs {
			if !seen[r.String()] {
				seen[r.String()] = true
				look(r, at)
			}
		}
	}
	each(e.Platforms.Named, e.Places.At("platforms"))
	for _, s := range e.Scenes {
		each(s.Platforms.Named, s.Places.At("platforms"))
		for _, a := range s.Actors {
			if a.Platform != nil {
				each([]bench.PlatformRef{*a.Platform}, a.Places.At("platform"))
			}
		}
	}
	if e.Kernel != nil && !used {
		var can []string
		for _, w := range d.words.Platforms {
			if slices.ContainsFunc(w.Options, func(o bench.Option) bool { return o.Name == bench.GuestOption }) {
				can = append(can, w.Name+"["+bench.GuestOption+"="+bench.OwnGuest+"]")
			}
		}
		e.Warnings = append(e.Warnings, "no platform boots image.kernel; these would: "+strings.Join(can, ", "))
	}
}
