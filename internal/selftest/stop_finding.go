package selftest

import "fmt"

// Finding is the part's section of the certificate.
func (s *Stopping) Finding() *Finding {
	f := &Finding{Part: PartStop, Size: len(s.Rows), Unit: "rows", Complete: len(s.Rows) > 0, Data: s}
	wanted := fmt.Sprintf("±%.3g %%", 100*s.Until.Interval)
	if len(s.Rows) == 0 {
		f.Short = fmt.Sprintf("%d blocks of %d", s.Whole, s.Until.Max)
		f.Claims = []Claim{{Promises[HalfTime].Claim("width", wanted, "design", "fixed numbers of blocks"),
			fmt.Sprintf("nothing yet: %d whole blocks, the rule may need %d", s.Whole, s.Until.Max), Open}}
		return f
	}
	for k, a := range s.Against {
		if a.ForAll {
			break
		}
		found := fmt.Sprintf("%.2f of it, over the %d of %d rows that both bring there", a.Reached, a.Both, len(s.Rows))
		if a.Both == 0 {
			found = fmt.Sprintf("both bring none of %d rows there", len(s.Rows))
		}
		f.Claims = append(f.Claims, Claim{
			Promises[HalfTime].Claim("width", wanted, "design", fmt.Sprintf("%d blocks, median over the rows", a.Blocks)),
			found, s.half(k, a)})
	}
	f.Tables = []Table{s.rowTable(wanted)}
	if len(s.Against) > 0 {
		f.Tables = append(f.Tables, s.designTable(wanted))
	}
	return f
}

// half judges whether the median is at most a half, by how many of the rows are.
// Where fewer than half of the rows are brought there the rest decides nothing.
func (s *Stopping) half(k int, a Against) Held {
	if 2*a.Both < len(s.Rows) {
		return Open
	}
	if a.Reached <= Promises[HalfTime].share()+1e-9 {
		return Yes
	}
	within := 0
	for _, r := range s.Rows {
		if f := r.Fixed[k]; s.within(r.Width) && s.within(f.Width) && f.Time <= Promises[HalfTime].share()+1e-9 {
			within++
		}
	}
	return AtLeast(proportion(within, a.Both), 0.5)
}

func (s *Stopping) rowTable(wanted string) Table {
	t := Table{Title: "When the rule ends a platform, and how wide its interval then is",
		Head: []string{"case", "platform"},
		Note: fmt.Sprintf("The rule asks for %s after %v blocks and ends a platform when it is there. Replayed from %d starting blocks of one run; "+
			"blocks and times are means, half widths medians. Times are the rule's by the other's, of the row's and the baseline's trials from set-up to the end. "+
			"Hindsight is the fixed number that would just have given the rule's width, which nobody knows beforehand.",
			wanted, s.Until.Looks, len(s.Starts))}
	for _, a := range s.Against {
		t.Head = append(t.Head, fmt.Sprintf("fixed %d", a.Blocks))
	}
	t.Head = append(t.Head, "by the rule", "blocks", "within")
	for _, a := range s.Against {
		t.Head = append(t.Head, fmt.Sprintf("time by %d", a.Blocks))
	}
	t.Head = append(t.Head, "hindsight", "time by it")
	for _, r := range s.Rows {
		cells := []string{r.Case, r.Platform}
		for _, f := range r.Fixed {
			cells = append(cells, halfWidth(f.Width))
		}
		cells = append(cells, halfWidth(r.Width), fmt.Sprintf("%.1f", r.Blocks), fmt.Sprintf("%d of %d", r.Narrow, len(s.Starts)))
		for _, f := range r.Fixed {
			cells = append(cells, fmt.Sprintf("%.2f", f.Time))
		}
		t.Rows = append(t.Rows, append(cells, fmt.Sprintf("%.1f", r.Hindsight), fmt.Sprintf("%.2f", r.Time)))
	}
	return t
}

func (s *Stopping) designTable(wanted string) Table {
	t := Table{Title: "The rule against a fixed number of blocks for every row",
		Head: []string{"fixed", "rows within " + wanted + " by both", "by the rule only", "by it only", "by neither", "time, median of both", "of all rows", "whole run"},
		Note: "\"For all rows\" are the fewest blocks that bring there every row that the rule brings there from every start: what one would have had to choose beforehand."}
	for _, a := range s.Against {
		median := "-"
		if a.Both > 0 {
			median = fmt.Sprintf("%.2f", a.Reached)
		}
		name := fmt.Sprint(a.Blocks)
		if a.ForAll {
			name += ", for all rows"
		}
		t.Rows = append(t.Rows, []string{name, fmt.Sprint(a.Both), fmt.Sprint(a.OnlyRule), fmt.Sprint(a.OnlyFixed), fmt.Sprint(a.Neither),
			median, fmt.Sprintf("%.2f", a.All), fmt.Sprintf("%.2f", a.Total)})
	}
	return t
}

func halfWidth(w *float64) string {
	if w == nil {
		return "none"
	}
	return fmt.Sprintf("±%.1f %%", 100**w)
}
