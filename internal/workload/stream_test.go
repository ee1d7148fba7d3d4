package workload

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"errors"
	"math"
	"runtime"
	"strconv"
	"testing"
	"time"

	"pgregory.net/rapid"

	"tare/internal/bench"
)

func TestStreamSteps(t *testing.T) {
	w := stream{}
	steps, err := w.Steps(bench.SubjectPart, fill(t, w, nil), setting())
	if err != nil {
		t.Fatal(err)
	}
	if len(steps.Files) != 2 || !bytes.Equal(steps.Files[0].Data, captured(t, "hpccinf.txt")) {
		t.Errorf("input of hpcc:\n%s", steps.Files[0].Data)
	}
	if lines := bytes.Count(steps.Files[0].Data, []byte("\n")); lines != 36 {
		t.Errorf("%d lines; hpcc reads 36", lines)
	}
	if steps.Begin == "" || steps.End == "" {
		t.Error("the window has no edges")
	}
	if limit := steps.Main.Timeout; limit < 2*time.Minute || limit > time.Hour {
		t.Errorf("timeout of %v for a run of 7 s", limit)
	}
}

func TestStreamStepsRefuses(t *testing.T) {
	w := stream{}
	s := setting()
	s.Shape.Memory = 256 * bench.MiB
	_, err := w.Steps(bench.SubjectPart, fill(t, w, nil), s)
	wantError(t, err, "256 MiB", "32 MiB")
	if !errors.Is(err, bench.ErrInvalid) || bench.HintOf(err) == "" {
		t.Errorf("%v: not ErrInvalid, or no hint", err)
	}
	s = setting()
	s.LLC = 0
	if _, err = w.Steps(bench.SubjectPart, fill(t, w, nil), s); !errors.Is(err, bench.ErrInvalid) {
		t.Errorf("cache of unknown size: %v", err)
	}
	s.LLC = 4 * bench.GiB
	_, err = w.Steps(bench.SubjectPart, fill(t, w, nil), s)
	wantError(t, err, "hpcc's most")
}

// Whatever the size, STREAM's arrays may be mapped, and neither RandomAccess's
// table nor DGEMM's matrices; and what libraries map may be. On a cache of 32 MiB or less OpenBLAS was
// once refused its buffer, and asked for it for ever.
func TestMappingLimitParts(t *testing.T) {
	steps, err := stream{}.Steps(bench.SubjectPart, fill(t, stream{}, nil), setting())
	if err != nil {
		t.Fatal(err)
	}
	padding, err := strconv.ParseInt(cmp.Or(steps.Main.Env["MALLOC_TOP_PAD_"], "131072"), 10, 64) // mallopt(3)
	if err != nil {
		t.Fatal(err)
	}
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.Int64Range(2000, 56000).Draw(t, "order")
		table := bench.Bytes(8)
		for table*2 <= bench.Bytes(8*n*n) {
			table *= 2
		}
		filter, err := streamOnly(n, 1)
		if err != nil {
			t.Fatal(err)
		}
		// As the C library maps a block: with its size before it, to whole pages.
		mapped := func(words int64) bench.Bytes { return bench.Bytes(8*words+16+4095) / 4096 * 4096 }
		d := int64(math.Sqrt(float64(n*n/3)+0.25) - 0.5) // as hpcc has it
		for size, refused := range map[bench.Bytes]bool{
			mapped(n * n / 3): false, mapped(int64(table) / 8): true, mapped(d * d): true, mapped(d*d + padding/8): true, mapped(d * d / 2): false,
		} {
			if got := refuses(filter, seccompNumbers[runtime.GOARCH].mmap, uint64(size)); got != refused {
				t.Errorf("order %d: a mapping of %v is refused: %v", n, size, got)
			}
		}
		for _, length := range libraryMaps {
			if refuses(filter, seccompNumbers[runtime.GOARCH].mmap, uint64(length)) {
				t.Errorf("order %d: a library's %v are refused", n, length)
			}
		}
		if refusesMap(filter, seccompNumbers[runtime.GOARCH].mmap, 1<<34, 0x3, 0x2) || refusesMap(filter, seccompNumbers[runtime.GOARCH].mmap, 1<<34, 0, 0x22) {
			t.Errorf("order %d: a library's file, or the room for it, is refused", n)
		}
		if refuses(filter, 0, 1<<40) {
			t.Error("read is refused")
		}
		// The C library compares the answer with what it asked for; -ENOMEM, as an address, is above.
		if got := verdict(filter, seccompNumbers[runtime.GOARCH].brk, 0, 0, 0); got != 0x00050000 {
			t.Errorf("the verdict on brk is %#x", got)
		}
	})
}

