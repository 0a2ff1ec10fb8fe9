package http

import (
	"bufio"
	"bytes"
	"encoding/json"
	"io"
	"net/http/httptest"
	"testing"
)

// readBody returns the records of a body, copied.
func readBody(t *testing.T, h *Source, contentType string, data []byte) (records []record) {
	t.Helper()
	r := httptest.NewRequest("POST", "/v1/posts", bytes.NewReader(data))
	r.Header.Set("Content-Type", contentType)
	u := h.newUpload(r)
	u.slot = h.slots.acquire(t.Context(), "", 0)
	b, err := u.openBody(httptest.NewRecorder(), r)
	if err != nil {
		t.Fatal(err)
	}
	for {
		rec, err := b.next()
		if err == io.EOF {
			return records
		}
		if err != nil {
			t.Fatal(err)
		}
		rec.raw = bytes.Clone(rec.raw)
		records = append(records, rec)
	}
}

// FuzzBody holds the scanners to encoding/json: the elements of a sound array come out one by one and whole;
// whatever the body, reading ends, lines rise, and no record is longer than the limit.
func FuzzBody(f *testing.F) {
	for _, s := range []string{
		`{"id":"1","text":"a"}`, `[{"id":"1","text":"]}\\\""},{},[[]],"x",-1e5,true]`, "{}\n{}\n\n{", "{}{} {}", "[1,]",
		"[", "]", "\"", "[\"\\",
		"\xEF\xBB\xBF[{}]", "{\"a\":\n1}\n{\"b\":2}", "[1 2]", "[1]]", "[{]}", " \n \n{}",
	} {
		f.Add([]byte(s), false)
		f.Add([]byte(s), true)
	}
	const limit = 64
	cfg := Default()
	cfg.MaxPost = limit
	h, err := New(cfg)
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, data []byte, lines bool) {
		contentType := "application/json"
		if lines {
			contentType = "application/x-ndjson"
		}
		records := readBody(t, h, contentType, data)
		last := 0
		for _, rec := range records {
			if rec.line <= last || len(rec.raw) > limit {
				t.Fatalf("line %d after %d, %d bytes", rec.line, last, len(rec.raw))
			}
			last = rec.line
		}
		if !lines {
			checkArray(t, data, records, limit)
		}
	})
}

func checkArray(t *testing.T, data []byte, records []record, limit int) {
	t.Helper()
	var want []json.RawMessage
	data = bytes.TrimPrefix(data, []byte("\xEF\xBB\xBF"))
	if err := json.Unmarshal(data, &want); err != nil || want == nil {
		return
	}
	if len(records) != len(want) {
		t.Fatalf("%d records of an array of %d", len(records), len(want))
	}
	for i, rec := range records {
		if len(want[i]) > limit {
			if rec.err == nil {
				t.Errorf("element %d of %d bytes passed", i, len(want[i]))
			}
			continue
		}
		if rec.err != nil || !bytes.Equal(rec.raw, want[i]) {
			t.Errorf("element %d: %q, %v; want %q", i, rec.raw, rec.err, want[i])
		}
	}
}

func TestLineScannerAroundItsBuffer(t *testing.T) {
	for n := 14; n < 36; n++ { // bufio's smallest buffer has 16 bytes
		long := bytes.Repeat([]byte("x"), n)
		in := append(append([]byte("ab\n"), long...), "\ncd"...)
		s := &lineScanner{r: bufio.NewReaderSize(bytes.NewReader(in), 16), limit: 30, grow: func(int) error { return nil }}
		var got []string
		for {
			rec, err := s.next()
			if err == io.EOF {
				break
			}
			if wantErr := rec.line == 2 && n+1 > 30; (rec.err != nil) != wantErr {
				t.Errorf("line of %d bytes: error %v", n, rec.err)
			}
			got = append(got, string(rec.raw))
		}
		if len(got) != 3 || got[0] != "ab" || got[1] != string(long[:min(n, 30)]) || got[2] != "cd" {
			t.Errorf("n = %d: %q", n, got)
		}
	}
}
