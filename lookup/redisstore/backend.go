package redisstore

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sort"
	"strconv"
	"strings"
	"sync"

	"github.com/redis/go-redis/v9"

	"refrain/feed"
	"refrain/lookup/record"
)

// backend keeps the values as strings and the parts of sets as sorted sets: score the time, member the name.
type backend struct {
	client redis.UniversalClient
	prefix string
}

var _ record.Backend = (*backend)(nil)

// maxPipelined is the most commands sent before their answers are read.
const maxPipelined = 2000

// send runs commands in pipelines of at most maxPipelined, in order.
func send[C redis.Cmder](ctx context.Context, b *backend, commands []C) error {
	for chunk := range slices.Chunk(commands, maxPipelined) {
		pipe := b.client.Pipeline()
		for _, cmd := range chunk {
			if err := pipe.Process(ctx, cmd); err != nil {
				return err
			}
		}
		if _, err := pipe.Exec(ctx); err != nil && !errors.Is(err, redis.Nil) {
			return unavailable(err)
		}
		for _, cmd := range chunk { // Exec tells the first error, which may be a Nil that hides another
			if err := cmd.Err(); err != nil && !errors.Is(err, redis.Nil) {
				return unavailable(err)
			}
		}
	}
	return nil
}

// Load implements record.Backend.
func (b *backend) Load(ctx context.Context, keys []string) ([][]byte, error) {
	commands := make([]*redis.StringCmd, len(keys))
	for i, key := range keys {
		commands[i] = redis.NewStringCmd(ctx, "get", b.prefix+key)
	}
	if err := send(ctx, b, commands); err != nil {
		return nil, err
	}
	values := make([][]byte, len(keys))
	for i := range commands {
		values[i], _ = commands[i].Bytes() // what is left is Nil: there is none
	}
	return values, nil
}

// part is the key of a set's slice.
func (b *backend) part(set string, slice record.Slice) string {
	return b.prefix + set + strconv.FormatInt(int64(slice), 36)
}

// Write implements record.Backend.
func (b *backend) Write(ctx context.Context, w *record.Batch) error {
	ttl := w.TTL.Milliseconds() + 1
	commands := make([]redis.Cmder, 0, len(w.Values)+len(w.Remove)+2*len(w.Add))
	for i := range w.Values {
		commands = append(commands, redis.NewStatusCmd(ctx, "set", b.prefix+w.Values[i].Key, w.Values[i].Data, "px", ttl))
	}
	for i := range w.Remove {
		e := &w.Remove[i]
		commands = append(commands, redis.NewIntCmd(ctx, "zrem", b.part(e.Set, e.Slice), e.Member.Name))
	}
	return send(ctx, b, append(commands, b.additions(ctx, w, ttl)...))
}

// additions adds to each part at once. A crash between a part's addition and its time to live would keep it for ever,
// but for the events being applied again.
func (b *backend) additions(ctx context.Context, w *record.Batch, ttl int64) (commands []redis.Cmder) {
	parts := map[string][]any{}
	capped := map[string]bool{}
	for i := range w.Add {
		e := &w.Add[i]
		key := b.part(e.Set, e.Slice)
		if parts[key] == nil {
			parts[key] = []any{"zadd", key}
		}
		parts[key] = append(parts[key], score(e.Member.Time), e.Member.Name)
		capped[key] = e.Capped
	}
	for key, args := range parts {
		commands = append(commands, redis.NewIntCmd(ctx, args...), redis.NewBoolCmd(ctx, "pexpire", key, ttl))
		if capped[key] {
			commands = append(commands, redis.NewIntCmd(ctx, "zremrangebyrank", key, 0, -w.Cap-1))
		}
	}
	return commands
}

func score(t feed.Time) string { return strconv.FormatInt(int64(t), 10) }

// Count implements record.Backend. Names at exactly the first time have to be looked at.
func (b *backend) Count(ctx context.Context, spans []record.Span) ([]int, error) {
	behind := make([]*redis.IntCmd, len(spans))
	at := make([]*redis.StringSliceCmd, len(spans))
	commands := make([]redis.Cmder, 0, 2*len(spans))
	for i := range spans {
		key, t := b.part(spans[i].Set, spans[i].Slice), score(spans[i].After.Time)
		behind[i] = redis.NewIntCmd(ctx, "zcount", key, "("+t, "+inf")
		at[i] = redis.NewStringSliceCmd(ctx, "zrangebyscore", key, t, t)
		commands = append(commands, behind[i], at[i])
	}
	if err := send(ctx, b, commands); err != nil {
		return nil, err
	}
	counts := make([]int, len(spans))
	for i := range spans {
		counts[i] = int(behind[i].Val())
		for _, name := range at[i].Val() {
			if name > spans[i].After.Name {
				counts[i]++
			}
		}
	}
	return counts, nil
}

