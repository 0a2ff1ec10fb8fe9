// Package jetstream keeps topics in NATS JetStream streams.
//
// The streams live in a server inside this process with a data directory (Start), which is the default of the
// program; whatever takes a jetstream.JetStream works on the connection to a remote server just as well.
// docs/design/0001-embedded-jetstream.md says why.
//
// Nothing is promised of this package: see docs/ARCHITECTURE.md, Public packages.
package jetstream

import (
	"errors"
	"fmt"
	"log/slog"
	"os"
	"sync"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	js "github.com/nats-io/nats.go/jetstream"
	"golang.org/x/time/rate"

	"refrain/internal/check"
)

// Config says where and how the server inside the process keeps its data.
type Config struct {
	// Dir is the data directory; it is made if need be. One process at a time uses it.
	Dir string

	// Claim is asked for the directory when it is this process's alone, before anything in it is read or written.
	Claim func(dir string) error

	// Sync makes every append reach the disk (fsync) before it is acknowledged. Without it an acknowledged
	// record is in the kernel's hands: it survives the end of this process, kill -9 included, but of a power cut
	// or a kernel crash the last two minutes may be lost. It costs a disk write per record.
	Sync bool

	// MaxPayload is the largest record in bytes; 1 to 1 GiB.
	MaxPayload int

	// MinFree is the space in bytes that appending leaves free on the disk; 0 or more. Positions are still stored
	// in it, and the server is spared a full disk, after which it takes nothing until it is restarted.
	MinFree int64

	// Pace is how many bytes a second are appended to all topics together, 1 or more; two seconds of it may come at once.
	// Appends wait. The server keeps in memory what came within ten seconds.
	Pace int

	// Logger gets the server's log.
	Logger *slog.Logger
}

// Default is a server that still wants its directory.
func Default() Config {
	return Config{
		Claim:      func(string) error { return nil },
		MaxPayload: 8 << 20, MinFree: 64 << 20, Pace: defaultPace, Logger: slog.Default(),
	}
}

func (c *Config) validate() error {
	var large error
	if c.MaxPayload > maxMaxPayload {
		large = fmt.Errorf("max payload: %d, want %d or less", c.MaxPayload, maxMaxPayload)
	}
	return errors.Join(check.Set("path", c.Dir != ""), check.Set("claim", c.Claim != nil), check.AtLeast(1, "max payload", c.MaxPayload), large,
		check.AtLeast(0, "min free", c.MinFree), check.AtLeast(1, "pace", c.Pace),
		check.Set("logger", c.Logger != nil))
}

const (
	maxMaxPayload = 1 << 30
	readyWait     = 30 * time.Second
	// maxStore switches the server's own limit off: it takes what is free at the start for all there is, also of
	// a directory that it has filled itself. MinFree does the work.
	maxStore = 1 << 50
)

// Server is a NATS server with JetStream inside this process. It listens on no port, and handles no signals.
type Server struct {
	cfg  Config
	lock *os.File
	nats *server.Server
	log  *logger
	conn *nats.Conn
	js   js.JetStream
	pace *rate.Limiter
	lost map[string]damage // by stream, what its files lacked at the start

	opening sync.Mutex
	begun   map[string]bool // topics that have begun an incarnation since the start

	once   sync.Once
	closed error // what Close returned the first time
}

// Start opens the data directory and runs a server on it. What the directory held is served again when Start
// returns. An *InUseError says that another process has it.
func Start(cfg Config) (*Server, error) {
	s, err := start(cfg)
	var inUse *InUseError
	if errors.As(err, &inUse) {
		return nil, err // it names the directory itself
	}
	if err != nil {
		return nil, fmt.Errorf("data directory %s: %w", cfg.Dir, err)
	}
	return s, nil
}

