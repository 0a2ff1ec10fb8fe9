package server

import (
	"cmp"
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"strings"

	"refrain/feed"
	"refrain/ingest"
	"refrain/ingest/bluesky"
	"refrain/ingest/file"
	httpsource "refrain/ingest/http"
	kafkasource "refrain/ingest/kafka"
	"refrain/ingest/mapping"
	natssource "refrain/ingest/nats"
	"refrain/topic"
)

// openSources puts the sources of the configuration on the route.
func (s *Server) openSources(ctx context.Context) error {
	ingest.Count(ctx, &ingest.Batch{}) // the counters are there before the first post
	if err := s.openHTTP(); err != nil {
		return err
	}
	for i := range s.cfg.Ingest.Kafka {
		if err := s.openKafka(ctx, i, &s.cfg.Ingest.Kafka[i]); err != nil {
			return err
		}
	}
	for i := range s.cfg.Ingest.NATS {
		if err := s.openNATS(ctx, i, &s.cfg.Ingest.NATS[i]); err != nil {
			return err
		}
	}
	for i := range s.cfg.Ingest.Files {
		if err := s.addFile(&s.cfg.Ingest.Files[i]); err != nil {
			return err
		}
	}
	if s.cfg.Ingest.Bluesky.Enabled {
		return s.addBluesky()
	}
	return nil
}

// addFile puts a file on the route: here, or where it is dealt to. It is read from its beginning wherever it begins anew: what
// comes again changes nothing.
func (s *Server) addFile(f *File) error {
	if s.cfg.onBroker() {
		s.addRunner(roleSplit, "file/"+f.Path, func(ctx context.Context) error { return s.runFile(ctx, f) })
		return nil
	}
	src, err := s.openFile(f)
	if err != nil {
		return err
	}
	s.AddSource(f.Path, src)
	return nil
}

// runFile reads a file to its end. Without it the service goes on.
func (s *Server) runFile(ctx context.Context, f *File) error {
	src, err := s.openFile(f)
	if err != nil {
		return s.ends(f.Path, err)
	}
	status, err := ingest.NewStatus(f.Path)
	if err != nil {
		return errors.Join(err, src.Close())
	}
	defer status.Close()
	return s.runSource(ctx, source{name: f.Path, Source: observedSource{src, status}, status: status})
}

func (s *Server) addBluesky() error {
	if !s.cfg.onBroker() {
		src, status, err := s.openBluesky(bluesky.CursorDir(s.cfg.DataDir))
		if err == nil {
			s.addSource("bluesky", src, status)
		}
		return err
	}
	s.addRunner(roleSplit, "bluesky", func(ctx context.Context) error {
		src, status, err := s.openBluesky(storedCursor{s.node.store})
		if err != nil {
			return err
		}
		defer status.Close()
		return s.runSource(ctx, source{name: "bluesky", Source: src, status: status})
	})
	return nil
}

// storedCursor keeps the firehose's cursor where all processes find it.
type storedCursor struct{ topic.Store }

func (c storedCursor) Get(ctx context.Context, key string) ([]byte, error) {
	return c.Store.Get(ctx, cursorKey(key))
}

func (c storedCursor) Put(ctx context.Context, key string, value []byte) error {
	return c.Store.Put(ctx, cursorKey(key), value)
}

func cursorKey(key string) string { return "sources/" + hex.EncodeToString([]byte("cursor/"+key)) }

func (s *Server) openHTTP() (err error) {
	cfg := httpsource.Default()
	cfg.Now = s.now
	h := &s.cfg.Ingest.HTTP
	if cfg.Fields, err = parseFields("ingest.http", &h.Config); err != nil {
		return err
	}
	cfg.FieldsOf = h.With
	l := &s.cfg.Limits
	cfg.MaxUploads, cfg.UploadBytes, cfg.ReadTimeout = l.Uploads, int64(l.UploadBytes), l.ReadTimeout
	cfg.MaxBody, cfg.Now, cfg.Logger = int64(s.cfg.Ingest.Body), s.now, s.log
	cfg.Sender, cfg.Admit, cfg.Room, cfg.Owed = senderOf, s.quotas.admit, s.quotas.room, s.quotas.exceeded
	if s.node.owners != nil {
		cfg.Spread = (&spread{n: s.node}).await
	}
	s.http, err = httpsource.New(cfg)
	return err
}

// parseFields is what a source's configuration says of its posts; key is its path there.
func parseFields(key string, cfg *mapping.Config) (*feed.Fields, error) {
	fields, err := cfg.Fields()
	if err != nil {
		return nil, fmt.Errorf("configuration: %s.%w", key, err)
	}
	return fields, nil
}

