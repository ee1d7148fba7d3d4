package workload

import (
	"bytes"
	"errors"
	"strings"
	"testing"
	"time"

	"tare/internal/bench"
)

// The client opens the connections whichever way data go, and is at the end that has no server.
func TestNuttcpSteps(t *testing.T) {
	w := nuttcp{}
	for _, c := range []struct{ server, direction, serving, client, way string }{
		{"outside", "out", nuttcpPeer, bench.SubjectPart, " -t -4 "},
		{"outside", "in", nuttcpPeer, bench.SubjectPart, " -r -F -4 "},
		{"inside", "out", bench.SubjectPart, nuttcpPeer, " -r -4 "},
		{"inside", "in", bench.SubjectPart, nuttcpPeer, " -t -4 "},
	} {
		p, s := fill(t, w, bench.Params{"server": c.server, "direction": c.direction}), setting()
		server, err := w.Steps(c.serving, p, s)
		if err != nil {
			t.Fatal(err)
		}
		if got := strings.Join(server.Main.Argv, " "); !server.Service || server.Listen != 5000 || got != "nuttcp -S --nofork -4 -P 5000" {
			t.Errorf("server %s: %+v", c.server, server)
		}
		client, err := w.Steps(c.client, p, s)
		if err != nil {
			t.Fatal(err)
		}
		argv, addr := strings.Join(client.Main.Argv, " "), s.Addr[c.serving].String()
		if client.Service || client.Ramp != 2*time.Second || !strings.Contains(argv, c.way) || !strings.HasSuffix(argv, "-l 65536 -T 7 -i 0.1 -fparse "+addr) {
			t.Errorf("server %s, %s: %s", c.server, c.direction, argv)
		}
		delete(s.Addr, c.serving)
		if _, err := w.Steps(c.client, p, s); !errors.Is(err, bench.ErrInvalid) && !errors.Is(err, bench.ErrUnavailable) {
			t.Errorf("server %s without an address: %v", c.server, err)
		}
	}
}

// What the receiver got since the window opened is the figure, up to the end that no interval tells.
func TestNuttcpParse(t *testing.T) {
	w := nuttcp{}
	for _, file := range []string{"nuttcp-out.txt", "nuttcp-in.txt"} {
		for _, warm := range []time.Duration{0, 500 * time.Millisecond} {
			p, out := fill(t, w, nil), bench.Output{Stdout: captured(t, file)}
			values, err := w.Parse(p, netperfSetting(warm), out)
			if err != nil {
				t.Fatal(err)
			}
			checkValues(t, w, p, values)
			if series, err := w.Series(p, netperfSetting(warm), out); err != nil || len(series) != 1 {
				t.Errorf("%s: %d series, %v", file, len(series), err)
			}
			all, err := nuttcpSpells(out.Stdout)
			if err != nil || len(all) != 20 {
				t.Errorf("%s: %d intervals of 20, %v", file, len(all), err)
			}
		}
	}
	if all, err := nuttcpSpells(captured(t, "nuttcp-no-queue.txt")); err != nil || len(all) != 15 {
		t.Errorf("of gVisor: %d intervals of 15, %v", len(all), err)
	}
	three := []byte("megabytes=100.0000 real_sec=1.00 rate_Mbps=838.8608\nmegabytes=50.0000 real_sec=1.00 rate_Mbps=419.4304\n" +
		"\nmegabytes=250.0000 real_seconds=3.00 rate_Mbps=699.0507 tx_cpu=1 rx_cpu=2\n")
	s := setting()
	s.Timing.Warmup, s.Timing.Measure = time.Second, 2*time.Second
	values, err := w.Parse(fill(t, w, nil), s, bench.Output{Stdout: three})
	if err != nil {
		t.Fatal(err)
	}
	if got := value(t, values, "throughput"); got < 629.14 || got > 629.15 {
		t.Errorf("150 MiB in the two seconds after the first are %v Mbit/s", got)
	}
}

func TestNuttcpParseRefuses(t *testing.T) {
	w, good := nuttcp{}, captured(t, "nuttcp-out.txt")
	s := netperfSetting(500 * time.Millisecond)
	for _, c := range []struct {
		name string
		out  bench.Output
		says string
	}{
		{"refused", bench.Output{Exit: 1, Stderr: captured(t, "nuttcp-refused.txt")}, "Connection refused"},
		{"server lost", bench.Output{Exit: 1, Stdout: captured(t, "nuttcp-lost.txt")}, "exit status 1"},
		{"server lost, well ended", bench.Output{Stdout: captured(t, "nuttcp-lost.txt")}, "not of an interval"},
		{"nothing", bench.Output{}, "the line of the whole run: not found in nothing"},
		{"cut", bench.Output{Stdout: good[:len(good)/2]}, ""},
		{"twice", bench.Output{Stdout: append(bytes.Clone(good), good...)}, "it follows that of the whole run"},
		{"another total", bench.Output{Stdout: []byte("megabytes=100.0000 real_sec=1.00 rate_Mbps=838.8608\nmegabytes=50.0000 real_seconds=2.00 rate_Mbps=209.7152\n")}, "have more than that"},
		{"another time", bench.Output{Stdout: []byte("megabytes=50.0000 real_seconds=1.00 rate_Mbps=209.7152\n")}, "2 s by the rate and not 1.00"},
		{"no amount", bench.Output{Stdout: []byte("real_seconds=1.00 rate_Mbps=209.7152\n")}, `"": not a time`},
		{"too short", bench.Output{Stdout: []byte("megabytes=100.0000 real_seconds=1.00 rate_Mbps=838.8608\n")}, "after the warm-up of 500ms"},
		{"stalled", bench.Output{Stdout: []byte("megabytes=0.0000 real_seconds=2.00 rate_Mbps=0.0000\n")}, "not above zero"},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := w.Parse(fill(t, w, nil), s, c.out)
			wantError(t, err, c.says)
		})
	}
}

func FuzzNuttcpParse(f *testing.F) {
	for _, file := range []string{"nuttcp-out.txt", "nuttcp-in.txt", "nuttcp-lost.txt", "nuttcp-refused.txt", "nuttcp-no-queue.txt"} {
		f.Add(captured(f, file))
	}
	f.Fuzz(func(t *testing.T, stdout []byte) {
		w := nuttcp{}
		p, out := fill(t, w, nil), bench.Output{Stdout: stdout}
		if values, err := w.Parse(p, netperfSetting(0), out); err == nil {
			checkValues(t, w, p, values)
			if _, err := w.Series(p, netperfSetting(0), out); err != nil && !strings.Contains(err.Error(), "series") {
				t.Error(err)
			}
		}
	})
}
