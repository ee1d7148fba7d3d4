package agent

import (
	"bytes"
	"fmt"
	"strconv"

	"golang.org/x/sys/unix"
)

// userHZ is the unit of times under /proc: 100 a second on every architecture
// Tare runs on (proc(5), USER_HZ).
const userHZ = 100

// procStat is what is needed of /proc/PID/stat (proc_pid_stat(5)).
type procStat struct {
	pid, ppid, session int
	state              byte
	// user and system are in ticks and include those of children it waited for.
	user, system int64
	threads      int
	started      int64 // ticks after boot: tells a process from a later one with its number
	rss          int64 // pages
}

// parseProcStat reads the file's content.
func parseProcStat(b []byte) (procStat, error) {
	var p procStat
	open, end := bytes.IndexByte(b, '('), bytes.LastIndexByte(b, ')')
	if open < 1 || end < open || end+2 >= len(b) {
		return p, fmt.Errorf("process status %.80q: no name in parentheses", b)
	}
	pid, ok := parseInt(bytes.TrimSpace(b[:open]))
	if !ok {
		return p, fmt.Errorf("process status %.80q: no process id", b)
	}
	p.pid = int(pid)
	field, rest := nextField(b[end+1:])
	if len(field) != 1 {
		return p, fmt.Errorf("process status %.80q: state %.10q", b, field)
	}
	p.state = field[0]
	for i := 4; i <= 24; i++ {
		field, rest = nextField(rest)
		v, ok := parseInt(field)
		if !ok {
			return p, fmt.Errorf("process status %.80q: field %d: %.20q", b, i, field)
		}
		switch i {
		case 4:
			p.ppid = int(v)
		case 6:
			p.session = int(v)
		case 14, 16:
			p.user += v
		case 15, 17:
			p.system += v
		case 20:
			p.threads = int(v)
		case 22:
			p.started = v
		case 24:
			p.rss = v
		}
	}
	return p, nil
}

// parseProcIO reads read_bytes and write_bytes of /proc/PID/io (proc_pid_io(5)),
// which include those of children it waited for.
func parseProcIO(b []byte) (read, write int64, err error) {
	found := 0
	for len(b) > 0 {
		var line []byte
		line, b = nextLine(b)
		key, value := nextField(line)
		into := &read
		switch string(key) {
		case "read_bytes:":
		case "write_bytes:":
			into = &write
		default:
			continue
		}
		field, _ := nextField(value)
		v, ok := parseInt(field)
		if !ok {
			return 0, 0, fmt.Errorf("process I/O: line %.40q", line)
		}
		*into = v
		found++
	}
	if found != 2 {
		return 0, 0, fmt.Errorf("process I/O: read_bytes or write_bytes missing")
	}
	return read, write, nil
}

// nextLine cuts the first line off b.
func nextLine(b []byte) (line, rest []byte) {
	if i := bytes.IndexByte(b, '\n'); i >= 0 {
		return b[:i], b[i+1:]
	}
	return b, nil
}

// nextField cuts the first word off b; there is none left when it is empty.
func nextField(b []byte) (field, rest []byte) {
	i := 0
	for i < len(b) && (b[i] == ' ' || b[i] == '\t' || b[i] == '\n') {
		i++
	}
	j := i
	for j < len(b) && b[j] != ' ' && b[j] != '\t' && b[j] != '\n' {
		j++
	}
	return b[i:j], b[j:]
}

// parseInt reads a decimal number of 64 bits without allocating.
func parseInt(b []byte) (int64, bool) {
	negative := len(b) > 0 && b[0] == '-'
	if negative {
		b = b[1:]
	}
	if len(b) == 0 {
		return 0, false
	}
	var n uint64
	for _, c := range b {
		if c < '0' || c > '9' {
			return 0, false
		}
		next := n*10 + uint64(c-'0')
		if n > (1<<64-1)/10 || next < n {
			return 0, false
		}
		n = next
	}
	if negative {
		return -int64(n), true
	}
	return int64(n), true
}

// procFile reads the small file /proc/PID/NAME into buf, which may be too short for all of it.
func procFile(pid int, name string, buf []byte) ([]byte, error) {
	path := make([]byte, 0, 40)
	path = append(path, "/proc/"...)
	path = strconv.AppendInt(path, int64(pid), 10)
	path = append(append(path, '/'), name...)
	fd, err := unix.Open(string(path), unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, err
	}
	defer unix.Close(fd)
	n, err := unix.Read(fd, buf)
	if err != nil {
		return nil, err
	}
	return buf[:n], nil
}
