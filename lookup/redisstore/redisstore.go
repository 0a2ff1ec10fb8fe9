// Package redisstore keeps the lookup index in Redis.
//
// Every key is the prefix, a letter and a name (lookup/record); a part of a set has its slice at the end. Commands name
// one key each, the cursor's excepted, which share a hash tag: so it works on Redis Cluster. Everything but the cursor
// has a time to live.
//
// Nothing is promised of this package: see docs/ARCHITECTURE.md, Public packages.
package redisstore

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/url"
	"strings"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/logging"

	"refrain/feed"
	"refrain/internal/check"
	"refrain/internal/wirecheck"
	"refrain/lookup"
	"refrain/lookup/record"
)

// Config says where the index is, and how long it keeps things.
type Config struct {
	// URL is redis://[user:password@]host:port/db, or rediss:// for TLS. With ?addr=host:port, once or more, it names
	// nodes of a cluster.
	URL       string
	Prefix    string        // of every key; "": none
	Retention time.Duration // of wall time; above 0
	// Owner is who applies, the same at every start on the same event topic. Another one that applies under the same
	// prefix at the same time is refused; one that did so before has left a cursor that is of another topic, and is
	// passed over. "": nobody looks.
	Owner  string
	Now    func() time.Time
	Logger *slog.Logger
}

// Default is a server on this machine.
func Default() Config {
	d := record.Default()
	return Config{URL: "redis://127.0.0.1:6379/0", Prefix: "refrain:", Retention: d.Retention, Now: d.Now,
		Logger: slog.Default()}
}

// Store is the index in Redis. It is safe for concurrent use; two processes should not apply at the same time.
type Store struct {
	*record.Store
	client  redis.UniversalClient
	cursors cursors
}

var _ lookup.Store = (*Store)(nil)

// Open returns the index. It does not connect: while Redis is down every call says ErrUnavailable.
func Open(c Config) (*Store, error) {
	silence()
	b := &backend{prefix: c.Prefix}
	d := record.Default()
	d.Retention, d.Now = c.Retention, c.Now
	index, err := record.New(b, d)
	if err := errors.Join(err, check.Set("logger", c.Logger != nil)); err != nil {
		return nil, fmt.Errorf("redis: %w", err)
	}
	if b.client, err = connect(c.URL); err != nil {
		return nil, fmt.Errorf("redis: %w", err)
	}
	s := &Store{Store: index, client: b.client}
	s.cursors = cursors{client: b.client, prefix: c.Prefix, owner: c.Owner, logger: c.Logger, known: map[string]states{}}
	return s, nil
}

// silence stops the client library from printing by itself, for the whole process: what it says is in the errors too.
var silence = sync.OnceFunc(logging.Disable)

// CheckURL says whether an address is one of Redis, and does not connect.
func CheckURL(address string) error {
	client, err := connect(address)
	if err != nil {
		return err
	}
	return client.Close()
}

// connect reads the URL. The times are short, for who asks the API would rather be told than wait.
func connect(address string) (redis.UniversalClient, error) {
	u, err := parse(address)
	if err != nil {
		return nil, fmt.Errorf("url: %w", err)
	}
	if u.Query().Has("addr") {
		o, err := redis.ParseClusterURL(address)
		if err != nil {
			return nil, fmt.Errorf("url: %w", err)
		}
		o.DialTimeout, o.ReadTimeout, o.WriteTimeout, o.ContextTimeoutEnabled = dialTimeout, readTimeout, readTimeout, true
		o.NewClient = func(node *redis.Options) *redis.Client {
			node.Dialer = dialer(node)
			return redis.NewClient(node)
		}
		return redis.NewClusterClient(o), nil
	}
	o, err := redis.ParseURL(address)
	if err != nil {
		return nil, fmt.Errorf("url: %w", err)
	}
	o.DialTimeout, o.ReadTimeout, o.WriteTimeout, o.ContextTimeoutEnabled = dialTimeout, readTimeout, readTimeout, true
	o.MaxRetries, o.DialerRetries, o.PoolTimeout = 1, 1, readTimeout
	o.Dialer = dialer(o)
	return redis.NewClient(o), nil
}

