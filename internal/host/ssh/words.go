package ssh

import (
	"strings"
	"sync"
)

// words keeps the last of what ssh complains about.
type words struct {
	mu   sync.Mutex
	kept []byte
}

// mostWords bounds what is kept, in bytes.
const mostWords = 4 << 10

// Write implements [io.Writer].
func (w *words) Write(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.kept = append(w.kept, p...)
	w.kept = w.kept[max(0, len(w.kept)-mostWords):]
	return len(p), nil
}

// String is that, in one line.
func (w *words) String() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return strings.Join(strings.Fields(strings.ToValidUTF8(string(w.kept), "")), " ")
}
