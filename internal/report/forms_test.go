package report

import (
	"strings"
	"testing"

	"tare/internal/bench"
)

func TestFormsPage(t *testing.T) {
	var page strings.Builder
	err := FormsHTML(&page, Forms{Digest: "sha256:abc", Packages: 3, Files: 4, Bytes: 5 * bench.MiB, Forms: []Form{
		{Name: "tar", What: "an <archive>", From: "tree", Seconds: 1.25, Size: 6 * bench.MiB, OnDisk: 7_000_000},
		{Name: "docker", Problem: "dockerd is not installed"},
	}})
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"sha256:abc", "an &lt;archive&gt;", "tar, 1.25 s", "tar, 6.676 MiB", "<td>tree</td>", "not made: dockerd is not installed", "303.8 s", "112 KB"} {
		if !strings.Contains(page.String(), want) {
			t.Errorf("the page lacks %q", want)
		}
	}
	if strings.Contains(page.String(), "docker, ") {
		t.Error("a form that was not made has a bar")
	}
}
