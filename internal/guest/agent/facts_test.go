package agent

import (
	"os"
	"strings"
	"testing"
)

func TestFactsOfThisMachine(t *testing.T) {
	c := dialed(t)
	dir := t.TempDir()
	f, err := c.Facts(testContext(t), FactsRequest{Scratch: dir, Programs: []string{"sh", "no-such-program"}})
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"kernel", "cpus_usable", "memory_total", "limit_nofile", "uid", "capabilities", "scratch_fs", "o_direct"} {
		if f[name] == "" {
			t.Errorf("no fact %q in %v", name, f)
		}
	}
	if !strings.HasPrefix(f["programs"], "sh ") || strings.Contains(f["programs"], "no-such-program") {
		t.Errorf("programs: %q", f["programs"])
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
		t.Errorf("left in the scratch directory: %v %v", left, err)
	}
}

// A file written through the page cache is found there; this is what tells a
// platform that takes O_DIRECT and ignores it.
func TestResidentSeesThePageCache(t *testing.T) {
	f, err := os.CreateTemp(t.TempDir(), "")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if _, err := f.Write(make([]byte, directBlock)); err != nil {
		t.Fatal(err)
	}
	if cached, err := resident(int(f.Fd())); err != nil || !cached {
		t.Errorf("a page just written: in the cache %v, %v", cached, err)
	}
}

func TestMountOf(t *testing.T) {
	const table = `22 1 0:20 / / rw,relatime shared:1 - overlay overlay rw,lowerdir=/l
30 22 253:0 /s /scratch rw,noatime - ext4 /dev/vda rw,discard
31 22 0:9 / /scratch/deep rw - tmpfs tmpfs rw
broken line
`
	for dir, want := range map[string]string{
		"/scratch": "ext4 rw,noatime,rw,discard", "/scratch/x": "ext4 rw,noatime,rw,discard",
		"/scratchy": "overlay rw,relatime,rw,lowerdir=/l", "/scratch/deep": "tmpfs rw,rw",
	} {
		if fs, options, ok := mountOf(table, dir); !ok || fs+" "+options != want {
			t.Errorf("%s: %s %s, want %s", dir, fs, options, want)
		}
	}
	if _, _, ok := mountOf("", "/scratch"); ok {
		t.Error("a mount was found in nothing")
	}
}

func TestFactsOfAnEmptyInstance(t *testing.T) {
	root := t.TempDir()
	f := readFacts(root, FactsRequest{Scratch: "/scratch"})
	if _, ok := f["kernel"]; ok || f["memory_total"] != "" {
		t.Errorf("facts from nowhere: %v", f)
	}
	if !strings.HasPrefix(f["o_direct"], directRefused) {
		t.Errorf("o_direct in a missing directory: %q", f["o_direct"])
	}
}
