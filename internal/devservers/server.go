package devservers

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// Server is a test's own server. It runs until the test ends, and a test that panics or runs out of time leaves
// none behind. Its methods may be called from any goroutine of the test, by one at a time.
type Server struct {
	tb     testing.TB
	script string
	dir    string
	addr   string
	env    []string
}

// StartKafka starts a broker like the shared one. It takes three seconds and 400 MB. Like the other two it skips
// the test on a machine where deploy/dev/install has not been. env are variables of deploy/dev/kafka: KAFKA_PROPERTIES=...
func StartKafka(tb testing.TB, env ...string) *Server {
	tb.Helper()
	return start(tb, "kafka", env...)
}

// StartRedis starts a Redis, with more settings: "--appendonly", "no".
func StartRedis(tb testing.TB, args ...string) *Server {
	tb.Helper()
	return start(tb, "redis", "REDIS_ARGS="+strings.Join(args, " "))
}

// StartNATS starts a NATS server with JetStream. env are variables of deploy/dev/nats: NATS_CONFIG=...
func StartNATS(tb testing.TB, env ...string) *Server {
	tb.Helper()
	return start(tb, "nats", env...)
}

// notInstalled is the exit status of a script whose server is not on the machine.
const notInstalled = 3

func start(tb testing.TB, name string, env ...string) *Server {
	tb.Helper()
	s := &Server{tb: tb, script: filepath.Join(scripts(tb), name), dir: tb.TempDir(), env: env}
	s.endWithTheTest()
	err := s.run("start")
	if exit := (*exec.ExitError)(nil); errors.As(err, &exit) && exit.ExitCode() == notInstalled {
		tb.Skip("no server: ", err)
	}
	if err != nil {
		tb.Fatal(err)
	}
	addr, err := os.ReadFile(filepath.Join(s.dir, name+".addr"))
	if err != nil {
		tb.Fatal(err)
	}
	s.addr = strings.TrimSpace(string(addr))
	return s
}

// Addr returns where the server is, or was and will be: HOST:PORT; of NATS a URL.
func (s *Server) Addr() string { return s.addr }

// Dir is where the server has its data, of Kafka in data and of NATS in jetstream, and its files.
func (s *Server) Dir() string { return s.dir }

// SetEnv replaces the variables that the server is started with the next time.
func (s *Server) SetEnv(env ...string) { s.env = env }

// Stop ends the server in good order.
func (s *Server) Stop() { s.must("stop") }

// Kill ends the server with SIGKILL.
func (s *Server) Kill() { s.must("kill") }

// Pause stops the server where it is: its connections stay and nothing is answered, until Continue.
func (s *Server) Pause() { s.must("pause") }

// Continue lets a paused server go on.
func (s *Server) Continue() { s.must("continue") }

// Start starts a stopped or killed server again, at its address and with its data, and returns when it is ready.
func (s *Server) Start() { s.must("start") }

func (s *Server) must(command ...string) {
	s.tb.Helper()
	if err := s.run(command...); err != nil {
		s.tb.Error(err)
	}
}

// run runs a command of the script on the server's directory, with what else it takes. A failure's error is what it
// wrote to stderr.
func (s *Server) run(command ...string) error {
	stderr, err := os.CreateTemp(s.dir, "stderr")
	if err != nil {
		return err
	}
	defer stderr.Close()
	cmd := exec.Command(s.script, slices.Insert(command, 1, s.dir)...)
	cmd.Env = append(os.Environ(), s.env...)
	cmd.Stderr = stderr // a file: with a pipe, Wait would wait for the server, which holds the other end
	if err := cmd.Run(); err != nil {
		output, _ := os.ReadFile(stderr.Name())
		return fmt.Errorf("%s %s: %w: %s", filepath.Base(s.script), strings.Join(command, " "), err, bytes.TrimSpace(output))
	}
	return nil
}

// endWithTheTest starts a guard, which kills the server when this process closes the guard's input: in a test's
// cleanup, or by ending without one.
func (s *Server) endWithTheTest() {
	s.tb.Helper()
	guard := exec.Command("bash", "-c", `cat; [ ! -d "$1" ] || exec "$0" kill "$1"`, s.script, s.dir)
	input, err := guard.StdinPipe()
	if err == nil {
		err = guard.Start()
	}
	if err != nil {
		s.tb.Skip("no server: a guard for it: ", err)
	}
	s.tb.Cleanup(func() { s.end(guard, input) })
}

func (s *Server) end(guard *exec.Cmd, input io.Closer) {
	if err := errors.Join(input.Close(), guard.Wait()); err != nil {
		s.tb.Errorf("kill %s: %v", filepath.Base(s.script), err)
	}
}

// scripts is deploy/dev of the repository: the first folder above the test's with a go.mod has it.
func scripts(tb testing.TB) string {
	tb.Helper()
	dir, err := os.Getwd()
	if err != nil {
		tb.Fatal(err)
	}
	for up := ""; up != dir; up, dir = dir, filepath.Dir(dir) {
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
			return filepath.Join(dir, "deploy", "dev")
		}
	}
	tb.Fatal("no go.mod above the test")
	return ""
}
