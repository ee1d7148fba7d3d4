package agent

import "sync"

// noiseLog keeps the last of what came before a greeting.
type noiseLog struct {
	mu      sync.Mutex
	kept    []byte
	skipped int
}

func (l *noiseLog) add(p []byte) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.skipped += len(p)
	l.kept = append(l.kept, p...)
	if len(l.kept) > 2*keptNoise {
		l.kept = append(l.kept[:0], l.kept[len(l.kept)-keptNoise:]...)
	}
}

func (l *noiseLog) len() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.skipped
}

// fail returns err with the noise so far.
func (l *noiseLog) fail(err error) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	kept := l.kept
	if len(kept) > keptNoise {
		kept = kept[len(kept)-keptNoise:]
	}
	return &noiseError{noise: append([]byte(nil), kept...), skipped: l.skipped, err: err}
}
