package powertest

import (
	"encoding/pem"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
)

// Redfish is a service whose documents have the form of DMTF's mock-up of a
// rack-mounted server (DSP2043, public-rackmount1), over TLS with a certificate
// of its own.
type Redfish struct {
	Address string
	CA      string // file of the certificate
	body    atomic.Pointer[string]
	hang    atomic.Bool
	free    chan struct{}
}

const (
	chassisDocument = `{"@odata.type":"#ChassisCollection.ChassisCollection","Name":"Chassis Collection","Members@odata.count":1,
"Members":[{"@odata.id":"/redfish/v1/Chassis/1U"}],"@odata.id":"/redfish/v1/Chassis"}`
	powerDocument = `{"@odata.type":"#Power.v1_7_1.Power","Id":"Power","Name":"Power","PowerControl":[
{"@odata.id":"/redfish/v1/Chassis/1U/Power#/PowerControl/0","MemberId":"0","Name":"System Input Power","PowerConsumedWatts":%d,
"PowerRequestedWatts":1500,"PowerAvailableWatts":0,"PowerCapacityWatts":1000,"PowerAllocatedWatts":1000,
"PowerMetrics":{"IntervalInMin":30,"MinConsumedWatts":271,"MaxConsumedWatts":489,"AverageConsumedWatts":319},
"RelatedItem":[{"@odata.id":"/redfish/v1/Systems/437XR1138R2"}],"Status":{"State":"Enabled","Health":"OK"}}],
"@odata.id":"/redfish/v1/Chassis/1U/Power"}`
)

// StartRedfish runs a service.
func StartRedfish(t *testing.T, s *Script) *Redfish {
	t.Helper()
	r := &Redfish{free: make(chan struct{})}
	mux := http.NewServeMux()
	answer := func(body func() string) http.HandlerFunc {
		return func(w http.ResponseWriter, q *http.Request) {
			if user, word, ok := q.BasicAuth(); !ok || user != BMCUser || word != BMCWord {
				w.Header().Set("WWW-Authenticate", `Basic realm="Redfish"`)
				http.Error(w, `{"error":{"code":"Base.1.8.NoValidSession"}}`, http.StatusUnauthorized)
				return
			}
			if r.hang.Load() {
				select {
				case <-r.free:
				case <-q.Context().Done():
				}
				return
			}
			w.Header().Set("Content-Type", "application/json")
			fmt.Fprint(w, body())
		}
	}
	mux.HandleFunc("/redfish/v1/Chassis", answer(func() string { return chassisDocument }))
	mux.HandleFunc("/redfish/v1/Chassis/1U/Power", answer(func() string {
		if b := r.body.Load(); b != nil {
			return *b
		}
		return fmt.Sprintf(powerDocument, s.now())
	}))
	server := httptest.NewTLSServer(mux)
	t.Cleanup(func() {
		close(r.free)
		server.CloseClientConnections()
		server.Close()
	})
	r.Address = strings.TrimPrefix(server.URL, "https://")
	r.CA = filepath.Join(t.TempDir(), "ca.pem")
	if err := os.WriteFile(r.CA, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw}), 0o644); err != nil {
		t.Fatal(err)
	}
	return r
}

// Say gives the power document another content, whatever the script says.
func (r *Redfish) Say(body string) { r.body.Store(&body) }

// Stop keeps it from answering.
func (r *Redfish) Stop() { r.hang.Store(true) }