// refuses runs a filter as the kernel would.
func refuses(filter []byte, number uint32, length uint64) bool {
	const readWrite, private, anonymous = 0x3, 0x2, 0x20
	return refusesMap(filter, number, length, readWrite, private|anonymous)
}

func refusesMap(filter []byte, number uint32, length uint64, protection, flags uint32) bool {
	return verdict(filter, number, length, protection, flags) != 0x7fff0000
}

func verdict(filter []byte, number uint32, length uint64, protection, flags uint32) uint32 {
	data := map[uint32]uint32{0: number, 4: seccompNumbers[runtime.GOARCH].arch, 24: uint32(length), 28: uint32(length >> 32), 32: protection, 40: flags}
	var a uint32
	for i := 0; ; i++ {
		code, yes, no := binary.NativeEndian.Uint16(filter[8*i:]), filter[8*i+2], filter[8*i+3]
		k := binary.NativeEndian.Uint32(filter[8*i+4:])
		skip := func(ok bool) {
			if ok {
				i += int(yes)
			} else {
				i += int(no)
			}
		}
		switch code {
		case 0x20:
			a = data[k]
		case 0x15:
			skip(a == k)
		case 0x25:
			skip(a > k)
		case 0x45:
			skip(a&k != 0)
		case 0x06:
			return k
		}
	}
}

// The order is the smallest that makes arrays of the size asked for.
func TestOrder(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		array := bench.Bytes(rapid.Int64Range(1, 8*mostElements).Draw(t, "array"))
		n := order(array)
		if bench.Bytes(8*(n*n/3)) < array {
			t.Errorf("order %d makes arrays of %d bytes, less than %d", n, 8*(n*n/3), array)
		}
		if m := n - 1; bench.Bytes(8*(m*m/3)) >= array {
			t.Errorf("order %d would do as well as %d", m, n)
		}
	})
}

func TestStreamParse(t *testing.T) {
	w := stream{}
	p := fill(t, w, nil)
	// It is killed once the section has ended.
	out := bench.Output{Stdout: captured(t, "hpcc.txt"), Exit: 137, Signal: "killed"}
	values, err := w.Parse(p, setting(), out)
	if err != nil {
		t.Fatal(err)
	}
	checkValues(t, w, p, values)
	for metric, want := range map[string]float64{"copy": 36.9176, "scale": 38.3876, "add": 36.7890, "triad": 36.7139} {
		if got := value(t, values, metric); got != want {
			t.Errorf("%s is %v, want %v", metric, got, want)
		}
	}
}

func TestStreamParseRefuses(t *testing.T) {
	w := stream{}
	whole := captured(t, "hpcc.txt")
	larger := setting()
	larger.LLC = 48 * bench.MiB
	for _, c := range []struct {
		name string
		s    bench.Setting
		out  bench.Output
		says string
	}{
		{"arrays in the cache", larger, bench.Output{Stdout: whole}, "the figures would be the cache's"},
		{"ended before", setting(), bench.Output{Stdout: captured(t, "hpcc-cut.txt"), Exit: 1}, "Begin of StarSTREAM section."},
		{"ended within", setting(), bench.Output{Stdout: bytes.TrimSuffix(whole, []byte(streamEnd+"\n"))}, "End of StarSTREAM section."},
		{"timed out", setting(), bench.Output{Stdout: whole, TimedOut: true}, "deadline"},
		{"wrong result", setting(), bench.Output{Stdout: bytes.ReplaceAll(whole, []byte("Solution Validates"), []byte("Failed Validation"))}, "to be wrong"},
		{"no triad", setting(), bench.Output{Stdout: bytes.ReplaceAll(whole, []byte("Triad:"), []byte("Tried:"))}, `"Triad": not found`},
		{"no time", setting(), bench.Output{Stdout: bytes.ReplaceAll(whole, []byte("36.7139"), []byte("-1.0000"))}, "not above zero"},
		{"no size", setting(), bench.Output{Stdout: bytes.ReplaceAll(whole, []byte("Array size"), []byte("Array"))}, "array size: not found"},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := w.Parse(fill(t, w, nil), c.s, c.out)
			wantError(t, err, c.says)
		})
	}
}

func FuzzStreamParse(f *testing.F) {
	for _, name := range []string{"hpcc.txt", "hpcc-cut.txt"} {
		f.Add(captured(f, name))
	}
	f.Fuzz(func(t *testing.T, stdout []byte) {
		w := stream{}
		p := fill(t, w, nil)
		if values, err := w.Parse(p, setting(), bench.Output{Stdout: stdout}); err == nil {
			checkValues(t, w, p, values)
		}
	})
}
