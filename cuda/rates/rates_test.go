//go:build linux && (amd64 || arm64) && !nocuda

package rates

import (
	"bytes"
	"fmt"
	"math/bits"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"testing"
	"time"

	"refrain/cuda/cudatest"
)

func TestMain(m *testing.M) { os.Exit(cudatest.Main(m)) }

func configOf(f *cudatest.Driver) Config {
	c := Default()
	c.Library, c.Lasting, c.Runs = f.Library, time.Microsecond, 1
	return c
}

// Every kernel runs, and every instruction has a rate.
func TestMeasure(t *testing.T) {
	card, rates, err := Measure(configOf(cudatest.New(t)))
	if err != nil {
		t.Fatal(err)
	}
	if want := (Card{Name: "Fake 0", Capability: 90, Processors: 2, CUDA: 13000}); *card != want {
		t.Errorf("card %+v, want %+v", *card, want)
	}
	if len(rates) != len(instructions()) {
		t.Errorf("%d rates", len(rates))
	}
	for _, r := range rates {
		if r.Refused != "" || r.Clock <= 0 || r.Second <= 0 || r.Hertz <= 0 {
			t.Errorf("%+v", r)
		}
	}
}

// A card without tensor cores for integers has the others.
func TestRefused(t *testing.T) {
	f := cudatest.New(t)
	f.Reset(1<<30, 1, 75, 1)
	_, rates, err := Measure(configOf(f))
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range rates {
		if refused := r.Refused != ""; refused != strings.Contains(r.Name, "MMA") {
			t.Errorf("%+v", r)
		}
	}
}

func TestFailures(t *testing.T) {
	for name, c := range map[string]struct {
		change func(f *cudatest.Driver, c *Config)
		want   string
	}{
		"no driver": {func(_ *cudatest.Driver, c *Config) { c.Library = "libnone.so.1" }, "there is no NVIDIA driver: libnone.so.1"},
		"no memory": {func(f *cudatest.Driver, _ *Config) { f.Fail("cuMemAlloc", 1, cudatest.OutOfMemory) }, "cuMemAlloc: CUDA_ERROR_2: by order (error 2)"},
		"no device": {func(_ *cudatest.Driver, c *Config) { c.Device = 3 }, "there is no GPU 3: the NVIDIA driver finds 1"},
		"no runs":   {func(_ *cudatest.Driver, c *Config) { c.Runs = 0 }, "0 runs"},
		"lost": {func(f *cudatest.Driver, _ *Config) {
			f.Fail("cuLaunchKernel", 2, cudatest.LaunchFailed)
			f.Forget = true
		}, "measure rate of POPC: cuLaunchKernel: CUDA_ERROR_719"},
	} {
		t.Run(name, func(t *testing.T) {
			f := cudatest.New(t)
			config := configOf(f)
			c.change(f, &config)
			if _, _, err := Measure(config); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %v, want %q", err, c.want)
			}
		})
	}
}

// The kernels compute what they say they do: the sums of a thread are those of the same steps in Go.
func TestSums(t *testing.T) {
	f := cudatest.New(t)
	d, err := open(configOf(f))
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := d.close(); err != nil {
			t.Error(err)
		}
	}()
	steps := map[string]func(x, y, z uint32) uint32{
		POPC:   func(x, _, _ uint32) uint32 { return uint32(bits.OnesCount32(x)) },
		LOP3:   func(x, y, z uint32) uint32 { return x&y ^ z },
		Min:    func(x, y, _ uint32) uint32 { return uint32(min(int32(x), int32(y))) },
		AddMin: func(x, y, z uint32) uint32 { return uint32(min(int32(x+y), int32(z))) },
	}
	for _, i := range instructions()[:len(steps)] {
		function, unload, err := d.load(i)
		if err != nil {
			t.Fatal(err)
		}
		const loops = 3
		if _, _, err := d.run(function, loops); err != nil {
			t.Fatal(err)
		}
		unload()
		for thread, got := range d.sums()[:threads] {
			if want := sumOf(steps[i.name], thread, loops*i.loop); got != want {
				t.Fatalf("%s, thread %d: %x, want %x", i.name, thread, got, want)
			}
		}
	}
}

func sumOf(step func(x, y, z uint32) uint32, thread, times int) (sum uint32) {
	var x [8]uint32
	for i := range x {
		x[i] = uint32(1+8*thread+i) * 2654435761
	}
	for n := range times {
		x[n%8] = step(x[n%8], x[(n+1)%8], x[(n+2)%8])
	}
	for _, v := range x {
		sum ^= v
	}
	return sum
}

// sassOf is what the assembler makes of a file.
func sassOf(t *testing.T, file string) string {
	t.Helper()
	if testing.Short() {
		t.Skip("runs a compiler, and no goroutines")
	}
	if output, err := exec.Command("../nvcc", "-have").CombinedOutput(); err != nil {
		t.Skipf("%s", bytes.TrimSpace(output))
	}
	output, err := exec.Command("../generate", "-sass", "rates/"+file).CombinedOutput()
	if err != nil {
		t.Fatalf("generate: %v\n%s", err, output)
	}
	return string(output)
}

// What the assembler leaves of a loop is what is measured, neither merged nor thrown away, and hardly more.
func TestLoops(t *testing.T) {
	opcodes := map[string]string{POPC: "POPC", LOP3: "LOP3", Min: "VIMNMX", AddMin: "VIADDMNMX", IMMA: "IMMA.16832.S8.S8",
		BMMA128: "BMMA.168128.AND.POPC", BMMA256: "BMMA.168256.AND.POPC"}
	sass := sassOf(t, "plain.cu") + sassOf(t, "tensor.cu")
	for _, i := range instructions() {
		loop, err := loopOf(sass, i.function)
		if err != nil {
			t.Fatal(err)
		}
		same := len(regexp.MustCompile(`(?m)^ *`+regexp.QuoteMeta(opcodes[i.name])+`\b`).FindAllString(loop, -1))
		if all := strings.Count(loop, "\n"); same != i.loop || all > same+4 {
			t.Errorf("%s: %d of %d instructions of the loop are %s, want %d and at most 4 others:\n%s", i.function, same, all,
				opcodes[i.name], i.loop, loop)
		}
	}
}

// loopOf is the instructions between a function's backward branch and its target, a line each.
func loopOf(sass, function string) (string, error) {
	_, rest, _ := strings.Cut(sass, "Function : "+function+"\n")
	rest, _, _ = strings.Cut(rest, "Function : ")
	line := regexp.MustCompile(`/\*([0-9a-f]{4})\*/ +(?:@!?U?P\d )?([^;]*);`)
	var places, texts []string
	for _, m := range line.FindAllStringSubmatch(rest, -1) {
		places, texts = append(places, m[1]), append(texts, m[2])
		target := regexp.MustCompile(`^BRA.* 0x([0-9a-f]+)`).FindStringSubmatch(m[2])
		for from, place := range places {
			if target != nil && fmt.Sprintf("%4s", target[1]) <= m[1] && strings.TrimLeft(place, "0") == target[1] && place < m[1] {
				return strings.Join(texts[from:], "\n") + "\n", nil
			}
		}
	}
	return "", fmt.Errorf("%s has no loop", function)
}