func (s *Server) openFile(f *File) (*file.Source, error) {
	cfg := file.Default(f.Path)
	cfg.Format, cfg.Encoding, cfg.RecordsAt, cfg.SourceName = f.Format, f.Encoding, f.Records, f.Source
	cfg.OnRecognised = func(path, what string) { s.log.Info("file recognised by its first bytes", "file", path, "as", what) }
	if err := f.File(&cfg); err != nil {
		return nil, fmt.Errorf("configuration: ingest.files: %s.%w", f.Path, err)
	}
	return file.Open(cfg)
}

// openBluesky opens the firehose, resumed from its cursor.
func (s *Server) openBluesky(cursors bluesky.Cursors) (*bluesky.Source, *ingest.Status, error) {
	cfg := bluesky.Default()
	cfg.URL = cmp.Or(s.cfg.Ingest.Bluesky.URL, cfg.URL)
	cfg.Cursors, cfg.Logger = cursors, s.log
	cfg.UserAgent = strings.TrimSuffix("Refrain/"+s.cfg.Version, "/")
	status, err := ingest.NewStatus("bluesky")
	if err != nil {
		return nil, nil, err
	}
	cfg.Status = status
	src, err := bluesky.New(cfg)
	return src, status, err
}

// touchWaiting tells split of the partitions that wait: they are silent, and not idle.
func (s *Server) touchWaiting() {
	for _, src := range s.lazySources {
		for _, partition := range src.Waiting() {
			s.node.split.Touch(partition)
		}
	}
}

// opener opens a source, which says by assigned what it will read before it does.
type opener func(ctx context.Context, assigned func(context.Context, []string) error) (brokerSource, error)

// addLazySource puts a source on the route that is behind a network.
func (s *Server) addLazySource(ctx context.Context, name string, status *ingest.Status, open opener) error {
	src := &lazySource{name: name, log: s.log, store: s.node.store, expect: s.node.split.Expect, status: status}
	src.open = func(ctx context.Context) (brokerSource, error) { return open(ctx, src.assign) }
	if err := src.recall(ctx); err != nil {
		return err
	}
	s.addSource(name, src, status)
	s.lazySources = append(s.lazySources, src)
	s.firstTries = append(s.firstTries, func(ctx context.Context) error {
		err := src.try(ctx, name, s.log)
		if _, opened := src.peek(); !opened {
			status.Failed(opening, errNotReached)
		}
		return err
	})
	return nil
}

func (s *Server) openKafka(ctx context.Context, i int, k *KafkaSource) error {
	fields, err := parseFields(fmt.Sprintf("ingest.kafka[%d]", i), &k.Config)
	if err != nil {
		return err
	}
	conn, err := kafkaConn(&k.KafkaCluster)
	if err != nil {
		return fmt.Errorf("configuration: ingest.kafka[%d]: %w", i, err)
	}
	cfg := kafkasource.Default()
	cfg.Conn, cfg.Topics, cfg.Group, cfg.Start = conn, k.Topics, k.group(), cmp.Or(k.Start, cfg.Start)
	cfg.Fields, cfg.SourceName, cfg.MaxRecord = fields, k.Source, cmp.Or(int64(k.MaxRecord), cfg.MaxRecord)
	cfg.Tombstones = cmp.Or(k.Tombstones, cfg.Tombstones)
	cfg.MaxAhead, cfg.Logger = s.cfg.Window.MaxHold/4*3, s.log // the rest is for what is out of order
	name := "kafka/" + cfg.Group
	if cfg.Status, err = ingest.NewStatus(name); err != nil {
		return err
	}
	return s.addLazySource(ctx, name, cfg.Status,
		func(ctx context.Context, assigned func(context.Context, []string) error) (brokerSource, error) {
			cfg.Assigned = assigned
			return kafkasource.Open(ctx, cfg)
		})
}

func (s *Server) openNATS(ctx context.Context, i int, n *NATSSource) error {
	fields, err := parseFields(fmt.Sprintf("ingest.nats[%d]", i), &n.Config)
	if err != nil {
		return err
	}
	conn, err := natsConn(&n.NATSServer)
	if err != nil {
		return fmt.Errorf("configuration: ingest.nats[%d]: %w", i, err)
	}
	cfg := natssource.Default()
	cfg.Conn, cfg.Stream, cfg.Consumer, cfg.Subject, cfg.Start = conn, n.Stream, n.consumer(), n.Subject,
		cmp.Or(n.Start, cfg.Start)
	cfg.Fields, cfg.SourceName, cfg.MaxRecord = fields, n.Source, cmp.Or(int(n.MaxRecord), cfg.MaxRecord)
	cfg.Logger = s.log
	name := "nats/" + cfg.Stream + "/" + cfg.Consumer
	if cfg.Status, err = ingest.NewStatus(name); err != nil {
		return err
	}
	return s.addLazySource(ctx, name, cfg.Status,
		func(ctx context.Context, assigned func(context.Context, []string) error) (brokerSource, error) {
			cfg.Assigned = assigned
			return natssource.Open(ctx, cfg)
		})
}
