package result

// Balance sets what all parts of the host used against the host's own counter,
// as table 4 of tesfatsion2018 does; CPU in cores, mean over the measured windows.
type Balance struct {
	Case, Title     string
	Platform, Label string
	Guest, Layer    float64
	Actors          float64 // peers, neighbours and idle instances with their layers
	Other           float64
	Sum             float64 // of the above
	Busy            float64 // the host's own counter
	// Gap is the share of Busy that is in none of the parts, below 0 if they
	// exceed it; nil if a part was not measured, and the fields above say nothing then.
	Gap *float64
	N   int // launches
}

// BalanceLimit is how much of the host's busy time the parts may miss or exceed.
const BalanceLimit = 0.03

// Within reports whether the parts sum to the whole within the share, such as 0.03.
func (b *Balance) Within(share float64) bool {
	return b.Gap != nil && *b.Gap <= share && *b.Gap >= -share
}

// Balances has a row for every case and platform of which resources were read.
func (r *Result) Balances() []Balance {
	var rows []Balance
	for i := range r.Cases {
		c := &r.Cases[i]
		for j := range c.Usage {
			u := &c.Usage[j]
			b := Balance{Case: c.Name, Title: c.Title, Platform: u.Platform, Label: u.Label, N: u.N}
			if u.UnattributedShare != nil {
				for _, v := range u.Actors {
					b.Actors += v
				}
				b.Guest, b.Layer, b.Other, b.Busy = u.GuestCPU.Value, u.LayerCPU.Value, u.OtherCPU.Value, u.BusyCPU.Value
				b.Sum = u.BusyCPU.Value - u.Unattributed.Value
				b.Gap = u.UnattributedShare
			}
			rows = append(rows, b)
		}
	}
	return rows
}
