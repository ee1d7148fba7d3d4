package workload

import (
	"bytes"
	"fmt"
	"math"
	"strings"
	"time"

	"tare/internal/bench"
)

// fio writes how many requests it finished per second in each step to a log, from a thread that
// sums up and not at every request, once the jobs have ended. The log is a link to its standard
// output, where the lines stand before the report.
const (
	fioLog     = bench.ScratchDir + "/series"
	fioLogFile = fioLog + "_iops.log"
)

// fioLogOptions make fio write the log.
func fioLogOptions(measure time.Duration) []string {
	return []string{"--write_iops_log=" + fioLog, "--per_job_logs=0", "--log_avg_msec=" + fmt.Sprint(seriesStep(measure).Milliseconds())}
}

// fioLink is the command that makes the log a link.
func fioLink() bench.Command {
	return bench.Command{Argv: []string{"ln", "-sf", "/dev/stdout", fioLogFile}, Timeout: slack}
}

// Series is how many requests, of all jobs, were finished per second. A fio that could not write its
// log has none.
func (w fio) Series(p bench.Params, s bench.Setting, out bench.Output) ([]bench.Series, error) {
	step := seriesStep(s.Timing.Measure)
	log := fioSpells{step: step.Seconds(), length: s.Timing.Measure.Seconds(), last: map[string]int{}}
	head, _, _ := bytes.Cut(out.Stdout, []byte("{"))
	for line := range bytes.Lines(head) {
		if err := log.add(strings.TrimSpace(string(line))); err != nil {
			return nil, fmt.Errorf("fio: log: line %q: %w", line, err)
		}
	}
	for direction := range log.last {
		log.end(direction)
	}
	return seriesOf("iops", log.all, step, s.Timing.Measure)
}

// fioSpells are the lines of fio's log.
type fioSpells struct {
	step, length float64
	all          []spell
	last         map[string]int // of the job that is read, by direction
}

// add reads a line such as "100, 5100, 0, 0, 0": milliseconds since the window opened, requests per
// second since fio's thread looked before, the direction. A time that is not later begins the next job.
func (s *fioSpells) add(line string) error {
	fields := strings.Split(line, ", ")
	if len(fields) < 5 {
		return nil // a note
	}
	ms, err := number(fields[0])
	if err != nil {
		return err
	}
	rate, err := number(fields[1])
	if err != nil {
		return err
	}
	to, direction, from := ms/1e3, fields[2], 0.0
	if i, ok := s.last[direction]; ok && s.all[i].to < to {
		from = s.all[i].to
	} else if ok {
		s.end(direction)
	}
	// Where nothing was finished the thread looks and writes no line, which makes the gap a multiple
	// of a step. Otherwise it looked late.
	if gap := to - from; gap > 1.5*s.step && math.Abs(gap-s.step*math.Round(gap/s.step)) < s.step/8 || gap > 4*s.step {
		from = to - s.step
	}
	if to > from {
		s.last[direction] = len(s.all)
		s.all = append(s.all, spell{from, to, rate})
	}
	return nil
}

// end lets the direction's last rate hold to the end of the window, if that is nearer than a step.
func (s *fioSpells) end(direction string) {
	if x := &s.all[s.last[direction]]; x.to < s.length && s.length-x.to < s.step {
		x.to = s.length
	}
}
