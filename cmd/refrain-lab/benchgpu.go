package main

import (
	"github.com/spf13/pflag"

	"refrain/lab/bench/tables"
)

// The tables of a GPU have a document of their own, since another machine measures them: deploy/gpu-first-run does all.

func gpuTable(name, short string) benchTable {
	return benchTable{command: tableCommand(name, short), document: tables.GPUDocument, missing: tables.NoGPU}
}

func benchGPU() benchTable {
	t := gpuTable("gpu", "Comparisons a second on an NVIDIA GPU, and its hits against the CPU's")
	t.narrow = []string{"rows", "queries"}
	t.measure = measureWith(t.command, tables.DefaultGPU(), tables.QuickGPU(), func(f *pflag.FlagSet, o *tables.GPUOptions) {
		addDevice(f, &o.Device)
		f.IntSliceVar(&o.Rows, "rows", o.Rows, "signatures")
		f.IntVar(&o.Queries, "queries", o.Queries, "queries")
	}, tables.GPU)
	return t
}

func addDevice(f *pflag.FlagSet, device *int) {
	f.IntVar(device, "device", *device, "number of the GPU")
}

func benchGPURates() benchTable {
	t := gpuTable("gpu-rates", "How fast an NVIDIA GPU issues single instructions, and the bounds of our kernels")
	t.measure = measureWith(t.command, tables.RatesOptions{}, tables.RatesOptions{},
		func(f *pflag.FlagSet, o *tables.RatesOptions) { addDevice(f, &o.Device) }, tables.GPURates)
	return t
}

func benchGPUSuite() benchTable {
	t := gpuTable("gpu-suite", "The tests of a real NVIDIA GPU, none of them skipped")
	t.measure = measureWith(t.command, tables.DefaultSuite(), tables.DefaultSuite(), addBinary, tables.GPUSuite)
	return t
}

func addBinary(f *pflag.FlagSet, o *tables.SuiteOptions) {
	f.StringVar(&o.Binary, "binary", o.Binary, "`file` of the tests of cuda/devicetest (default: devicetest beside this program)")
}

func benchGPUSanitize() benchTable {
	t := gpuTable("gpu-sanitize", "The same tests under NVIDIA's compute-sanitizer")
	t.narrow = []string{"tools"}
	t.measure = measureWith(t.command, tables.DefaultSuite(), tables.DefaultSuite(),
		func(f *pflag.FlagSet, o *tables.SuiteOptions) {
			addBinary(f, o)
			f.StringVar(&o.Sanitizer, "sanitizer", o.Sanitizer, "`file` of compute-sanitizer")
			f.StringSliceVar(&o.Tools, "tools", o.Tools, "of the sanitizer")
		}, tables.GPUSanitize)
	return t
}

func benchGPUHost() benchTable {
	t := gpuTable("gpu-host", "What a search on a GPU takes of the processor, with a driver that does nothing")
	t.missing = nil
	t.narrow = []string{"rows"}
	t.measure = measureWith(t.command, tables.DefaultHost(), tables.QuickHost(), func(f *pflag.FlagSet, o *tables.HostOptions) {
		f.StringVar(&o.Binary, "binary", o.Binary, "`file` of the tests of sigstore/gpu (default: gputest beside this program)")
		f.IntSliceVar(&o.Rows, "rows", o.Rows, "rows of the window")
	}, tables.GPUHost)
	return t
}

func benchGPUDetect() benchTable {
	t := gpuTable("gpu-detect", "Events of real posts by the engine on an NVIDIA GPU against those of another, and their time")
	t.starts = true
	t.narrow = []string{"files", "posts", "thresholds", "engines"}
	t.measure = measureWith(t.command, tables.DefaultGPUDetect(), tables.QuickGPUDetect(),
		func(f *pflag.FlagSet, o *tables.GPUDetectOptions) {
			f.StringSliceVar(&o.Files, "files", o.Files, "files of the data set")
			f.IntVar(&o.Posts, "posts", o.Posts, "posts of a file at most; 0: all")
			f.StringSliceVar(&o.Thresholds, "thresholds", o.Thresholds, "thresholds")
			f.StringSliceVar(&o.Engines, "engines", o.Engines, "engines, of which the first says what is right")
		}, tables.GPUDetect)
	return t
}
