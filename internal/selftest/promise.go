package selftest

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"

	"tare/internal/bench/figure"
	"tare/internal/result"
)

// A Promise is a number that the project promises. What of a sentence is known
// only where it is measured stands in braces.
type Promise struct {
	Part  Part
	Says  string  // with {limit}: "a container's clock is known within {limit}"
	Limit float64 // in Unit
	Unit  string
	How   string // it is measured
}

// Which promise it is, in the order in which they are shown.
const (
	Alike = iota
	EvenSides
	FindFive
	FindTen
	Unbiased
	ResultsKept
	Cheap
	ContainerClock
	ClockBound
	MachineClock
	ClockFit
	StepFound
	PartsSum
	HalfTime
	Sampling
	Lateness
	Density
	MachineDensity
	DensitySampling
	TrialRestLXC
	TrialRestDocker
	ReadyOutside
	ContainerShare
	MachineShare
	ByHand
	ApplicationByHand
	HalfPeers
	ReportTime
	ReportMemory
)

// Promises are all of them: those of tare selftest, then those of scripts/numbers.
var Promises = [...]Promise{
	Alike:          {PartAA, "of intervals between identical platforms at most {limit} exclude 1", 5, "%", "at least 200 comparisons of a platform with itself; margin left aside"},
	EvenSides:      {PartAA, "on neither side of 1 lie more than {limit} of them", 2.5, "%", "the side with more of them"},
	FindFive:       {PartInject, "a slowdown of 5 % is found within {blocks} blocks in at least {limit} of runs", 90, "%", "at least 36 runs with a slowdown put in"},
	FindTen:        {PartInject, "a slowdown of 10 % is found within {blocks} blocks always", 100, "%", "as many runs"},
	Unbiased:       {PartInject, "its mean ratio is off the truth by at most {limit}", 1, "%", "the row that is furthest off"},
	ResultsKept:    {PartCost, "a workload's result with meters on is within {limit} of that with meters off", 1, "%", "launches with and without, paired by block"},
	Cheap:          {PartCost, "observing at 1 Hz uses at most {limit} of the CPU time of pidstat 1 and docker stats", 20, "%", "all three watch the same containers at the same time"},
	ContainerClock: {PartClock, "a container's clock is known within {limit}", 1, "ms", "the bound of every launch"},
	ClockBound:     {PartClock, "where the true offset is known to be 0, the stated bound holds it", 100, "% of launches", "containers have the host's own clock"},
	MachineClock:   {PartClock, "a virtual machine's clock is known within {limit}", 5, "ms", "the bound of every launch"},
	ClockFit:       {PartClock, "no burst contradicts the fit of the launch's others", 0, "bursts", "each left out in turn"},
	StepFound:      {PartClock, "a step of {limit} is found wherever it falls", 1, "s", "put before each burst but the first"},
	PartsSum:       {PartSum, "guest, layer and rest sum to the host's CPU time within {limit}", 100 * result.BalanceLimit, "%", "each part apart, and the host's own counter"},
	HalfTime: {PartStop, "intervals within {width} in at most {limit} of the time of {design}", 50, "%",
		"the rule replayed over a run that was not stopped, median over the rows"},

	Sampling:        {PartObserve, "sampling at 1 Hz takes at most {limit} of a core: {level}", 0.2, "%", "30 s each of native, LXC and Docker with every CPU busy"},
	Lateness:        {PartObserve, "samples are late by at most {limit}, 99 of 100: {level}", 10, "ms", "the same runs"},
	Density:         {PartDensity, "{limit} run at once, launched, sampled and closed with nothing left: {platform}", 100, "containers", "a ramp of idle instances of runc, LXC and Docker"},
	MachineDensity:  {PartDensity, "{limit} run at once, launched, sampled and closed with nothing left: {platform}", 20, "machines", "a ramp of user-mode Linux"},
	DensitySampling: {PartDensity, "sampling all of them at 1 Hz takes at most {limit} of a core: {platform}", 0.5, "%", "all of Tare's process"},
	TrialRestLXC:    {PartProcedure, "a trial in LXC neither warms up, measures nor cools down for at most {limit}", 1, "s", "median of nine trials of sysbench"},
	TrialRestDocker: {PartProcedure, "a trial in Docker neither warms up, measures nor cools down for at most {limit}", 1.5, "s", "the same"},
	ReadyOutside:    {PartStartup, "`time_to_ready` is within {limit} of the same launch timed from outside: {platform}", 3, "%", "forty pairs in turn"},
	ContainerShare:  {PartShare, "Tare's own share of a container's start-up is at most {limit}: {platform}", 5, "ms", "by the trace of each launch, and by the difference to a start by hand"},
	MachineShare:    {PartShare, "Tare's own share of a virtual machine's start-up is at most {limit}: {platform}", 20, "ms", "the same"},
	ByHand:          {PartByHand, "results in Docker through Tare and by hand: {limit} apart lies within the interval: {workload}", 0, "%", "eight pairs of each workload"},
	ApplicationByHand: {PartApplications, "an application in Docker through Tare and by hand: {limit} apart lies within the interval: {workload}", 0, "%",
		"eight pairs of each"},
	HalfPeers: {PartRepeat, "a half width of {width} takes at most {limit} of the time of {way}", 50, "%",
		"the programs of quick in one run, the time by scatter and cost of the launches, median over the rows"},
	ReportTime:   {PartReport, "`tare report --format html` on 1,000,000 samples takes at most {limit}", 3, "s", "median of five reports"},
	ReportMemory: {PartReport, "`tare report --format html` on 1,000,000 samples takes at most {limit} of memory", 500, "MB", "highest resident set of the five"},
}

