package store_test

import (
	"context"
	"fmt"
	"log"
	"os"
	"path/filepath"

	"tare/internal/bench"
	"tare/internal/host"
	"tare/internal/result/store"
)

// A trial is finished once Append has returned. Anybody can read the folder
// meanwhile.
func Example() {
	top, err := os.MkdirTemp("", "tare-example-")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(top)
	dir := filepath.Join(top, "results")
	p := &bench.Plan{Blocks: 1,
		Scenes: []bench.Scene{{ID: "cpu/native", Kind: bench.One, Case: "cpu"}},
		Trials: []bench.Trial{{ID: "b01-t1", Block: 1, Scene: "cpu/native"}},
	}
	w, err := store.Create(dir, store.Header{Run: "first"}, nil, p, &host.Facts{})
	if err != nil {
		log.Fatal(err)
	}
	defer w.Close()
	o := &bench.Outcome{Trial: "b01-t1", Block: 1, Scene: "cpu/native", Status: bench.Done,
		Values: []bench.Value{{Metric: "throughput", Value: 1182}}}
	if err := w.Append(context.Background(), o, nil, nil); err != nil {
		log.Fatal(err)
	}
	r, err := store.Open(dir)
	if err != nil {
		log.Fatal(err)
	}
	defer r.Close()
	for o, err := range r.Outcomes() {
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println(o.Trial, o.Status, o.Values[0].Metric, o.Values[0].Value)
	}
	// Output:
	// b01-t1 done throughput 1182
}
