// Package store keeps a run on disk: one folder, append-only, each trial
// durable before the next begins. Every file is described in docs/FORMAT.md.
//
//	DIR/run.json              Header; written last, so a folder without it is no run
//	DIR/spec.yaml             the specification as it was given
//	DIR/plan.json             bench.Plan
//	DIR/host.json             host.Facts
//	DIR/trials.jsonl          a bench.Outcome per line
//	DIR/samples/TRIAL.jsonl   a bench.Sample per line
//	DIR/output/TRIAL/NAME     what the programs printed
//
// A trial's samples and output are on disk before its line in trials.jsonl
// is, and that line is what makes the trial finished.
package store
