package qemu

import (
	"bufio"
	"encoding/json"
	"fmt"
	"net"
	"time"
)

// qmp speaks the QEMU Machine Protocol (docs/interop/qmp-spec.txt), one
// command at a time. Events are passed over.
type qmp struct {
	conn   net.Conn
	in     *bufio.Reader
	agreed bool // the greeting is read and negotiation mode left
}

// maxQMP bounds one message of QEMU's, in bytes.
const maxQMP = 1 << 20

// qmpMessage is anything QEMU sends.
type qmpMessage struct {
	Greeting *struct{} `json:"QMP"`
	Event    string    `json:"event"`
	Return   json.RawMessage
	Error    *struct{ Class, Desc string }
}

func newQMP(conn net.Conn) *qmp { return &qmp{conn: conn, in: bufio.NewReader(conn)} }

// agree reads the greeting and leaves negotiation mode, once. Deadlines are the
// connection's.
func (q *qmp) agree() error {
	if q.agreed {
		return nil
	}
	m, err := q.read()
	if err != nil {
		return err
	}
	if m.Greeting == nil {
		return fmt.Errorf("qmp: no greeting")
	}
	q.agreed = true
	return q.Execute("qmp_capabilities", nil)
}

// Execute runs a command without arguments and stores what it returns in
// result, if that is not nil.
func (q *qmp) Execute(command string, result any) error { return q.Call(command, nil, result) }

// Call is Execute with arguments.
func (q *qmp) Call(command string, arguments map[string]any, result any) error {
	request := map[string]any{"execute": command}
	if arguments != nil {
		request["arguments"] = arguments
	}
	line, err := json.Marshal(request)
	if err != nil {
		return fmt.Errorf("qmp %s: %w", command, err)
	}
	if _, err := q.conn.Write(append(line, '\n')); err != nil {
		return fmt.Errorf("qmp %s: %w", command, err)
	}
	for {
		m, err := q.read()
		switch {
		case err != nil:
			return fmt.Errorf("qmp %s: %w", command, err)
		case m.Event != "":
			continue
		case m.Error != nil:
			return fmt.Errorf("qmp %s: %s: %s", command, m.Error.Class, m.Error.Desc)
		case result == nil:
			return nil
		}
		if err := json.Unmarshal(m.Return, result); err != nil {
			return fmt.Errorf("qmp %s: returned %.200q: %w", command, m.Return, err)
		}
		return nil
	}
}

func (q *qmp) read() (qmpMessage, error) {
	var line []byte
	for {
		part, err := q.in.ReadSlice('\n')
		line = append(line, part...)
		if err == nil {
			break
		}
		if err != bufio.ErrBufferFull {
			return qmpMessage{}, fmt.Errorf("read: %w", err)
		}
		if len(line) > maxQMP {
			return qmpMessage{}, fmt.Errorf("message is longer than %d bytes", maxQMP)
		}
	}
	return parseQMP(line)
}

// parseQMP reads one line of QEMU's: a greeting, an event, a return or an error.
func parseQMP(line []byte) (qmpMessage, error) {
	var m qmpMessage
	if err := json.Unmarshal(line, &m); err != nil {
		return m, fmt.Errorf("message %.200q: %w", line, err)
	}
	if m.Greeting == nil && m.Event == "" && m.Return == nil && m.Error == nil {
		return m, fmt.Errorf("message %.200q: neither greeting, event, return nor error", line)
	}
	return m, nil
}

// Close ends the conversation; QEMU goes on.
func (q *qmp) Close() error { return q.conn.Close() }

// SetDeadline bounds everything that follows.
func (q *qmp) SetDeadline(t time.Time) error { return q.conn.SetDeadline(t) }