// Claim says the promise, with what of it is known now: names and words in turns.
func (p Promise) Claim(known ...string) string {
	limit := strings.TrimSpace(fmt.Sprintf("%g %s", p.Limit, p.Unit))
	return strings.NewReplacer(append([]string{"{limit}", limit}, braced(known)...)...).Replace(p.Says)
}

func braced(known []string) []string {
	for i := 0; i < len(known); i += 2 {
		known[i] = "{" + known[i] + "}"
	}
	return known
}

// share is a limit in percent as a share.
func (p Promise) share() float64 { return p.Limit / 100 }

// A Measured claim has its number.
type Measured struct {
	Part Part `json:"part"`
	Claim
	Value float64 `json:"value"`
	Unit  string  `json:"unit"`
	// Interval holds the true value with 95 % confidence; absent if none was worked out.
	Interval []float64 `json:"interval,omitempty"`
	How      string    `json:"how"`
}

// Measure is a claim that holds if ok.
func (p Promise) Measure(ok bool, value float64, interval []float64, how string, known ...string) Measured {
	m := Measured{Part: p.Part, Claim: Claim{Claim: p.Claim(known...), Held: No}, Value: value, Unit: p.Unit, Interval: interval, How: how}
	if ok {
		m.Held = Yes
	}
	m.Found = strings.TrimSpace(figure.Digits(value, 3) + " " + p.Unit)
	if len(interval) == 2 {
		m.Found += fmt.Sprintf(" (%s to %s)", figure.Digits(interval[0], 4), figure.Digits(interval[1], 4))
	}
	return m
}

// AtMost is a claim that holds if the value is no more than the limit.
func (p Promise) AtMost(value float64, how string, known ...string) Measured {
	return p.Measure(value <= p.Limit, value, nil, how, known...)
}

// WriteMeasured writes claims as a table or as JSON.
func WriteMeasured(w io.Writer, all []Measured, asJSON bool) error {
	if asJSON {
		e := json.NewEncoder(w)
		e.SetIndent("", "  ")
		return e.Encode(all)
	}
	var rows [][]string
	for _, m := range all {
		rows = append(rows, []string{string(m.Part), m.Claim.Claim, m.Found, string(m.Held), m.How})
	}
	return WriteTable(w, append(claimHead, "how"), rows)
}

// claimHead is over a table of claims.
var claimHead = []string{"part", "claim", "found", "holds"}

// WriteClaims writes what each part promises and what was found.
func WriteClaims(w io.Writer, findings ...*Finding) error {
	var rows [][]string
	for _, f := range findings {
		for _, c := range f.Claims {
			rows = append(rows, []string{string(f.Part), c.Claim, c.Found, string(c.Held)})
		}
	}
	return WriteTable(w, claimHead, rows)
}

// WriteTable writes rows in columns.
func WriteTable(w io.Writer, head []string, rows [][]string) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, strings.ToUpper(strings.Join(head, "\t")))
	for _, row := range rows {
		fmt.Fprintln(t, strings.Join(row, "\t"))
	}
	return t.Flush()
}

// Exit statuses of claims, those of tare.
const (
	ExitOpen   = 2 // one is open and none is broken
	ExitBroken = 4 // one does not hold here
)

// Status is the exit status that claims deserve, 0 if all hold, and an error that says which do not.
func Status(claims []Claim) (status int, broken error) {
	var not []string
	for _, c := range claims {
		switch c.Held {
		case No:
			not = append(not, c.Claim+", but found "+c.Found)
		case Open:
			status = ExitOpen
		}
	}
	if len(not) > 0 {
		return ExitBroken, errors.New(strings.Join(not, "; "))
	}
	return status, nil
}
