package report

import (
	"context"
	"fmt"
	"image/color"
	"image/png"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"
)

// probe writes beside the frames how wide each page became.
const probe = `<script>
addEventListener("load", () => {
  for (const frame of document.querySelectorAll("iframe")) {
    const d = frame.contentDocument.documentElement;
    const p = document.createElement("p");
    p.textContent = "probe " + frame.width + ": " + d.scrollWidth + " of " + frame.contentWindow.innerWidth + ".";
    document.body.append(p);
  }
});
</script>`

var probed = regexp.MustCompile(`<p>probe (\d+): (\d+) of (\d+)\.</p>`)

// The page as a browser shows it: no complaint, no scrolling sideways, not blank.
func TestPageInABrowser(t *testing.T) {
	browser, err := exec.LookPath("chromium")
	if err != nil {
		t.Fatal("chromium is not installed, so that the page cannot be looked at: ./test installs it")
	}
	dir := t.TempDir()
	file := func(name, text string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		return path
	}
	page := renderHTML(t, withPower(synthetic(t)))
	path := file("report.html", page)
	reproduction := file("reproduction.html", renderReproduction(t, twice()))
	file("unfolded.html", strings.ReplaceAll(renderReproduction(t, reproduced()), "<details", "<details open"))

	// Frames have the width asked for; a window has a least width of its own.
	var widths []string
	var frames strings.Builder
	for _, name := range []string{"report.html", "reproduction.html", "unfolded.html"} {
		for _, w := range []string{"360", "390", "768", "1200"} {
			widths = append(widths, w)
			fmt.Fprintf(&frames, `<iframe width="%s" height="2000" src="%s"></iframe>`, w, name)
		}
	}
	probePath := file("probe.html", "<!DOCTYPE html><meta charset=utf-8>"+probe+frames.String())
	dom := chromium(t, browser, "--allow-file-access-from-files", "--virtual-time-budget=5000", "--dump-dom", "file://"+probePath)
	found := probed.FindAllStringSubmatch(dom, -1)
	if len(found) != len(widths) {
		t.Fatalf("%d of %d widths were probed: %s", len(found), len(widths), dom)
	}
	for _, m := range found {
		var needs, has int
		fmt.Sscan(m[2], &needs)
		fmt.Sscan(m[3], &has)
		if needs > has || has == 0 {
			t.Errorf("at %s pixels the page is %d wide in a window of %d", m[1], needs, has)
		}
	}

	for name, view := range map[string]struct {
		path, size, scheme string
		dark               bool
	}{
		"light": {path, "1200,1600", "1", false}, "dark": {path, "1200,1600", "0", true}, "phone": {path, "500,1600", "1", false},
		"reproduction": {reproduction, "1200,1600", "1", false}, "dark reproduction": {reproduction, "1200,1600", "0", true},
	} {
		shot := filepath.Join(dir, name+".png")
		chromium(t, browser, "--window-size="+view.size, "--blink-settings=preferredColorScheme="+view.scheme, "--screenshot="+shot, "file://"+view.path)
		colours, brightness := look(t, shot)
		if colours < 50 || (brightness < 0.5) != view.dark {
			t.Errorf("%s: %d colours, mean brightness %.2f", name, colours, brightness)
		}
	}

	// On paper it is what is open: some pages of A4, and not what the folds hold.
	paper := filepath.Join(dir, "report.pdf")
	chromium(t, browser, "--print-to-pdf="+paper, "--no-pdf-header-footer", "file://"+path)
	pdf, err := os.ReadFile(paper)
	if err != nil {
		t.Fatal(err)
	}
	sheets := mediaBox.FindAllSubmatch(pdf, -1)
	if len(sheets) == 0 || len(sheets) > 4 {
		t.Errorf("%d pages on paper", len(sheets))
	}
	for _, s := range sheets {
		if !strings.HasPrefix(string(s[1]), "594.9") || !strings.HasPrefix(string(s[2]), "841.9") {
			t.Errorf("a page of %s by %s points is not A4", s[1], s[2])
		}
	}
}

var mediaBox = regexp.MustCompile(`/MediaBox \[0 0 ([\d.]+) ([\d.]+)\]`)

func chromium(t *testing.T, browser string, args ...string) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	c := exec.CommandContext(ctx, browser, append([]string{
		"--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
		"--disable-component-update", "--disable-sync", "--enable-logging=stderr", "--hide-scrollbars", "--user-data-dir=" + t.TempDir(),
	}, args...)...)
	var errs strings.Builder
	c.Stderr = &errs
	out, err := c.Output()
	if err != nil {
		t.Fatalf("chromium: %v: %s", err, errs.String())
	}
	for line := range strings.Lines(errs.String()) {
		if strings.Contains(line, "CONSOLE") {
			t.Errorf("the browser complains: %s", line)
		}
	}
	return string(out)
}

// look counts the colours of a picture and averages its brightness.
func look(t *testing.T, path string) (colours int, brightness float64) {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	img, err := png.Decode(f)
	if err != nil {
		t.Fatal(err)
	}
	seen := map[color.Color]bool{}
	b := img.Bounds()
	for y := b.Min.Y; y < b.Max.Y; y += 2 {
		for x := b.Min.X; x < b.Max.X; x += 2 {
			c := img.At(x, y)
			seen[c] = true
			brightness += float64(color.GrayModel.Convert(c).(color.Gray).Y) / 255
		}
	}
	return len(seen), brightness / float64((b.Dx()+1)/2*((b.Dy()+1)/2))
}