// Scan implements record.Backend. A cursor is the address of a server and Redis's own cursor there.
func (b *backend) Scan(ctx context.Context, prefix, cursor string, limit int) (keys []string, next string, err error) {
	servers, err := b.servers(ctx)
	if err != nil {
		return nil, "", err
	}
	address, at, _ := strings.Cut(cursor, " ")
	i := sort.Search(len(servers), func(i int) bool { return servers[i].Options().Addr >= address })
	if i == len(servers) {
		return nil, "", nil
	}
	var from uint64
	if servers[i].Options().Addr == address {
		from, _ = strconv.ParseUint(at, 10, 64) // written below
	}
	keys, from, err = servers[i].Scan(ctx, from, escape(b.prefix+prefix)+"*", int64(limit)).Result()
	if err != nil {
		return nil, "", unavailable(err)
	}
	for i := range keys {
		keys[i] = keys[i][len(b.prefix):]
	}
	if from == 0 {
		i++
	}
	if i == len(servers) {
		return keys, "", nil
	}
	return keys, servers[i].Options().Addr + " " + strconv.FormatUint(from, 10), nil
}

// servers are those that hold keys, by address.
func (b *backend) servers(ctx context.Context) (all []*redis.Client, err error) {
	switch c := b.client.(type) {
	case *redis.Client:
		return []*redis.Client{c}, nil
	case *redis.ClusterClient:
		var mu sync.Mutex
		err = c.ForEachMaster(ctx, func(_ context.Context, master *redis.Client) error {
			mu.Lock()
			defer mu.Unlock()
			all = append(all, master)
			return nil
		})
		slices.SortFunc(all, func(a, b *redis.Client) int { return strings.Compare(a.Options().Addr, b.Options().Addr) })
		return all, unavailable(err)
	}
	return nil, fmt.Errorf("redis: cannot list the keys of a %T", b.client)
}

// escape makes a pattern of what is to be taken as it is.
func escape(s string) string {
	return strings.NewReplacer(`\`, `\\`, `*`, `\*`, `?`, `\?`, `[`, `\[`, `]`, `\]`).Replace(s)
}

// Range implements record.Backend.
func (b *backend) Range(ctx context.Context, spans []record.Span) ([][]record.Member, error) {
	commands := make([]*redis.ZSliceCmd, len(spans))
	for i := range spans {
		commands[i] = b.reversed(ctx, &spans[i], 0)
	}
	if err := send(ctx, b, commands); err != nil {
		return nil, err
	}
	out := make([][]record.Member, len(spans))
	for i := range spans {
		var err error
		if out[i], err = b.rest(ctx, &spans[i], commands[i]); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// reversed asks for the members of a span without regard to names, the latest first.
func (b *backend) reversed(ctx context.Context, s *record.Span, offset int) *redis.ZSliceCmd {
	upTo := "+inf"
	if s.Before != nil {
		upTo = score(s.Before.Time)
	}
	return redis.NewZSliceCmd(ctx, "zrevrangebyscore", b.part(s.Set, s.Slice), upTo, score(s.After.Time), "withscores",
		"limit", offset, s.Limit)
}

// rest keeps those of a span, and asks for more while names at one time hide them.
func (b *backend) rest(ctx context.Context, s *record.Span, got *redis.ZSliceCmd) (members []record.Member, err error) {
	for offset := s.Limit; ; offset += s.Limit {
		for _, z := range got.Val() {
			m := record.Member{Time: feed.Time(z.Score), Name: z.Member.(string)}
			if s.After.Less(m) && (s.Before == nil || m.Less(*s.Before)) && len(members) < s.Limit {
				members = append(members, m)
			}
		}
		if len(got.Val()) < s.Limit || len(members) >= s.Limit {
			return members, nil
		}
		got = b.reversed(ctx, s, offset)
		if err := send(ctx, b, []*redis.ZSliceCmd{got}); err != nil {
			return nil, err
		}
	}
}
