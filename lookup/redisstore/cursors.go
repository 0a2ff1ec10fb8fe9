package redisstore

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"

	"refrain/lookup"
	"refrain/topic"
)

// cursors keeps the cursor, and finds out when Redis has gone back.
//
// Redis may come back empty, from an older copy, or without its last second (appendfsync everysec). What survives is
// what was written before some moment. So after the data of each call of Apply a new number is written, the batch; and
// a cursor is written only where the batch and the cursor before it are those that were last written. If one of them
// is not, data may be missing: ErrRewound, and the cursor that is there now stands for no more than the data there.
//
// A cursor that was never stored is "none", so that emptied and new can be told apart.
type cursors struct {
	client redis.UniversalClient
	prefix string
	owner  string
	logger *slog.Logger
	leased time.Time // when the lease was last renewed

	mu    sync.Mutex
	known map[string]states // by full key: what may be there
}

// states is the values that a key may have: more than one when a write was not answered.
type states []string

const none = "\x00"

func (c *cursors) cursorKey(key string) string { return c.prefix + "{cursor}:" + key }
func (c *cursors) batchKey() string            { return c.prefix + "{cursor}batch" }

// get reads a cursor, and from then on it is what has to be there.
func (c *cursors) get(ctx context.Context, key string) ([]byte, error) {
	if err := topic.CheckKey(key); err != nil {
		return nil, fmt.Errorf("get: %w", err)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if err := c.lease(ctx); err != nil {
		return nil, err
	}
	full := c.cursorKey(key)
	if err := c.client.SetNX(ctx, full, none, 0).Err(); err != nil {
		return nil, unavailable(err)
	}
	now, err := c.client.MGet(ctx, full, c.batchKey()).Result()
	if err != nil {
		return nil, unavailable(err)
	}
	if len(c.known) == 0 {
		c.warnOfEviction(ctx)
	}
	cursor := text(now[0])
	c.known[full], c.known[c.batchKey()] = states{cursor}, states{text(now[1])}
	value, ours := strings.CutPrefix(cursor, c.ownPrefix())
	if cursor == none || cursor == "" || !ours {
		return nil, nil
	}
	return []byte(value), nil
}

// ownPrefix is what our cursors begin with.
func (c *cursors) ownPrefix() string {
	if c.owner == "" {
		return ""
	}
	return c.owner + " "
}

const (
	leaseTime  = 30 * time.Second
	leaseRenew = 5 * time.Second
)

// acquireLease sets KEYS[1] to ARGV[1] for ARGV[2] milliseconds, unless it is somebody else's: then it says whose.
var acquireLease = redis.NewScript(`
local now = redis.call('GET', KEYS[1])
if now and now ~= ARGV[1] then return now end
redis.call('SET', KEYS[1], ARGV[1], 'PX', ARGV[2])
return ''`)

// dropLease deletes KEYS[1] if it is ARGV[1].
var dropLease = redis.NewScript(`if redis.call('GET', KEYS[1]) == ARGV[1] then redis.call('DEL', KEYS[1]) end return ''`)

func (c *cursors) leaseKey() string { return c.prefix + "{cursor}owner" }

// lease makes sure, now and then, that nobody else applies under this prefix: two would take each other's cursors.
func (c *cursors) lease(ctx context.Context) error {
	if c.owner == "" || time.Since(c.leased) < leaseRenew {
		return nil
	}
	other, err := acquireLease.Run(ctx, c.client, []string{c.leaseKey()}, c.owner, leaseTime.Milliseconds()).Text()
	if err != nil {
		return unavailable(err)
	}
	if other != "" {
		return fmt.Errorf("redis: prefix %q is in use by another server, or was %v ago: each data directory needs a "+
			"prefix of its own (lookup.redis.prefix)",
			c.prefix, leaseTime)
	}
	c.leased = time.Now()
	return nil
}

// release lets another server begin at once.
func (c *cursors) release() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.leased.IsZero() {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), dialTimeout)
	defer cancel()
	_ = dropLease.Run(ctx, c.client, []string{c.leaseKey()}, c.owner).Err() // it ends by itself too
}

