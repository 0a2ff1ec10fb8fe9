package boltstore

import (
	"bytes"
	"context"
	"encoding/binary"
	"slices"
	"sort"
	"strings"
	"sync"

	"go.etcd.io/bbolt"

	"refrain/feed"
	"refrain/lookup/record"
)

// backend keeps values as KEY -> DATA and members as SET TIME NAME -> nothing, in the bucket of their slice. Time is
// 8 bytes, big endian, its sign bit turned, so that keys stand in the order of the members. All values have their sum
// behind them (sum.go).
type backend struct {
	file *file

	mu      sync.Mutex
	cursors map[string][]byte // as last put
}

var _ record.Backend = (*backend)(nil)

// bucket is the name of a slice's bucket, which sorts as the slices do.
func bucket(s record.Slice) []byte {
	return binary.BigEndian.AppendUint64([]byte{'s'}, uint64(s))
}

func sliceOf(name []byte) (s record.Slice, ok bool) {
	if len(name) != 9 || name[0] != 's' {
		return 0, false
	}
	return record.Slice(binary.BigEndian.Uint64(name[1:])), true
}

func memberKey(set string, m record.Member) []byte {
	b := make([]byte, 0, len(set)+8+len(m.Name))
	b = append(b, set...)
	b = binary.BigEndian.AppendUint64(b, uint64(m.Time)^1<<63)
	return append(b, m.Name...)
}

func memberOf(key []byte, set string) record.Member {
	rest := key[len(set):]
	return record.Member{Time: feed.Time(binary.BigEndian.Uint64(rest) ^ 1<<63), Name: string(rest[8:])}
}

// Load implements record.Backend: the newest value of each key.
func (b *backend) Load(ctx context.Context, keys []string) ([][]byte, error) {
	values := make([][]byte, len(keys))
	if len(keys) == 0 {
		return values, nil
	}
	err := b.file.view(ctx, func(tx *bbolt.Tx) error {
		for _, from := range newestFirst(tx) {
			for i, key := range keys {
				if values[i] != nil {
					continue
				}
				value, err := from.get([]byte(key))
				if err != nil {
					return err
				}
				values[i] = bytes.Clone(value)
			}
		}
		return nil
	})
	return values, err
}

// newestFirst returns the buckets of the newest slices, as many as may be alive.
func newestFirst(tx *bbolt.Tx) (buckets []named) {
	c := tx.Cursor()
	for name, _ := c.Last(); name != nil && len(buckets) <= record.Slices; name, _ = c.Prev() {
		if _, ok := sliceOf(name); ok {
			buckets = append(buckets, named{tx.Bucket(name), name})
		}
	}
	return buckets
}

// named is a bucket with its name.
type named struct {
	*bbolt.Bucket
	name []byte
}

// get returns a value without its sum, nil when there is none.
func (b named) get(key []byte) ([]byte, error) {
	stored := b.Get(key)
	if stored == nil {
		return nil, nil
	}
	return unseal(b.name, key, stored)
}

// Write implements record.Backend, in one transaction.
func (b *backend) Write(ctx context.Context, w *record.Batch) error {
	return b.file.update(ctx, func(tx *bbolt.Tx) error {
		e := editor{tx: tx, buckets: map[record.Slice]*bbolt.Bucket{}, err: b.putCursors(tx)}
		for i := range w.Values {
			e.value(&w.Values[i])
		}
		for i := range w.Remove {
			r := &w.Remove[i]
			e.delete(r.Slice, memberKey(r.Set, r.Member))
		}
		e.add(w)
		if e.err == nil {
			e.err = sweep(tx, w.Now)
		}
		return e.err
	})
}

// editor changes buckets until the first error.
type editor struct {
	tx      *bbolt.Tx
	buckets map[record.Slice]*bbolt.Bucket
	err     error
}

func (e *editor) bucket(s record.Slice) *bbolt.Bucket {
	b := e.buckets[s]
	if b == nil && e.err == nil {
		b, e.err = e.tx.CreateBucketIfNotExists(bucket(s))
		e.buckets[s] = b
	}
	return b
}

func (e *editor) put(s record.Slice, key, value []byte) {
	if b := e.bucket(s); e.err == nil {
		e.err = b.Put(key, seal(bucket(s), key, value))
	}
}

func (e *editor) delete(s record.Slice, key []byte) {
	if b := e.bucket(s); e.err == nil {
		e.err = b.Delete(key)
	}
}

// value moves a value to the bucket of its slice.
func (e *editor) value(v *record.Value) {
	if v.Was != 0 && v.Was != v.Slice {
		e.delete(v.Was, []byte(v.Key))
	}
	e.put(v.Slice, []byte(v.Key), v.Data)
}

// add adds members in the order of their keys, and cuts the parts that are capped.
func (e *editor) add(w *record.Batch) {
	type addition struct {
		slice record.Slice
		key   []byte
	}
	additions := make([]addition, 0, len(w.Add))
	capped := map[string]record.Slice{}
	for i := range w.Add {
		a := &w.Add[i]
		additions = append(additions, addition{a.Slice, memberKey(a.Set, a.Member)})
		if a.Capped {
			capped[a.Set] = a.Slice
		}
	}
	slices.SortFunc(additions, func(a, b addition) int { return bytes.Compare(a.key, b.key) })
	for _, a := range additions {
		e.put(a.slice, a.key, nil)
	}
	sets := make([]string, 0, len(capped))
	for set := range capped {
		sets = append(sets, set)
	}
	sort.Strings(sets)
	for _, set := range sets {
		e.trim(set, capped[set], w.Cap)
	}
}

