package result

// Labelled is a platform's name wearing its label, wherever it is shown.
func Labelled(name, label string) string {
	if label == "" {
		return name
	}
	return name + ", " + label
}

// Name of each row is its platform's, labelled.
func (r Row) Name() string        { return Labelled(r.Platform, r.Label) }
func (r MatrixRow) Name() string  { return Labelled(r.Platform, r.Label) }
func (r DensityRow) Name() string { return Labelled(r.Platform, r.Label) }
func (r PoolRow) Name() string    { return Labelled(r.Platform, r.Label) }
func (b Balance) Name() string    { return Labelled(b.Platform, b.Label) }
func (l Latency) Name() string    { return Labelled(l.Platform, l.Label) }
func (e Energy) Name() string     { return Labelled(e.Platform, e.Label) }
func (s Scheduling) Name() string { return Labelled(s.Platform, s.Label) }
func (s Series) Name() string     { return Labelled(s.Platform, s.Label) }
func (u StartUp) Name() string    { return Labelled(u.Platform, u.Label) }
func (u Usage) Name() string      { return Labelled(u.Platform, u.Label) }
func (l SweepLine) Name() string  { return Labelled(l.Platform, l.Label) }
func (w HostWatch) Name() string  { return Labelled(w.Platform, w.Label) }
