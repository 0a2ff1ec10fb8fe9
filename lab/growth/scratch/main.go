package main

import (
	"bufio"
	"encoding/binary"
	"fmt"
	"os"
	"time"

	"refrain/lab/growth"
)

func main() {
	m := growth.Fitted()
	b := time.Now()
	s := growth.New(m, 1)
	fmt.Fprintln(os.Stderr, "new", time.Since(b))
	out, _ := os.Create(os.Args[1])
	w := bufio.NewWriterSize(out, 1<<20)
	numbers := map[uint64]uint32{}
	file := map[string]byte{"crisi": 0, "ira_2": 1, "pheme": 2, "weibo_ced": 3, "weibo_hot": 4, "zhihu": 5}
	var ids []uint64
	b = time.Now()
	gen := time.Duration(0)
	for range 1268798 {
		t := time.Now()
		var c int
		ids, c = s.Next(ids[:0])
		gen += time.Since(t)
		name := m.Components[c].Name
		f, ok := file[name[:5]]
		if !ok {
			f = file[name[:9]]
		}
		l := byte(2)
		if name[len(name)-3:] == "lic" {
			l = 1
		}
		w.Write([]byte{f, l})
		binary.Write(w, binary.LittleEndian, uint16(len(ids)))
		for _, id := range ids {
			n, ok := numbers[id]
			if !ok {
				n = uint32(len(numbers))
				numbers[id] = n
			}
			var b [4]byte
			binary.LittleEndian.PutUint32(b[:], n)
			w.Write(b[:])
		}
	}
	w.Flush()
	fmt.Fprintln(os.Stderr, "gen", gen, time.Since(b))
}
