package run

import (
	"strings"
	"testing"
	"time"

	"tare/internal/bench"
	"tare/internal/platform/fake"
)

// served is a workload whose subject is a service, and whose load prints the number.
type served struct{ counter }

func (served) Parts() []string { return []string{"load"} }

func (served) Steps(part string, p bench.Params, _ bench.Setting) (bench.Part, error) {
	return bench.Part{Main: bench.Command{Argv: []string{"sh", "-c", p[part]}, Timeout: time.Minute},
		Service: part == bench.SubjectPart, Polls: part != bench.SubjectPart}, nil
}

// servedScene has a role that serves, with its load.
func servedScene(id string, role bench.Role, server, load string) bench.Scene {
	as := subjects(1, bench.Params{bench.SubjectPart: server, "load": load})
	as[0].Role = role
	peer := as[0]
	peer.Name, peer.Role, peer.Part, peer.Serves = "peer", bench.Peer, "load", as[0].Name
	return scene(id, append(as, peer))
}

// What the load prints is the subject's value; what it is to the subject is kept with the load.
func TestTheLoadsOutputIsTheSubjectsValue(t *testing.T) {
	r, s := newRunner(t, served{}, fake.Options{}, servedScene("serve", bench.Subject, "echo ready; sleep 60", "sleep 0.2; echo 7"))
	if err := r.Run(t.Context(), nil); err != nil {
		t.Fatal(err)
	}
	o := s.outcomes[0]
	if o.Status != bench.Done || len(o.Values) != 1 || o.Values[0].Value != 7 {
		t.Fatalf("%s: %s: values %v", o.Status, o.Error, o.Values)
	}
	server, load := o.Actors[0], o.Actors[1]
	if !load.Polls || len(server.Values) != 1 || server.Output != nil || len(load.Values) > 0 || load.Output == nil {
		t.Errorf("server: values %v, output %v; load: values %v, output %v", server.Values, server.Output, load.Values, load.Output)
	}
	if !strings.Contains(strings.Join(server.Command, " "), "echo ready") || !strings.Contains(strings.Join(load.Command, " "), "echo 7") {
		t.Errorf("commands %v and %v", server.Command, load.Command)
	}
	if width := time.Duration(o.Window[1] - o.Window[0]); width < 200*time.Millisecond || width > 30*time.Second {
		t.Errorf("window of %v around a load of 200 ms", width)
	}
}

// A service that ends before its load fails the trial, with its own last words, whichever is noticed first.
func TestAServiceThatEnds(t *testing.T) {
	for _, c := range []struct{ name, server, load, want, hint string }{
		{"dies", "sleep 0.3; echo no more memory >&2; exit 3", "sleep 30; echo 7", "exit status 3: \"no more memory\"", ""},
		{"killed", "sleep 0.3; kill -9 $$", "sleep 30; echo 7", "killed", ""},
		{"its client fails first", "sleep 0.3; echo boom >&2; exit 1", "sleep 0.3; echo refused >&2; exit 2", "\"boom\"", ""},
		{"goes to the background", "sleep 60 >/dev/null 2>&1 & exit 0", "sleep 30; echo 7", "exit status 0", "foreground"},
	} {
		t.Run(c.name, func(t *testing.T) {
			r, s := newRunner(t, served{}, fake.Options{}, servedScene("serve", bench.Subject, c.server, c.load))
			began := time.Now()
			if err := r.Run(t.Context(), nil); err != nil {
				t.Fatal(err)
			}
			o := s.outcomes[0]
			if o.Status != bench.Failed || !strings.Contains(o.Error, c.want) || !strings.Contains(o.Error, "subject-0") || !strings.Contains(o.Hint, c.hint) {
				t.Errorf("%s: %q, hint %q; want %q and %q", o.Status, o.Error, o.Hint, c.want, c.hint)
			}
			if len(o.Values) > 0 || time.Since(began) > 20*time.Second {
				t.Errorf("values %v after %v", o.Values, time.Since(began))
			}
		})
	}
}

// A neighbour that serves is loaded again and again while the subject is measured.
func TestANeighbourThatServesIsLoaded(t *testing.T) {
	sc := scene("beside", subjects(1, bench.Params{"script": "sleep 0.5; echo 7"}))
	beside := servedScene("", bench.Neighbour, "sleep 60", "sleep 0.05").Actors
	beside[0].Name, beside[1].Serves = "neighbour", "neighbour"
	beside[0].Workload, beside[1].Workload = "served", "served"
	sc.Actors, sc.Kind = append(sc.Actors, beside...), bench.Beside
	r, s := newRunner(t, counter{}, fake.Options{}, sc)
	r.Workloads["served"] = served{}
	if err := r.Run(t.Context(), nil); err != nil {
		t.Fatal(err)
	}
	o := s.outcomes[0]
	if o.Status != bench.Done || len(o.Actors) != 3 || o.Actors[1].Ended != "" || o.Actors[2].Ended != "" {
		t.Fatalf("%s: %s: %+v", o.Status, o.Error, o.Actors)
	}
	if got := strings.Join(o.Actors[2].Command, " "); !strings.Contains(got, "sleep 0.05") {
		t.Errorf("the load's command is %q", got)
	}
}

// listening is a served workload whose server says on which port, if it is given its address.
type listening struct{ served }

func (w listening) Steps(part string, p bench.Params, s bench.Setting) (bench.Part, error) {
	steps, err := w.served.Steps(part, p, s)
	if !s.Addr[bench.SubjectPart].IsValid() {
		return steps, bench.ErrUnavailable
	}
	if steps.Service {
		steps.Listen = 6379
	}
	return steps, err
}

// A launch is told the port of its server if its platform is to publish it.
func TestThePortOfAServerIsToBePublished(t *testing.T) {
	for options, want := range map[string]int{"": 0, "no": 0, "yes": 6379} {
		asked := map[string]int{}
		sc := servedScene("serve", bench.Subject, "sleep 60", "echo 7")
		sc.Actors[0].Platform.Options = map[string]string{bench.PublishOption: options}
		fault := func(l bench.Launch) fake.Fault {
			asked[l.ID] = l.Publish
			return fake.Fault{}
		}
		r, _ := newRunner(t, listening{}, fake.Options{Fault: fault}, sc)
		if err := r.Run(t.Context(), nil); err != nil {
			t.Fatal(err)
		}
		if len(asked) != 2 || asked["test-b01-t01-0"] != want || asked["test-b01-t01-1"] != 0 {
			t.Errorf("%q: %v, want %d of the server", options, asked, want)
		}
	}
}