// dialer is the library's own, TLS included, whose server is not believed everything.
func dialer(o *redis.Options) func(ctx context.Context, network, addr string) (net.Conn, error) {
	dial := redis.NewDialer(o)
	return func(ctx context.Context, network, addr string) (net.Conn, error) {
		conn, err := dial(ctx, network, addr)
		if err != nil {
			return nil, err
		}
		return wirecheck.Redis(conn), nil
	}
}

// parse refuses what the libraries would quote a piece of a password from: an @ behind the host ends a password that has
// one of /?# in it as it is. The path of a socket may have one.
func parse(address string) (*url.URL, error) {
	u, err := url.Parse(address)
	if err != nil || u.Scheme != "unix" && strings.Contains(u.EscapedPath()+u.RawQuery+u.EscapedFragment(), "@") {
		return nil, errors.New("not a URL (characters such as / in the password must be percent-encoded)")
	}
	return u, nil
}

const (
	dialTimeout = time.Second
	readTimeout = 2 * time.Second
)

// Apply implements lookup.Store. It first makes sure that Redis still holds what it was last given.
func (s *Store) Apply(ctx context.Context, changes []lookup.Change) error {
	if err := s.cursors.check(ctx); err != nil {
		return err
	}
	if err := s.Store.Apply(ctx, changes); err != nil {
		return err
	}
	return s.cursors.applied(ctx)
}

// Reuse implements lookup.Store.
func (s *Store) Reuse(ctx context.Context, source, post string, page lookup.Page) (lookup.Reuse, error) {
	if err := s.checkComplete(ctx); err != nil {
		return lookup.Reuse{}, err
	}
	return s.Store.Reuse(ctx, source, post, page)
}

// Text implements lookup.Store.
func (s *Store) Text(ctx context.Context, group feed.Hash, page lookup.Page) (lookup.Text, bool, error) {
	if err := s.checkComplete(ctx); err != nil {
		return lookup.Text{}, false, err
	}
	return s.Store.Text(ctx, group, page)
}

// Author implements lookup.Store.
func (s *Store) Author(ctx context.Context, source, author string, n int) ([]lookup.RepeatedBy, error) {
	if err := s.checkComplete(ctx); err != nil {
		return nil, err
	}
	return s.Store.Author(ctx, source, author, n)
}

// checkComplete fails when Redis has lost something: what is not there then is not known, and not absent.
func (s *Store) checkComplete(ctx context.Context) error {
	err := s.cursors.holds(ctx)
	if errors.Is(err, lookup.ErrRewound) {
		return fmt.Errorf("%w: %w", lookup.ErrUnavailable, err)
	}
	return err
}

// Get implements lookup.Store.
func (s *Store) Get(ctx context.Context, key string) ([]byte, error) { return s.cursors.get(ctx, key) }

// Put implements lookup.Store. It stores the cursor only where Redis still holds what it was last given.
func (s *Store) Put(ctx context.Context, key string, value []byte) error {
	return s.cursors.put(ctx, key, value)
}

// Check implements lookup.Store. There is time for what can wait.
func (s *Store) Check(ctx context.Context) error {
	if err := s.cursors.check(ctx); err != nil {
		return err
	}
	return s.Purge(ctx, record.PurgeIdle)
}

// Ping says why Redis does not let us in. That it cannot be reached now is no such reason.
func (s *Store) Ping(ctx context.Context) error {
	err := s.client.Ping(ctx).Err()
	var refused redis.Error
	if errors.As(err, &refused) && !redis.HasErrorPrefix(err, "LOADING") {
		return fmt.Errorf("redis: %w", err)
	}
	return nil
}

// Close implements lookup.Store.
func (s *Store) Close() error {
	s.cursors.release()
	return s.client.Close()
}

// unavailable marks what Redis, or the way to it, fails with.
func unavailable(err error) error {
	if err == nil || errors.Is(err, context.Canceled) {
		return err
	}
	return fmt.Errorf("redis: %w: %w", lookup.ErrUnavailable, err)
}

// policy returns what Redis does when its memory is full, "" when it does not say.
func policy(ctx context.Context, client redis.UniversalClient) string {
	info, err := client.Info(ctx, "memory").Result()
	if err != nil {
		return ""
	}
	for line := range strings.Lines(info) {
		if p, ok := strings.CutPrefix(strings.TrimSpace(line), "maxmemory_policy:"); ok {
			return p
		}
	}
	return ""
}
