package papers

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"tare/internal/bench/figure"
)

// Claim is a statement of a paper, as a test of what was measured.
//
// What is tested is one positive number Q for each block, from the values v of a metric:
//
//	of                       v(of, in)
//	of, to                   v(of, in) / v(to, in)
//	of, against              v(of, in) / v(of, against)
//	of, to, against          the second for of, by the same for to
//	along a factor           exp of the slope of log Q over log of the factor's level
//
// The claim holds if the interval of Q's mean over blocks lies wholly where [Claim.Is] says, and does
// not if it lies wholly elsewhere.
type Claim struct {
	// Says is the claim in a sentence of ours.
	Says string `yaml:"says"`
	// Of and To are platforms by the paper's names. "each" are all of the exhibit's but To; "others"
	// all but Of.
	Of Words `yaml:"of"`
	To Words `yaml:"to"`
	// In and Against are cases, or scenes for all of their levels. Against is one, or as many as In.
	In      Words `yaml:"in"`
	Against Words `yaml:"against"`
	// Metric is a metric's name: the workload's, cpu_used, cpu_overhead, memory_used, power, or one of
	// [Special].
	Metric string `yaml:"metric"`
	// For says of several combinations whether all, any, or the geometric mean of them is meant; "" is
	// all.
	For string `yaml:"for"`
	// Along is a factor with numbers for levels, or several of which each case of In has one.
	Along Words `yaml:"along"`
	Is    Is    `yaml:"is"`
	// Than is what Q is below or above; 0 is 1.
	Than float64 `yaml:"than"`
	// Within is by what factor Q may differ from Than where it is equal; 0 is the run's margin.
	Within float64 `yaml:"within"`
	// Size are the published Q, or its least and its most. It is judged apart from Is: as large if
	// within half of the effect.
	Size Numbers `yaml:"size"`
	// None says why no test of it is possible, or that one would mean nothing here.
	None string `yaml:"none"`
	// Void says what makes the measurement say nothing about it: there is a test, and it is not asked.
	Void string `yaml:"void"`
	// But says in what the test is not quite the sentence, for the reader; it is asked.
	But string `yaml:"but"`
}

// Is says where Q has to lie.
type Is string

const (
	Below     Is = "below"
	Above     Is = "above"
	Equal     Is = "equal"
	Unequal   Is = "unequal"   // differs to either side
	Rises     Is = "rises"     // along a factor
	Falls     Is = "falls"     // along a factor
	Flat      Is = "flat"      // along a factor: within a tenth for each doubling
	Sublinear Is = "sublinear" // along a factor: rises, and less than in proportion
)

// The quantifiers of [Claim.For].
const (
	ForAll  = "all"
	ForAny  = "any"
	ForMean = "mean"
)

// Special are metrics that no workload has.
const (
	Unfinished = "unfinished"          // the share of launches that did not finish; of alone
	Knee       = "knee"                // the level at which a curve bends; in is a scene
	Peak       = "peak"                // the highest rate that is held; in is a scene
	PSS        = "memory_per_instance" // how memory grows with each instance of a ramp
	Apart      = "apart"               // by how much the least of alike subjects differs from the most
	CPUApart   = "cpu_apart"           // the same of their CPU, with the layer that serves each
)

// The CPU of a launch's subjects and of the layer that serves them apart, which cpu_used and cpu_overhead
// give together.
const (
	GuestCPU = "cpu_guest"
	LayerCPU = "cpu_layer"
)

// PowerAboveRest is the power of a launch less that at rest around its block.
const PowerAboveRest = "power_above_rest"

// Special lists them.
var Special = []string{Unfinished, Knee, Peak, PSS, Apart, CPUApart, GuestCPU, LayerCPU, PowerAboveRest}

const (
	each   = "each"
	others = "others"
)

// Words are one word or a list of them.
type Words []string

// UnmarshalYAML reads either.
func (w *Words) UnmarshalYAML(unmarshal func(any) error) error {
	var one string
	if err := unmarshal(&one); err == nil {
		*w = Words{one}
		return nil
	}
	return unmarshal((*[]string)(w))
}

// Numbers are one number or a list of them.
type Numbers []float64

// UnmarshalYAML reads either.
func (n *Numbers) UnmarshalYAML(unmarshal func(any) error) error {
	var one float64
	if err := unmarshal(&one); err == nil {
		*n = Numbers{one}
		return nil
	}
	return unmarshal((*[]float64)(n))
}

// Threshold is what Q is set against.
func (c *Claim) Threshold() float64 {
	if c.Than == 0 {
		return 1
	}
	return c.Than
}

// Slope says whether the claim is about a slope.
func (c *Claim) Slope() bool { return slices.Contains([]Is{Rises, Falls, Flat, Sublinear}, c.Is) }

// flat is the slope of logarithms below which a curve is flat: a tenth for each doubling.
var flat = math.Log(1.1) / math.Log(2)

