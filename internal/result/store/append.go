package store

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"tare/internal/bench"
)

// Append stores a trial: first its samples and outputs, then its line in
// trials.jsonl; when it returns nil all of it is on disk. Outputs are by file
// name, such as "subject.stdout".
//
// When it fails, for example because the disk is full, nothing of the trial
// is left behind, what was stored before is untouched, and Append may be
// called again. A trial that has a final outcome is refused; an aborted one
// may be stored again, and so may one that other work disturbed, as often as the
// plan says: the files of the launch before are set aside then. Give a context that is not cancelled to keep a trial
// that ended because the run was interrupted.
func (r *Run) Append(ctx context.Context, o *bench.Outcome, samples []bench.Sample, outputs map[string][]byte) error {
	fail := func(err error) error {
		return fmt.Errorf("store trial %s: %w", o.Trial, diskError(err))
	}
	switch {
	case r.trials == nil:
		return fail(errors.New("the run is not open for writing"))
	case !r.known[o.Trial]:
		return fail(errors.New("it is not in the plan"))
	case r.done[o.Trial]:
		return fail(errors.New("it is stored already"))
	}
	if err := r.boundOutcome(o); err != nil { // it could not be read again
		return fail(err)
	}
	if o.Repeat > 0 && !o.Status.Final() { // the launch before counts, and keeps its files
		if err := r.writeLine(o); err != nil {
			return fail(err)
		}
		return nil
	}
	err := r.setAside(o.Trial, o.Repeat)
	if err == nil {
		err = r.writeSamples(o.Trial, samples)
	}
	if err == nil {
		err = r.writeOutputs(o.Trial, outputs)
	}
	if err == nil {
		err = ctx.Err()
	}
	if err == nil {
		err = r.writeLine(o)
	}
	if err != nil {
		return fail(errors.Join(err, r.discard(o.Trial), r.putBack(o.Trial, o.Repeat)))
	}
	r.done[o.Trial] = r.plan.Settled(o)
	return nil
}

// samplesName is a trial's file in the folder of samples.
func samplesName(trial string) string { return trial + ".jsonl" }

func (r *Run) writeSamples(trial string, samples []bench.Sample) error {
	check, err := r.boundSamples(trial)
	if err != nil {
		return err
	}
	for i := range samples {
		if err := check(&samples[i]); err != nil {
			return fmt.Errorf("sample %d: %w", i+1, err)
		}
	}
	text, err := encodeSamples(samples)
	if err != nil {
		return err
	}
	if err := r.weight.add(samplesDir+"/"+samplesName(trial), int64(len(text))); err != nil {
		return err
	}
	d, err := r.folder.in(samplesDir)
	if err != nil {
		return err
	}
	defer d.close()
	if err := d.write(samplesName(trial), text); err != nil {
		return err
	}
	return d.sync()
}

func encodeSamples(samples []bench.Sample) ([]byte, error) {
	var e encoder
	text := make([]byte, 0, 512*len(samples))
	var err error
	for i := range samples {
		if text, err = e.append(text, &samples[i]); err != nil {
			return nil, fmt.Errorf("sample %d: %w", i+1, err)
		}
		text = append(text, '\n')
	}
	return text, nil
}

func (r *Run) writeOutputs(trial string, outputs map[string][]byte) error {
	if len(outputs) == 0 {
		return nil
	}
	all, err := r.folder.in(outputDir)
	if err != nil {
		return err
	}
	defer all.close()
	of, err := all.make(trial)
	if err != nil {
		return err
	}
	defer of.close()
	for name, data := range outputs {
		if err := of.write(name, data); err != nil {
			return err
		}
	}
	if err := of.sync(); err != nil {
		return err
	}
	return all.sync()
}

// writeLine adds the outcome's line at r.end. Anything beyond r.end is the
// rest of a line that failed earlier, and is cut off first.
func (r *Run) writeLine(o *bench.Outcome) error {
	line, err := json.Marshal(o)
	if err != nil {
		return fmt.Errorf("encode outcome: %w", err)
	}
	if len(line) > maxLine {
		return fmt.Errorf("an outcome of %v: at most %v", bench.Bytes(len(line)), bench.Bytes(maxLine))
	}
	line = append(line, '\n')
	if err := r.weight.add(trialsFile, r.end+int64(len(line))); err != nil {
		return err
	}
	if err := r.trials.Truncate(r.end); err != nil {
		return r.folder.named(trialsFile, err)
	}
	_, err = r.trials.WriteAt(line, r.end)
	if err == nil {
		err = r.trials.Sync()
	}
	if err != nil {
		return errors.Join(r.folder.named(trialsFile, err), r.trials.Truncate(r.end))
	}
	r.end += int64(len(line))
	return nil
}

// aside names the files of a trial's launch that was repeated, of which this is the number of the repeat.
func aside(trial string, repeat int) string { return fmt.Sprintf("%s.launch-%d", trial, repeat) }

// setAside gives the files of a trial's last launch another name before it is repeated: the samples
// last, by which it is known to be done ([Run.isAside]).
func (r *Run) setAside(trial string, repeat int) error {
	if repeat == 0 {
		return nil
	}
	if err := r.rename(outputDir, trial, aside(trial, repeat)); err != nil {
		return err
	}
	return r.rename(samplesDir, samplesName(trial), samplesName(aside(trial, repeat)))
}

// putBack gives them their own names again, where the repeat was not stored.
func (r *Run) putBack(trial string, repeat int) error {
	if repeat == 0 {
		return nil
	}
	if err := r.rename(samplesDir, samplesName(aside(trial, repeat)), samplesName(trial)); err != nil {
		return err
	}
	return r.rename(outputDir, aside(trial, repeat), trial)
}

// rename renames what is in a folder of the run's, if it is there.
func (r *Run) rename(dir, from, to string) error {
	in, err := r.folder.in(dir)
	if err != nil {
		return err
	}
	return errors.Join(in.rename(from, to), in.close())
}

// discard removes the files of a trial that has no final outcome.
func (r *Run) discard(trial string) error {
	samples, err := r.folder.in(samplesDir)
	if err != nil {
		return err
	}
	defer samples.close()
	outputs, err := r.folder.in(outputDir)
	if err != nil {
		return err
	}
	defer outputs.close()
	return errors.Join(samples.remove(samplesName(trial)), outputs.removeDir(trial))
}
