package workload

import (
	"errors"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"tare/internal/bench"
)

func TestServiceSteps(t *testing.T) {
	w := service{}
	p := fill(t, w, bench.Params{
		"server": `["./serve", "--port={port}"]`, "load": `["./ask", "http://{server}:{port}/"]`, "port": "8080",
		"warmup": `["./ask", "--few", "{server}"]`, "env": `{"URL": "http://{server}:{port}"}`, "files": `["/home/me/serve"]`, "load-files": `["/home/me/ask"]`,
		"ok-exit": "[0, 3]", "timeout": "30s", "ready": "5s",
	})
	server, err := w.Steps(bench.SubjectPart, p, setting())
	if err != nil {
		t.Fatal(err)
	}
	if !server.Service || server.Listen != 8080 || server.Ready != 5*time.Second || len(server.Warm) > 0 || server.Main.Timeout < time.Hour {
		t.Errorf("server %+v", server)
	}
	load, err := w.Steps("load", p, setting())
	if err != nil {
		t.Fatal(err)
	}
	if load.Service || load.Listen != 0 || load.Main.Timeout != 30*time.Second || !slices.Equal(load.OKExit, []int{0, 3}) {
		t.Errorf("load %+v", load)
	}
	for _, c := range []struct {
		got  bench.Command
		want string
	}{
		{server.Main, "./serve --port=8080"}, {load.Main, "./ask http://10.99.0.3:8080/"}, {load.Warm[0], "./ask --few 10.99.0.3"},
	} {
		if got := strings.Join(c.got.Argv, " "); got != c.want {
			t.Errorf("%q, want %q", got, c.want)
		}
		if want := map[string]string{"TARE_SERVER": "10.99.0.3", "TARE_PORT": "8080", "URL": "http://10.99.0.3:8080"}; !maps.Equal(c.got.Env, want) {
			t.Errorf("%s: environment %v", c.want, c.got.Env)
		}
	}
	if len(server.Files) != 1 || len(load.Files) != 2 {
		t.Errorf("files %v and %v", server.Files, load.Files)
	}
	commands, files, err := w.Carries(p)
	if err != nil || len(commands) != 3 || len(files) != 2 {
		t.Errorf("it carries %q, %q: %v", commands, files, err)
	}
	p["load-files"] = `["/else/serve"]`
	_, err = w.Steps("load", p, setting())
	wantError(t, err, "load-files", "another file has the same name")
	p["load-files"] = "[]"
	p["probe"] = "none"
	if server, err := w.Steps(bench.SubjectPart, p, setting()); err != nil || server.Listen != 0 {
		t.Errorf("without a probe: %+v, %v", server, err)
	}
}

// An instance that no other machine reaches cannot serve.
func TestServedNeedsAnAddress(t *testing.T) {
	s := setting()
	delete(s.Addr, bench.SubjectPart)
	for _, w := range []bench.Workload{service{}, netserver{}} {
		for _, part := range append(w.Parts(), bench.SubjectPart) {
			_, err := w.Steps(part, fill(t, w, someParams(w)), s)
			if !errors.Is(err, bench.ErrUnavailable) || bench.HintOf(err) == "" {
				t.Errorf("%s of %s: %v", part, w.Name(), err)
			}
		}
	}
}

func TestServiceParse(t *testing.T) {
	w := service{}
	p := fill(t, w, bench.Params{"server": `["s"]`, "load": `["ask"]`, "port": "1",
		"metrics": `[{"name":"rate","unit":"calls/s","better":"higher","json":"rate"}]`})
	values, err := w.Parse(p, setting(), bench.Output{Stdout: []byte(`{"rate": 12.5}`), Wall: 2 * time.Second})
	if err != nil {
		t.Fatal(err)
	}
	checkValues(t, w, p, values)
	if value(t, values, "rate") != 12.5 || value(t, values, "wall") != 2 {
		t.Errorf("%v", values)
	}
	_, err = w.Parse(p, setting(), bench.Output{Exit: 1, Stderr: []byte("connection reset"), Wall: time.Second})
	wantError(t, err, "ask: exit status 1", "connection reset")
}