// warnOfEviction says when Redis may throw away what it is to keep.
func (c *cursors) warnOfEviction(ctx context.Context) {
	if p := policy(ctx, c.client); p != "" && p != "noeviction" {
		c.logger.Warn("redis: keys may be thrown away when memory is full, and answers be incomplete; set "+
			"maxmemory-policy noeviction", "maxmemory_policy", p)
	}
}

func text(v any) string {
	s, _ := v.(string) // nil: there is none
	return s
}

// check fails with ErrRewound when anything known is not there any more.
func (c *cursors) check(ctx context.Context) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if err := c.lease(ctx); err != nil {
		return err
	}
	if len(c.known) == 0 {
		return nil // nobody has asked for a cursor: there is nothing to go back to
	}
	keys := make([]string, 0, len(c.known))
	for key := range c.known {
		keys = append(keys, key)
	}
	now, err := c.client.MGet(ctx, keys...).Result()
	if err != nil {
		return unavailable(err)
	}
	for i, key := range keys {
		if v := text(now[i]); !slices.Contains(c.known[key], v) {
			return rewound(key)
		}
	}
	return nil
}

// holds is check for those who only ask: it does not wait for writes under way, and takes no lease.
func (c *cursors) holds(ctx context.Context) error {
	before := c.snapshot()
	if len(before) == 0 {
		return nil
	}
	keys := slices.Collect(maps.Keys(before))
	now, err := c.client.MGet(ctx, keys...).Result()
	if err != nil {
		return unavailable(err)
	}
	after := c.snapshot()
	for i, key := range keys {
		if v := text(now[i]); !slices.Contains(before[key], v) && !slices.Contains(after[key], v) {
			return c.check(ctx) // it is lost, or several batches have been written meanwhile
		}
	}
	return nil
}

func (c *cursors) snapshot() map[string]states {
	c.mu.Lock()
	defer c.mu.Unlock()
	return maps.Clone(c.known)
}

func rewound(key string) error {
	return fmt.Errorf("redis: %w: %s is not what was last stored", lookup.ErrRewound, key)
}

// applied writes a new batch number after the data.
func (c *cursors) applied(ctx context.Context) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.known) == 0 {
		return nil
	}
	number := rand.Text()
	c.known[c.batchKey()] = append(c.known[c.batchKey()], number)
	if err := c.client.Set(ctx, c.batchKey(), number, 0).Err(); err != nil {
		return unavailable(err)
	}
	c.known[c.batchKey()] = states{number}
	return nil
}

// store sets KEYS[1] to ARGV[1] if KEYS[2] is ARGV[2] and KEYS[1] is one of the others, or has been set already.
var store = redis.NewScript(`
local batch = redis.call('GET', KEYS[2]) or ''
if batch ~= ARGV[2] then return KEYS[2] end
local now = redis.call('GET', KEYS[1]) or ''
for i = 1, #ARGV do
  if i ~= 2 and now == ARGV[i] then
    redis.call('SET', KEYS[1], ARGV[1])
    return ''
  end
end
return KEYS[1]`)

// errUnsettled says that a batch was not finished.
var errUnsettled = errors.New("put: the last Apply has failed")

// put stores a cursor.
func (c *cursors) put(ctx context.Context, key string, value []byte) error {
	if err := topic.CheckKey(key); err != nil {
		return fmt.Errorf("put: %w", err)
	}
	full := c.cursorKey(key)
	if !c.knows(full) {
		if _, err := c.get(ctx, key); err != nil { // the first to write need not have read
			return err
		}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	batch := c.known[c.batchKey()]
	if len(batch) != 1 {
		return errUnsettled
	}
	before := c.known[full]
	stored := c.ownPrefix() + string(value)
	if !slices.Contains(before, stored) {
		c.known[full] = append(slices.Clone(before), stored)
	}
	args := []any{stored, batch[0]}
	for _, v := range before {
		args = append(args, v)
	}
	wrong, err := store.Run(ctx, c.client, []string{full, c.batchKey()}, args...).Text()
	if err != nil {
		return unavailable(err)
	}
	if wrong != "" {
		return rewound(wrong)
	}
	c.known[full] = states{stored}
	return nil
}

func (c *cursors) knows(full string) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.known[full]) > 0
}
