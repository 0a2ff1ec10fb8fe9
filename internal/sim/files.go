package sim

import (
	"bytes"
	"errors"
	"io"
	"maps"
	"slices"
)

// disk is a folder of snapshots, of one process or of all. What was written stays, whatever else the power takes; but it may
// rot.
type disk struct{ files map[string][]byte }

// filesOf are the snapshots of a process, nil where there are none.
func (w *world) filesOf(s *slot) Files {
	name := ""
	switch w.plan.Snapshots {
	case noSnapshots:
		return nil
	case ownSnapshots:
		name = s.name
	}
	if w.disks == nil {
		w.disks = map[string]*disk{}
	}
	if w.disks[name] == nil {
		w.disks[name] = &disk{map[string][]byte{}}
	}
	w.disks[name].rot(w)
	return &faultyFiles{w.disks[name], s.agent}
}

// rot damages a file now and then.
func (d *disk) rot(w *world) {
	names := slices.Sorted(maps.Keys(d.files))
	if len(names) == 0 || w.IntN(6) > 0 {
		return
	}
	name := names[w.IntN(len(names))]
	data := bytes.Clone(d.files[name])
	if at := w.IntN(len(data)); w.IntN(2) == 0 {
		data = data[:at]
	} else {
		data[at] ^= 1 << w.IntN(8)
	}
	d.files[name] = data
}

// faultyFiles fail, and let their user die on either side of every change.
type faultyFiles struct {
	disk  *disk
	agent *agent
}

var errNoFile = errors.New("there is no such file")

func (f *faultyFiles) change(change func()) error {
	f.agent.call()
	if f.agent.fails() {
		return errInjected
	}
	change()
	f.agent.call()
	return nil
}

// Names are in order, so that a seed does the same each time.
func (f *faultyFiles) Names() ([]string, error) {
	if f.agent.fails() {
		return nil, errInjected
	}
	return slices.Sorted(maps.Keys(f.disk.files)), nil
}

func (f *faultyFiles) Write(name string, write func(io.Writer) error) error {
	var data bytes.Buffer
	if err := write(&data); err != nil {
		return err
	}
	return f.change(func() { f.disk.files[name] = data.Bytes() })
}

func (f *faultyFiles) Open(name string) (io.ReadCloser, error) {
	data, ok := f.disk.files[name]
	if !ok {
		return nil, errNoFile
	}
	if f.agent.fails() {
		return nil, errInjected
	}
	return io.NopCloser(bytes.NewReader(data)), nil
}

func (f *faultyFiles) Link(from, to string) error {
	data, ok := f.disk.files[from]
	if !ok {
		return errNoFile
	}
	return f.change(func() { f.disk.files[to] = data })
}

func (f *faultyFiles) Remove(name string) error {
	return f.change(func() { delete(f.disk.files, name) })
}