// trim removes all but the last n members of a part.
func (e *editor) trim(set string, slice record.Slice, n int) {
	b := e.bucket(slice)
	if e.err != nil {
		return
	}
	c := b.Cursor()
	key, _ := last(c, []byte(set), nil)
	for range n {
		if key == nil || !bytes.HasPrefix(key, []byte(set)) {
			return
		}
		key, _ = c.Prev()
	}
	var over [][]byte
	for ; key != nil && bytes.HasPrefix(key, []byte(set)); key, _ = c.Prev() {
		over = append(over, bytes.Clone(key))
	}
	for _, key := range over {
		e.delete(slice, key)
	}
}

// last moves to the last key that is below before, or that begins with set when before is nil.
func last(c *bbolt.Cursor, set []byte, before []byte) (key, stored []byte) {
	if before == nil {
		before = append(bytes.Clone(set), 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff) // times have a lower bit
	}
	if key, _ := c.Seek(before); key == nil {
		return c.Last()
	}
	return c.Prev()
}

// maxSweepKeys is the most keys that one write removes of slices that are over: more than it can add.
const maxSweepKeys = 20_000

// sweep removes some of what is over, and a bucket once it is empty.
func sweep(tx *bbolt.Tx, now record.Slice) error {
	name, _ := tx.Cursor().Seek([]byte{'s'})
	slice, ok := sliceOf(name)
	if !ok || !slice.Dead(now) {
		return nil
	}
	b := tx.Bucket(name)
	c := b.Cursor()
	n := 0
	for key, _ := c.First(); key != nil && n < maxSweepKeys; key, _ = c.First() {
		if err := c.Delete(); err != nil {
			return err
		}
		n++
	}
	if n < maxSweepKeys {
		return tx.DeleteBucket(bytes.Clone(name))
	}
	return nil
}

// Range implements record.Backend.
func (b *backend) Range(ctx context.Context, spans []record.Span) ([][]record.Member, error) {
	out := make([][]record.Member, len(spans))
	err := b.file.view(ctx, func(tx *bbolt.Tx) error {
		for i := range spans {
			var err error
			if out[i], err = members(tx, &spans[i]); err != nil {
				return err
			}
		}
		return nil
	})
	return out, err
}

func members(tx *bbolt.Tx, s *record.Span) (out []record.Member, err error) {
	name := bucket(s.Slice)
	b := tx.Bucket(name)
	if b == nil {
		return nil, nil
	}
	var before []byte
	if s.Before != nil {
		before = memberKey(s.Set, *s.Before)
	}
	c := b.Cursor()
	after := memberKey(s.Set, s.After)
	for key, stored := last(c, []byte(s.Set), before); len(out) < s.Limit && within(key, after, s.Set); key, stored = c.Prev() {
		if _, err := unseal(name, key, stored); err != nil {
			return nil, err
		}
		out = append(out, memberOf(key, s.Set))
	}
	return out, nil
}

// within reports whether a key belongs to a set and lies after another.
func within(key, after []byte, set string) bool {
	return bytes.HasPrefix(key, []byte(set)) && bytes.Compare(key, after) > 0
}

// Scan implements record.Backend. A cursor is the name of a bucket and a key in it. A value moves to a newer bucket only,
// and those come later.
func (b *backend) Scan(ctx context.Context, prefix, cursor string, limit int) (keys []string, next string, err error) {
	err = b.file.view(ctx, func(tx *bbolt.Tx) error {
		buckets := tx.Cursor()
		name, _ := buckets.Seek([]byte(cursor[:min(len(cursor), len(bucket(0)))]))
		for ; name != nil; name, _ = buckets.Next() {
			if _, ok := sliceOf(name); !ok {
				continue
			}
			from := prefix
			if rest, ok := strings.CutPrefix(cursor, string(name)); ok {
				from = rest + "\x00" // behind it
			}
			c := tx.Bucket(name).Cursor()
			for key, _ := c.Seek([]byte(from)); bytes.HasPrefix(key, []byte(prefix)); key, _ = c.Next() {
				if keys = append(keys, string(key)); len(keys) == limit {
					next = string(name) + string(key)
					return nil
				}
			}
		}
		return nil
	})
	return keys, next, err
}

// Count implements record.Backend, by looking at every member.
func (b *backend) Count(ctx context.Context, spans []record.Span) ([]int, error) {
	out := make([]int, len(spans))
	err := b.file.view(ctx, func(tx *bbolt.Tx) error {
		for i, s := range spans {
			b := tx.Bucket(bucket(s.Slice))
			if b == nil {
				continue
			}
			c := b.Cursor()
			after := memberKey(s.Set, s.After)
			for key, _ := c.Seek(after); bytes.HasPrefix(key, []byte(s.Set)); key, _ = c.Next() {
				if !bytes.Equal(key, after) {
					out[i]++
				}
			}
		}
		return nil
	})
	return out, err
}
