package rates

import (
	"embed"
	"errors"
	"fmt"
	"time"
)

//go:embed *.ptx
var ptx embed.FS

// Config says what Measure measures. Default has values for all of it.
type Config struct {
	Device  int           // number of the device, from 0
	Lasting time.Duration // about, of a run
	Runs    int           // of each kernel, 1 or more, of which the fastest counts; others say how many loops last so long
	Library string        // path of the driver's library, or its name, which the loader finds
}

// Default is five runs of ten milliseconds on the first device.
func Default() Config {
	return Config{Lasting: 10 * time.Millisecond, Runs: 5, Library: "libcuda.so.1"}
}

// Card is the device that was measured.
type Card struct {
	Name       string `json:"name"`
	Capability int    `json:"capability"` // 90 for 9.0
	Processors int    `json:"processors"` // multiprocessors
	CUDA       int    `json:"cuda"`       // the version that the driver speaks, 13000 for 13.0
}

// Rate is how fast one instruction is issued.
type Rate struct {
	Name    string  `json:"name"`
	Clock   float64 `json:"clock"`   // instructions of a warp a clock and multiprocessor
	Second  float64 `json:"second"`  // instructions of a warp a second, on the whole device
	Hertz   float64 `json:"hertz"`   // the clock, as it was meanwhile
	Refused string  `json:"refused"` // why there is none
}

// instruction is a kernel that does nothing else.
type instruction struct {
	name     string // for people
	file     string
	function string
	loop     int // instructions a loop and warp
}

// instructions is what is measured.
func instructions() []instruction {
	return []instruction{
		{name: POPC, file: "plain.ptx", function: "popc", loop: 64},
		{name: LOP3, file: "plain.ptx", function: "lop3", loop: 64},
		{name: Min, file: "plain.ptx", function: "min_s32", loop: 64},
		{name: AddMin, file: "plain.ptx", function: "addmin", loop: 64},
		{name: IMMA, file: "tensor.ptx", function: "imma", loop: 32},
		{name: BMMA128, file: "tensor.ptx", function: "bmma128", loop: 32},
		{name: BMMA256, file: "tensor.ptx", function: "bmma256", loop: 32},
	}
}

// Names of the instructions.
const (
	POPC    = "POPC"
	LOP3    = "LOP3"
	Min     = "minimum"
	AddMin  = "addition and minimum" // one instruction from compute capability 9.0 on
	IMMA    = "IMMA m16n8k32 s8"
	BMMA128 = "BMMA m16n8k128"
	BMMA256 = "BMMA m16n8k256"
)

const (
	threads = 256 // a block
	blocks  = 4   // a multiprocessor: 32 warps, eight for each that issues
)

// argument is struct Argument of rates.cuh.
type argument struct {
	out         uint64
	loops, seed uint32
}

// Measure measures all instructions. One that a device lacks is reported as refused.
func Measure(c Config) (*Card, []Rate, error) {
	if c.Runs < 1 || c.Lasting <= 0 || c.Device < 0 {
		return nil, nil, fmt.Errorf("measure rates: device %d, %d runs of %v: want 0 or more, 1 or more, more than 0",
			c.Device, c.Runs, c.Lasting)
	}
	d, err := open(c)
	if err != nil {
		return nil, nil, fmt.Errorf("measure rates: %w", err)
	}
	rates, err := d.measureAll(c)
	return &d.card, rates, errors.Join(err, d.close())
}

func (d *device) measureAll(c Config) (rates []Rate, err error) {
	for _, i := range instructions() {
		r, err := d.measure(c, i)
		var refused *refusedError
		if errors.As(err, &refused) {
			r, err = Rate{Refused: refused.Error()}, nil
		}
		if err != nil {
			return rates, fmt.Errorf("measure rate of %s: %w", i.name, err)
		}
		r.Name = i.name
		rates = append(rates, r)
	}
	return rates, nil
}

// measure has the fastest of some runs: what disturbs makes them slower.
func (d *device) measure(c Config, i instruction) (best Rate, err error) {
	function, unload, err := d.load(i)
	if err != nil {
		return Rate{}, err
	}
	defer unload()
	loops, err := d.loopsFor(function, c.Lasting)
	if err != nil {
		return Rate{}, err
	}
	for range c.Runs {
		took, cycles, err := d.run(function, loops)
		if err != nil {
			return Rate{}, err
		}
		if r := d.rate(i, loops, took, cycles); r.Second > best.Second {
			best = r
		}
	}
	return best, nil
}

const (
	firstLoops = 4
	maxLoops   = 1 << 18 // cycles are 32 bits
	scalings   = 3
)

// loopsFor is how many loops last so long. The first run takes longer than its loops, since the kernel has to come to the
// device, and an idle device has a slow clock: so it is asked more than once.
func (d *device) loopsFor(function uintptr, lasting time.Duration) (int, error) {
	loops := firstLoops
	for range scalings {
		took, _, err := d.run(function, loops)
		if err != nil {
			return 0, err
		}
		loops = scaled(loops, took, lasting)
	}
	return loops, nil
}

func scaled(loops int, took, lasting time.Duration) int {
	return int(max(1, min(maxLoops, int64(loops)*int64(lasting)/max(1, int64(took)))))
}

func (d *device) rate(i instruction, loops int, took time.Duration, cycles float64) Rate {
	issued := float64(loops * i.loop * blocks * threads / 32)
	return Rate{Clock: issued / cycles, Second: issued * float64(d.card.Processors) / took.Seconds(),
		Hertz: cycles / took.Seconds()}
}
