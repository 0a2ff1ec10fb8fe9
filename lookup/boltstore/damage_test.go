package boltstore

import (
	"bytes"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"go.etcd.io/bbolt"

	"refrain/lookup"
)

const (
	damagedEvents = 300
	tries         = 25
)

// mustFill makes a file with events and a cursor, and returns its bytes.
func mustFill(t *testing.T, now func() time.Time) []byte {
	t.Helper()
	path := filepath.Join(t.TempDir(), "lookup.db")
	s := mustOpen(t, path, now)
	s.file.db.NoSync = true
	for i := 0; i < damagedEvents; i += 100 {
		var some []lookup.Change
		for j := range 100 {
			some = append(some, event(i+j))
		}
		if err := s.Apply(t.Context(), some); err != nil {
			t.Fatal(err)
		}
	}
	if err := errors.Join(s.Put(t.Context(), "c", []byte("7")), s.Close()); err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// answers are all that is known of the posts, and the cursor; nil where the store lets go of its file meanwhile.
func answers(t *testing.T, s *Store) (all []lookup.Reuse) {
	t.Helper()
	for i := range damagedEvents {
		r, err := s.Reuse(t.Context(), "", fmt.Sprint(i), lookup.Page{Limit: 10})
		if errors.Is(err, lookup.ErrUnavailable) {
			return nil
		}
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, r)
	}
	if v, err := s.Get(t.Context(), "c"); err == nil && string(v) != "7" {
		return nil
	}
	return all
}

// usable: a store that lets go of its file says so, and goes on empty: as whoever follows the events does.
func usable(t *testing.T, s *Store) {
	t.Helper()
	var err error
	for range 3 {
		_, errGet := s.Get(t.Context(), "c")
		err = errors.Join(errGet, s.Check(t.Context()), s.Apply(t.Context(), []lookup.Change{event(1)}))
		r, errAsk := s.Reuse(t.Context(), "", "1", lookup.Page{})
		if err = errors.Join(err, errAsk); err == nil && len(r.RepeatOf) == 1 {
			return
		}
	}
	t.Fatalf("not usable: %v", err)
}

// harm are the ways in which a file is damaged.
var harm = map[string]func(r *rand.Rand, b []byte) []byte{
	"bit": func(r *rand.Rand, b []byte) []byte { b[r.IntN(len(b))] ^= 1 << r.IntN(8); return b },
	"three pages": func(r *rand.Rand, b []byte) []byte {
		for range 3 {
			page := b[r.IntN(len(b)/4096)*4096:][:4096]
			for i := range page {
				page[i] = byte(r.Uint32())
			}
		}
		return b
	},
	"header": func(r *rand.Rand, b []byte) []byte {
		b[r.IntN(len(b)/4096)*4096+r.IntN(64)] ^= 1 << r.IntN(8)
		return b
	},
	"swapped": func(r *rand.Rand, b []byte) []byte {
		p, q := b[r.IntN(len(b)/4096)*4096:][:4096], b[r.IntN(len(b)/4096)*4096:][:4096]
		was := bytes.Clone(p)
		copy(p, q)
		copy(q, was)
		return b
	},
	"cut": func(r *rand.Rand, b []byte) []byte { return b[:r.IntN(len(b))] },
}

func quiet() *slog.Logger { return slog.New(slog.DiscardHandler) }

