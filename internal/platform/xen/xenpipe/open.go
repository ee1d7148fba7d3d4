package xenpipe

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// controlDomain is its number.
const controlDomain = 0

// Offer makes the domain's end of the pipe of that name. What is written before
// the control domain has dialled waits in the ring.
func Offer(name string) (*Pipe, error) {
	fail := func(err error) (*Pipe, error) {
		return nil, fmt.Errorf("offer pipe %s to the control domain: %w", name, err)
	}
	mem, refs, free, err := lend(controlDomain)
	if err != nil {
		return fail(err)
	}
	c, err := bindAny(controlDomain)
	if err != nil {
		return fail(errors.Join(err, free()))
	}
	s, err := openStore()
	if err == nil {
		err = errors.Join(s.write(entry(name), offer{c.port, refs}.String()), s.Close())
	}
	if err != nil {
		return fail(errors.Join(err, c.Close(), free()))
	}
	p := newPipe(domain)
	p.connect(mem, c, free)
	return p, nil
}

// Dial returns the control domain's end of a domain's pipe. It connects in the
// background, as soon as the domain offers it; reading and writing wait for that.
func Dial(number int, name string) (*Pipe, error) {
	s, err := openStore()
	if err != nil {
		return nil, fmt.Errorf("dial pipe %s of domain %d: %w", name, number, err)
	}
	p := newPipe(control)
	p.stop = func() { s.Close() } // which ends the wait
	go func() {
		if err := p.dial(s, number, name); err != nil {
			p.fail(fmt.Errorf("dial pipe %s of domain %d: %w", name, number, err))
		}
	}()
	return p, nil
}

func (p *Pipe) dial(s *store, number int, name string) error {
	defer s.Close()
	text, err := s.await(fmt.Sprintf("/local/domain/%d/%s", number, entry(name)))
	if err != nil {
		return err
	}
	o, err := parseOffer(text)
	if err != nil {
		return err
	}
	mem, free, err := borrow(uint32(number), o.refs)
	if err != nil {
		return err
	}
	c, err := bindTo(uint32(number), o.port)
	if err != nil {
		return errors.Join(err, free())
	}
	p.connect(mem, c, free)
	return nil
}

// entry is where an offer is written, below the domain's own place. The store's
// names hold letters, digits and -/_@ alone.
func entry(name string) string { return "data/tare/" + strings.ReplaceAll(name, ".", "-") }

// offer is what the other side must know, written PORT:REF,REF,...
type offer struct {
	port uint32
	refs []uint32
}

func (o offer) String() string {
	words := make([]string, len(o.refs))
	for i, r := range o.refs {
		words[i] = strconv.FormatUint(uint64(r), 10)
	}
	return strconv.FormatUint(uint64(o.port), 10) + ":" + strings.Join(words, ",")
}

func parseOffer(text string) (o offer, err error) {
	bad := func() (offer, error) {
		return offer{}, fmt.Errorf("%.200q is not a port and %d grants", text, pages)
	}
	number := func(word string) uint32 {
		n, nerr := strconv.ParseUint(word, 10, 32)
		err = errors.Join(err, nerr)
		return uint32(n)
	}
	port, refs, ok := strings.Cut(text, ":")
	words := strings.Split(refs, ",")
	if !ok || len(words) != pages {
		return bad()
	}
	o.port = number(port)
	for _, w := range words {
		o.refs = append(o.refs, number(w))
	}
	if err != nil {
		return bad()
	}
	return o, nil
}