// Bounds are those between which log Q has to lie, with margin for what is equal; infinite where
// there is none.
func (c *Claim) Bounds(margin float64) (low, high float64) {
	at := math.Log(c.Threshold())
	switch c.Is {
	case Below:
		return math.Inf(-1), at
	case Above:
		return at, math.Inf(1)
	case Rises:
		return 0, math.Inf(1)
	case Falls:
		return math.Inf(-1), 0
	case Flat:
		return -flat, flat
	case Sublinear:
		return 0, 1
	}
	w := math.Log1p(margin)
	if c.Within > 0 {
		w = math.Log(c.Within)
	}
	return at - w, at + w
}

// SizeBounds are those between which log Q is as large as published: half of the effect to either
// side, and at least the margin. ok is false if no size is published.
func (c *Claim) SizeBounds(margin float64) (low, high float64, ok bool) {
	if len(c.Size) == 0 {
		return 0, 0, false
	}
	least, most := math.Log(slices.Min(c.Size)), math.Log(slices.Max(c.Size))
	around := func(x float64) float64 { return max(math.Abs(x)/2, math.Log1p(margin)) }
	return least - around(least), most + around(most), true
}

// Pairs are the platforms that the claim is about, by the paper's names: of each, to each; to is ""
// without. They are of the exhibit's platforms.
func (c *Claim) Pairs(platforms []string) (pairs [][2]string) {
	of := c.Of
	if len(of) == 1 && of[0] == each {
		of = platforms
	}
	for _, a := range of {
		to := []string(c.To)
		switch {
		case len(to) == 0:
			to = []string{""}
		case to[0] == others:
			to = platforms
		}
		for _, b := range to {
			if a != b && !slices.Contains(pairs, [2]string{b, a}) {
				pairs = append(pairs, [2]string{a, b})
			}
		}
	}
	return pairs
}

// OfItself says whether the claim asks something of a paper's platform that no other takes part in.
func (c *Claim) OfItself(platform string) bool {
	return len(c.To) == 0 && c.None == "" && c.Void == "" && (slices.Contains(c.Of, platform) || slices.Contains(c.Of, each))
}

// Test says in short what is tested: "kvm/native in memory, triad: below 1".
func (c *Claim) Test() string {
	if c.None != "" {
		return "none: " + c.None
	}
	text := strings.Join(c.Of, ", ")
	if len(c.To) > 0 {
		text += " / " + strings.Join(c.To, ", ")
	}
	text += " in " + strings.Join(c.In, ", ")
	if len(c.Against) > 0 {
		text += " / " + strings.Join(c.Against, ", ")
	}
	text += ", " + c.Metric
	if len(c.Along) > 0 {
		text += " along " + strings.Join(c.Along, ", ")
	}
	if c.For != "" && c.For != ForAll {
		text += " (" + c.For + ")"
	}
	text += ": " + string(c.Is)
	switch {
	case c.Slope():
	case c.Is == Equal && c.Within > 0:
		text += fmt.Sprintf(" %s within a factor of %s", figure.Ratio(c.Threshold()), figure.Ratio(c.Within))
	default:
		text += " " + figure.Ratio(c.Threshold())
	}
	return text
}

// checkClaim finds what a claim says that cannot be.
func (p *Paper) checkClaim(x *Exhibit, c *Claim) error {
	if c.Says == "" {
		return fmt.Errorf("says nothing")
	}
	if c.None != "" {
		if c.Is != "" || len(c.Of) > 0 {
			return fmt.Errorf("it has a test, and says that there is none")
		}
		return nil
	}
	if len(c.Of) == 0 || len(c.In) == 0 || c.Metric == "" {
		return fmt.Errorf("a test needs of, in and metric")
	}
	for _, name := range slices.Concat(c.Of, c.To) {
		if !slices.Contains(x.Platforms, name) && name != each && name != others {
			return fmt.Errorf("platform %q is not among the exhibit's", name)
		}
	}
	if !slices.Contains([]Is{Below, Above, Equal, Unequal, Rises, Falls, Flat, Sublinear}, c.Is) {
		return fmt.Errorf("is: %q", c.Is)
	}
	if c.Slope() != (len(c.Along) > 0) {
		return fmt.Errorf("%s goes with a factor that it is along, and no other does", c.Is)
	}
	if !slices.Contains([]string{"", ForAll, ForAny, ForMean}, c.For) {
		return fmt.Errorf("for: %q", c.For)
	}
	if n := len(c.Against); n > 1 && n != len(c.In) {
		return fmt.Errorf("%d cases against %d", len(c.In), n)
	}
	if len(c.Size) > 2 || len(c.Size) > 0 && !(slices.Min(c.Size) > 0) {
		return fmt.Errorf("size: %v; it is Q, positive, or its least and most", c.Size)
	}
	if c.Than < 0 || c.Within != 0 && !(c.Within > 1) {
		return fmt.Errorf("than %g, within %g", c.Than, c.Within)
	}
	if len(c.To) == 0 && len(c.Against) == 0 && !c.Slope() && c.Than == 0 {
		return fmt.Errorf("a value alone needs what it is set against: than")
	}
	return nil
}
