package run

import (
	"fmt"
	"net/netip"
	"strings"
	"testing"
	"time"

	"tare/internal/bench"
	"tare/internal/platform/fake"
)

// gang is a workload of a cluster, whose members say which they are.
type gang struct{ counter }

func (gang) Parts() []string { return []string{"worker"} }
func (gang) Members() string { return "worker" }

func (gang) Steps(part string, p bench.Params, s bench.Setting) (bench.Part, error) {
	script := p[part]
	if part == "worker" {
		script = fmt.Sprintf("member=%d; echo %d of %d at %v and %v; %s", s.Member, s.Member, len(s.Members), s.Addr["worker"], s.Addr[bench.SubjectPart], script)
	}
	return bench.Part{Main: bench.Command{Argv: []string{"sh", "-c", script}, Timeout: time.Minute}, Service: part == "worker"}, nil
}

// gangScene has a cluster with members.
func gangScene(members int, main, worker string) bench.Scene {
	as := subjects(1, bench.Params{bench.SubjectPart: main, "worker": worker})
	for i := range members {
		m := as[0]
		m.Name, m.Role, m.Part, m.Serves = fmt.Sprintf("member-%d", i), bench.Member, "worker", as[0].Name
		as = append(as, m)
	}
	s := scene("gang", as)
	s.Kind = bench.Cluster
	return s
}

// Members know how many they are, which they are and where the subject is. They run before it begins,
// and what it prints is the one result.
func TestAClusterHasOneResult(t *testing.T) {
	r, s := newRunner(t, gang{}, fake.Options{}, gangScene(3, "sleep 0.2; echo 7", "exec sleep 60"))
	if err := r.Run(t.Context(), nil); err != nil {
		t.Fatal(err)
	}
	o := s.outcomes[0]
	if o.Status != bench.Done || len(o.Values) != 1 || o.Values[0].Value != 7 || len(o.Actors) != 4 {
		t.Fatalf("%s: %s: values %v", o.Status, o.Error, o.Values)
	}
	for i, a := range o.Actors[1:] {
		if want := fmt.Sprintf("echo %d of 3 at 127.0.0.1 and 127.0.0.1", i); a.Role != bench.Member || !strings.Contains(strings.Join(a.Command, " "), want) {
			t.Errorf("%s %s: %q lacks %q", a.Role, a.Actor, a.Command, want)
		}
		if len(a.Values) > 0 || a.Output != nil || a.Facts == nil || a.Scope == nil {
			t.Errorf("%s: values %v, output %v, facts %v, scope %v", a.Actor, a.Values, a.Output, a.Facts, a.Scope)
		}
	}
}

func TestWhatMembersAreTold(t *testing.T) {
	c := cast{{Actor: bench.Actor{Name: "head", Role: bench.Subject}}}
	for i, serves := range []string{"head", "head", "other"} {
		c = append(c, &actor{Actor: bench.Actor{Name: fmt.Sprint("m", i), Role: bench.Member, Serves: serves, Part: "worker"}, addr: netip.AddrFrom4([4]byte{10, 0, 0, byte(i)})})
	}
	c = append(c, &actor{Actor: bench.Actor{Name: "p", Role: bench.Peer, Serves: "head", Part: "load"}})
	j := &jobs{actors: c}
	if s := j.setting(c[0]); fmt.Sprint(s.Members) != "[10.0.0.0 10.0.0.1]" {
		t.Errorf("the head's members: %v", s.Members)
	}
	if s := j.setting(c[1]); s.Member != 0 || s.Addr["worker"] != c[1].addr || len(s.Members) != 2 {
		t.Errorf("the first member: %+v", s)
	}
	if s := j.setting(c[2]); s.Member != 1 || s.Addr["worker"] != c[2].addr {
		t.Errorf("the second member: %+v", s)
	}
	if s := j.setting(c[4]); len(s.Members) != 2 {
		t.Errorf("the peer: %+v", s)
	}
}

// A member that cannot do its share ends the trial with its own words.
func TestAMemberThatEnds(t *testing.T) {
	for _, c := range []struct{ name, main, worker, want string }{
		{"dies in the middle", "sleep 30; echo 7", `test $member = 0 && exec sleep 60; sleep 0.3; echo lost my disk >&2; exit 4`, `in member-1 ended`},
		{"says why", "sleep 30; echo 7", "sleep 0.3; echo lost my disk >&2; exit 4", `exit status 4: "lost my disk"`},
		{"is killed", "sleep 30; echo 7", "sleep 0.3; kill -9 $$", "killed"},
		{"the job notices first", "sleep 0.3; echo executor lost >&2; exit 1", "sleep 0.3; echo boom >&2; exit 1", `"boom"`},
		{"the job fails alone", "echo wrong sum >&2; exit 3", "exec sleep 60", `exit status 3: "wrong sum"`},
	} {
		t.Run(c.name, func(t *testing.T) {
			r, s := newRunner(t, gang{}, fake.Options{}, gangScene(2, c.main, c.worker))
			began := time.Now()
			if err := r.Run(t.Context(), nil); err != nil {
				t.Fatal(err)
			}
			o := s.outcomes[0]
			if o.Status != bench.Failed || !strings.Contains(o.Error, c.want) || len(o.Values) > 0 || time.Since(began) > 20*time.Second {
				t.Errorf("%s after %v: %q, values %v; want %q", o.Status, time.Since(began), o.Error, o.Values, c.want)
			}
		})
	}
}

// One member that does not come up is a trial that failed, and the others are closed.
func TestAMemberThatIsNotLaunched(t *testing.T) {
	fault := func(l bench.Launch) fake.Fault {
		if strings.HasSuffix(l.ID, "-2") {
			return fake.Fault{Start: bench.ErrUnavailable}
		}
		return fake.Fault{}
	}
	r, s := newRunner(t, gang{}, fake.Options{Fault: fault}, gangScene(2, "echo 7", "exec sleep 60"))
	if err := r.Run(t.Context(), nil); err != nil {
		t.Fatal(err)
	}
	if o := s.outcomes[0]; o.Status != bench.Failed || !strings.Contains(o.Error, "launch member-1 on fake") {
		t.Errorf("%s: %q", o.Status, o.Error)
	}
}