func mustOpenQuietly(t *testing.T, path string, now func() time.Time) *Store {
	t.Helper()
	s, err := Open(Config{Path: path, Retention: Default().Retention, Now: now, Logger: quiet()})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// TestDamageAtTheStart: whatever was done to a file, the store opens, and answers as before or not at all. What Check does
// not find changes no answer.
func TestDamageAtTheStart(t *testing.T) {
	when := time.Now()
	now := func() time.Time { return when }
	data := mustFill(t, now)
	path := filepath.Join(t.TempDir(), "lookup.db")
	mustWrite(t, path, data)
	if found := mustCheck(t, path); found > 0 {
		t.Fatalf("%d findings in a sound file", found)
	}
	s := mustOpenQuietly(t, path, now)
	want := answers(t, s)
	s.Close()
	for name, do := range harm {
		t.Run(name, func(t *testing.T) {
			r := rand.New(rand.NewPCG(1, uint64(len(name))))
			var harmless, atOpen, atRead, unseen int
			for range tries {
				path := filepath.Join(t.TempDir(), "lookup.db")
				mustWrite(t, path, do(r, bytes.Clone(data)))
				found, older := mustCheck(t, path), olderMeta(t, path)
				s := mustOpenQuietly(t, path, now)
				got := answers(t, s)
				aside, _ := filepath.Glob(path + ".damaged-*")
				switch same := reflect.DeepEqual(got, want); {
				case same && len(aside) == 0:
					harmless++
				case len(aside) > 0 && got == nil && s.file.times == 0:
					atOpen++
				case len(aside) > 0:
					atRead++
				case older: // the state before the last transaction, and its cursor
					harmless++
				default:
					unseen++
					t.Errorf("other answers, and nobody says so: %d findings", found)
				}
				if len(aside) > 0 && found == 0 {
					t.Error("moved aside, and Check finds nothing")
				}
				usable(t, s)
				if err := s.Close(); err != nil {
					t.Error(err)
				}
			}
			t.Logf("%d tries: %d harmless, %d found when it was opened, %d when it was read, %d unseen", tries, harmless,
				atOpen, atRead, unseen)
		})
	}
}

// TestDamageWhileRunning: bbolt reads the file as it is now. A process goes on over what has changed beneath it.
func TestDamageWhileRunning(t *testing.T) {
	when := time.Now()
	now := func() time.Time { return when }
	data := mustFill(t, now)
	r := rand.New(rand.NewPCG(2, 2))
	var damaged int
	for i := range tries {
		path := filepath.Join(t.TempDir(), "lookup.db")
		mustWrite(t, path, data)
		s := mustOpenQuietly(t, path, now)
		name := []string{"three pages", "bit", "header"}[i%3]
		mustWrite(t, path, harm[name](r, bytes.Clone(data)))
		if i%10 == 0 {
			if err := os.Truncate(path, int64(r.IntN(len(data)))); err != nil {
				t.Fatal(err)
			}
		}
		if i%2 == 0 {
			answers(t, s)
		}
		if err := s.Apply(t.Context(), []lookup.Change{event(r.IntN(damagedEvents))}); err != nil &&
			!errors.Is(err, lookup.ErrUnavailable) && !errors.Is(err, lookup.ErrRewound) {
			t.Fatal(err)
		}
		damaged += s.file.times
		usable(t, s)
		_ = s.Close()
	}
	t.Logf("%d of %d moved aside", damaged, tries)
	if damaged == 0 {
		t.Error("no damage was ever noticed")
	}
}

// TestWhoAppliesIsTold: between damage and the new beginning nothing is answered, and no old cursor is stored.
func TestWhoAppliesIsTold(t *testing.T) {
	path := filepath.Join(t.TempDir(), "lookup.db")
	s := mustOpenQuietly(t, path, time.Now)
	defer s.Close()
	ctx := t.Context()
	if err := errors.Join(s.Apply(ctx, []lookup.Change{event(1)}), s.Put(ctx, "c", []byte("1"))); err != nil {
		t.Fatal(err)
	}
	s.file.replace(errDamaged)
	if _, err := s.Reuse(ctx, "", "1", lookup.Page{}); !errors.Is(err, lookup.ErrUnavailable) {
		t.Errorf("asked: %v", err)
	}
	for what, err := range map[string]error{"check": s.Check(ctx), "apply": s.Apply(ctx, nil),
		"put": s.Put(ctx, "c", []byte("2"))} {
		if !errors.Is(err, lookup.ErrRewound) {
			t.Errorf("%s: %v", what, err)
		}
	}
	if v, err := s.Get(ctx, "c"); v != nil || err != nil {
		t.Errorf("cursor %q, %v", v, err)
	}
	if r, err := s.Reuse(ctx, "", "1", lookup.Page{}); err != nil || len(r.RepeatOf) > 0 {
		t.Errorf("%+v, %v", r, err)
	}
	usable(t, s)
}

func TestWhatIsNoIndex(t *testing.T) {
	for name, content := range map[string]string{"text": "this is no index\n", "zeros": strings.Repeat("\x00", 100_000),
		"empty": "", "a byte": "x"} {
		path := filepath.Join(t.TempDir(), "lookup.db")
		mustWrite(t, path, []byte(content))
		s := mustOpenQuietly(t, path, time.Now)
		usable(t, s)
		s.Close()
		if aside, _ := filepath.Glob(path + ".damaged-*"); len(aside) != min(1, len(content)) {
			t.Errorf("%s: %q", name, aside)
		}
	}
	if _, err := Open(with(t.TempDir())); err == nil || !strings.Contains(err.Error(), "is a directory") {
		t.Errorf("a directory: %v", err)
	}
	path := filepath.Join(t.TempDir(), "lookup.db")
	mustWrite(t, path, []byte("secret"))
	if err := os.Chmod(path, 0); err != nil {
		t.Fatal(err)
	}
	if _, err := Open(with(path)); os.Getuid() != 0 && (err == nil || !strings.Contains(err.Error(), "right to read")) {
		t.Errorf("no right to read: %v", err)
	}
}

// TestTheLastDamagedFilesAreKept, and a file that breaks again and again is left alone.
func TestTheLastDamagedFilesAreKept(t *testing.T) {
	path := filepath.Join(t.TempDir(), "lookup.db")
	s := mustOpenQuietly(t, path, time.Now)
	defer s.Close()
	for range maxDamages - 1 {
		s.file.replace(errDamaged)
		usable(t, s)
		time.Sleep(2 * time.Millisecond) // the names have milliseconds
	}
	if aside, _ := filepath.Glob(path + ".damaged-*"); len(aside) != maxDamagedFiles {
		t.Errorf("%q", aside)
	}
	s.file.replace(errDamaged)
	if err := s.Check(t.Context()); !errors.Is(err, lookup.ErrUnavailable) {
		t.Errorf("%v", err)
	}
}

// TestAnEarlierFormatIsBegunAnew: files whose entries had no sums.
func TestAnEarlierFormatIsBegunAnew(t *testing.T) {
	path := filepath.Join(t.TempDir(), "lookup.db")
	s := mustOpenQuietly(t, path, time.Now)
	err := s.file.update(t.Context(), func(tx *bbolt.Tx) error {
		b, err := tx.CreateBucket([]byte(unsummedBucket))
		return errors.Join(err, tx.DeleteBucket(cursorBucket), b.Put([]byte("c"), []byte("7")))
	})
	if err = errors.Join(err, s.file.close()); err != nil {
		t.Fatal(err)
	}
	s = mustOpenQuietly(t, path, time.Now)
	defer s.Close()
	if v, err := s.Get(t.Context(), "c"); v != nil || err != nil {
		t.Errorf("%q, %v", v, err)
	}
	usable(t, s)
}

func mustWrite(t *testing.T, path string, data []byte) {
	t.Helper()
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE, 0o600)
	if err == nil {
		_, err = f.WriteAt(data, 0)
		err = errors.Join(err, f.Close())
	}
	if err != nil {
		t.Fatal(err)
	}
}

// olderMeta reports whether nothing but a meta page is damaged.
func olderMeta(t *testing.T, path string) (metas bool) {
	t.Helper()
	_, err := Check(path, func(f Finding) { metas = strings.HasPrefix(f.Reason, "meta page") }, nil)
	if err != nil {
		t.Fatal(err)
	}
	return metas
}

func mustCheck(t *testing.T, path string) (found int) {
	t.Helper()
	if _, err := Check(path, func(Finding) { found++ }, nil); err != nil {
		t.Fatal(err)
	}
	return found
}

func with(path string) Config {
	c := Default()
	c.Path, c.Logger = path, quiet()
	return c
}
