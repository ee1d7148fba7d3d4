package plan

import (
	"fmt"
	"slices"
	"strings"

	"tare/internal/bench"
	"tare/internal/spec"
)

// The observer is whoever measures: the runner and its sampling thread.
const observer = "the observer"

// Observer returns the CPUs the observer is kept on: the first one.
func Observer(cpus []int) []int { return slices.Clone(cpus[:1]) }

// pool are the last n of the host's CPUs, all for 0; the observer is on the
// first of the host's, in the pool only where that is all of them.
func pool(cpus []int, n int) []int {
	if n == 0 || n >= len(cpus) {
		return cpus
	}
	return cpus[len(cpus)-n:]
}

// weight is how much an actor minds company, and company minds it: nobody moves
// in with a subject as long as there is another place.
var weight = map[bench.Role]int{bench.Subject: 16, bench.Partner: 16, bench.Member: 16, bench.Neighbour: 4, bench.Peer: 2, bench.Idle: 1}

// place gives every actor as many CPUs as its shape has, in the order of the
// list (subjects come first), each time those with the least on them, the
// lowest first. The observer sits on the first CPU of the host. So actors are apart where
// the host has enough CPUs; where it has not, peers and neighbours join the
// observer before they join a subject. A shared actor sits with the first
// subject, a floating one anywhere. It returns who shares what against its will.
func place(actors []bench.Actor, where []spec.Placement, cpus []int, first int) []string {
	load := map[int]int{first: 1}
	users := map[int][]string{first: {observer}}
	for i := range actors {
		a := &actors[i]
		if a.Away() {
			continue // it has CPUs of another host
		}
		with := []int{}
		switch where[i] {
		case spec.Shared:
			with = actors[0].CPUSet
		case spec.Floating: // it is wherever there is room, so nobody keeps out of its way
			a.CPUSet = slices.Clone(cpus)
			continue
		}
		order := slices.Clone(cpus)
		slices.SortStableFunc(order, func(p, q int) int {
			if in, on := slices.Contains(with, p), slices.Contains(with, q); in != on {
				if in {
					return -1
				}
				return 1
			}
			return load[p] - load[q]
		})
		a.CPUSet = order[:min(a.Shape.CPUs, len(order))]
		slices.Sort(a.CPUSet)
		for _, c := range a.CPUSet {
			load[c] += weight[a.Role]
			if !slices.Contains(with, c) { // company that was asked for is no surprise
				users[c] = append(users[c], a.Name)
			}
		}
	}
	return dense(cpus, users)
}

// dense says which CPUs have more than one user, those with the same users together.
func dense(cpus []int, users map[int][]string) []string {
	var lines, whom []string
	where := map[string][]int{}
	for _, c := range cpus {
		if len(users[c]) < 2 {
			continue
		}
		// The observer is named last.
		names := slices.DeleteFunc(slices.Clone(users[c]), func(n string) bool { return n == observer })
		if len(names) < len(users[c]) {
			names = append(names, observer)
		}
		text := listed(names)
		if where[text] == nil {
			whom = append(whom, text)
		}
		where[text] = append(where[text], c)
	}
	for _, text := range whom {
		numbers := strings.Trim(strings.ReplaceAll(fmt.Sprint(where[text]), " ", ", "), "[]")
		if len(where[text]) == 1 {
			lines = append(lines, fmt.Sprintf("CPU %s is shared by %s", numbers, text))
		} else {
			lines = append(lines, fmt.Sprintf("CPUs %s are shared by %s", numbers, text))
		}
	}
	return lines
}

// listed writes names as people list them, at most five of them.
func listed(names []string) string {
	const most = 5
	if more := len(names) - most; more > 0 {
		return fmt.Sprintf("%s and %d more", strings.Join(names[:most], ", "), more)
	}
	if len(names) < 2 {
		return strings.Join(names, "")
	}
	return strings.Join(names[:len(names)-1], ", ") + " and " + names[len(names)-1]
}