func start(cfg Config) (*Server, error) {
	if err := cfg.validate(); err != nil {
		return nil, err
	}
	if err := os.MkdirAll(cfg.Dir, 0o700); err != nil {
		return nil, err
	}
	lock, err := lockDir(cfg.Dir)
	if err != nil {
		return nil, err
	}
	s := &Server{cfg: cfg, lock: lock, log: newLogger(cfg.Logger), pace: newPace(cfg.Pace), begun: map[string]bool{}}
	if err := s.open(); err != nil {
		return nil, errors.Join(err, s.Close())
	}
	return s, nil
}

func (s *Server) open() (err error) {
	if err := s.cfg.Claim(s.cfg.Dir); err != nil {
		return err
	}
	if s.lost, err = inspect(s.cfg.Dir, s.cfg.Logger); err != nil {
		return err
	}
	return s.run()
}

func (s *Server) run() error {
	var err error
	if s.nats, err = server.NewServer(s.options()); err != nil {
		return fmt.Errorf("make server: %w", err)
	}
	s.nats.SetLoggerV2(s.log, false, false, false)
	s.nats.Start()
	if !s.nats.ReadyForConnections(readyWait) || !s.nats.JetStreamEnabled() {
		return fmt.Errorf("server is not ready%s", s.log.hint())
	}
	if s.conn, err = s.Connect("refrain"); err != nil {
		return err
	}
	s.js, err = NewJetStream(s.conn)
	return err
}

func (s *Server) options() *server.Options {
	return &server.Options{
		ServerName:             "refrain",
		DontListen:             true,
		NoSigs:                 true,
		JetStream:              true,
		StoreDir:               s.cfg.Dir,
		SyncAlways:             s.cfg.Sync,
		JetStreamMaxStore:      maxStore,
		MaxPayload:             int32(s.cfg.MaxPayload),
		MaxPending:             max(server.MAX_PENDING_SIZE, 4*int64(s.cfg.MaxPayload)),
		DisableJetStreamBanner: true,
	}
}

// Connect makes a further connection to the server, which the caller closes. It finds the server again by itself
// should the server drop it.
func (s *Server) Connect(name string) (*nats.Conn, error) {
	conn, err := nats.Connect("", nats.InProcessServer(s.nats), nats.Name(name),
		nats.MaxReconnects(-1), nats.ReconnectWait(100*time.Millisecond), nats.ErrorHandler(s.asyncError))
	if err != nil {
		return nil, fmt.Errorf("connect to the server in this process: %w", err)
	}
	return conn, nil
}

// asyncError logs an error that the client had outside of any call, and has dealt with.
func (s *Server) asyncError(_ *nats.Conn, _ *nats.Subscription, err error) {
	s.cfg.Logger.Warn("connection to the server in this process", "component", "nats", "error", err)
}

// JetStream is the client through which the topics and stores of this server are opened.
func (s *Server) JetStream() js.JetStream { return s.js }

// Check says why the server takes no records, nil when it does: it has stopped writing after a disk error, or there
// is too little space left. Appends to its topics ask the same.
func (s *Server) Check() error {
	if err := s.log.check(); err != nil {
		return fmt.Errorf("data directory %s: %w", s.cfg.Dir, err)
	}
	if !s.nats.JetStreamEnabled() {
		return fmt.Errorf("data directory %s: storage is switched off%s", s.cfg.Dir, s.log.hint())
	}
	return checkFree(s.cfg.Dir, s.cfg.MinFree)
}

// Close ends the server and gives the directory free. Everything acknowledged is on its way to the disk when it
// returns. Readers are to be closed before; one that is not ends with an error. Closing twice does nothing.
func (s *Server) Close() error {
	s.once.Do(func() { s.closed = s.close() })
	return s.closed
}

func (s *Server) close() error {
	if s.conn != nil {
		s.conn.Close()
	}
	if s.nats != nil {
		s.nats.Shutdown()
		s.nats.WaitForShutdown()
	}
	if err := s.lock.Close(); err != nil {
		return fmt.Errorf("close lock of data directory %s: %w", s.cfg.Dir, err)
	}
	return nil
}
