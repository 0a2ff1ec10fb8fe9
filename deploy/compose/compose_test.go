// Package compose holds what docker-compose.yml at the root of the repository needs: the configuration of Refrain
// there, and small programs around it. This test keeps the files in step.
package compose_test

import (
	"net"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	webhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"
	"go.yaml.in/yaml/v3"

	"refrain/internal/config"
	"refrain/server"
)

// project is what the tests read of docker-compose.yml.
type project struct {
	Services map[string]struct {
		Image       string
		Build       struct{ Context, Target string }
		Command     []string
		Environment map[string]string
		Ports       []string
		Volumes     []string
		ReadOnly    bool     `yaml:"read_only"`
		CapDrop     []string `yaml:"cap_drop"`
	}
	Volumes map[string]any
}

// mustDecode reads a file of YAML.
func mustDecode[T any](t *testing.T, path string) (v T) {
	t.Helper()
	if err := yaml.Unmarshal(mustRead(t, path), &v); err != nil {
		t.Fatal(err)
	}
	return v
}

func mustProject(t *testing.T) project {
	t.Helper()
	return mustDecode[project](t, "../../docker-compose.yml")
}

func mustRead(t *testing.T, path string) []byte {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// secrets are what deploy/compose/secrets makes, here of its own.
func secrets(t *testing.T) map[string]string {
	t.Helper()
	dir := t.TempDir()
	for _, d := range []string{"deploy", "deploy/compose"} {
		if err := os.Mkdir(filepath.Join(dir, d), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	script := filepath.Join(dir, "deploy/compose/secrets")
	if err := os.WriteFile(script, mustRead(t, "secrets"), 0o700); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command(script).CombinedOutput(); err != nil {
		t.Fatalf("secrets: %v: %s", err, out)
	}
	if err := exec.Command(script).Run(); err == nil {
		t.Error("secrets writes over an .env that is there")
	}
	made := map[string]string{}
	for line := range strings.Lines(string(mustRead(t, filepath.Join(dir, ".env")))) {
		name, value, _ := strings.Cut(strings.TrimSpace(line), "=")
		made[name] = value
	}
	return made
}

// wanted is a variable that Compose does not start without.
var wanted = regexp.MustCompile(`^\$\{(\w+):\?.*\}$`)

// filled is a value as Compose fills it in.
func filled(value string, made map[string]string) string {
	if m := wanted.FindStringSubmatch(value); m != nil {
		return made[m[1]]
	}
	return value
}

// mustConfig loads the configuration in the environment that the container has: the image's and the service's.
func mustConfig(t *testing.T, p project) server.Config {
	t.Helper()
	var environ []string
	made := secrets(t)
	for name, value := range p.Services["refrain"].Environment {
		t.Setenv(name, filled(value, made))
		environ = append(environ, name+"="+filled(value, made))
	}
	dockerfile := string(mustRead(t, "../../Dockerfile"))
	environ = append(environ, regexp.MustCompile(`REFRAIN_\w+=\S+`).FindAllString(dockerfile, -1)...)
	c, err := config.Load("refrain.yaml", environ)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func TestConfigurationIsValid(t *testing.T) {
	c := mustConfig(t, mustProject(t))
	if err := c.Validate(); err != nil {
		t.Error(err)
	}
	if c.HTTP != "0.0.0.0:8080" || c.DataDir != "/data" {
		t.Errorf("http %s, data_dir %s: not what the image and its port say", c.HTTP, c.DataDir)
	}
	c.Auth.Tokens = nil
	if err := c.Validate(); err == nil {
		t.Error("open to the network without tokens, and no error")
	}
}

// TestNamesAgree: the addresses of the configuration are services, and topics and subjects those that setup makes.
func TestNamesAgree(t *testing.T) {
	p := mustProject(t)
	c := mustConfig(t, p)
	for _, address := range []string{
		c.Ingest.Kafka[0].Brokers[0], c.Publish.Kafka[0].Brokers[0], c.Publish.NATS[0].Servers[0],
		c.Publish.Webhooks[0].URL, string(c.Lookup.Redis.URL),
	} {
		host := hostOf(t, address)
		if _, ok := p.Services[host]; !ok {
			t.Errorf("the configuration names %q, and there is no such service", host)
		}
	}
	setup, feeder := p.Services["setup"].Command, p.Services["feeder"].Command
	topics := strings.Split(argument(t, setup, "-topics"), ",")
	for _, topic := range []string{c.Ingest.Kafka[0].Topics[0], c.Publish.Kafka[0].Topic, argument(t, feeder, "-topic")} {
		if !slices.Contains(topics, topic) {
			t.Errorf("topic %s is not among those that setup makes, %q", topic, topics)
		}
	}
	if got := argument(t, feeder, "-topic"); got != c.Ingest.Kafka[0].Topics[0] {
		t.Errorf("the feeder writes to %s, and Refrain reads %s", got, c.Ingest.Kafka[0].Topics[0])
	}
	if got := argument(t, setup, "-subject"); got != c.Publish.NATS[0].Subject {
		t.Errorf("setup makes a stream of %s, and events go to %s", got, c.Publish.NATS[0].Subject)
	}
	if got := p.Services["receiver"].Environment["WEBHOOK_SECRET"]; got != p.Services["refrain"].Environment["WEBHOOK_SECRET"] {
		t.Error("the receiver has another secret")
	} else if _, err := webhooks.NewWebhook(filled(got, secrets(t))); err != nil {
		t.Errorf("WEBHOOK_SECRET: %v", err)
	}
}

// hostOf is the host of a URL or of HOST:PORT.
func hostOf(t *testing.T, address string) string {
	t.Helper()
	if u, err := url.Parse(address); err == nil && u.Host != "" {
		return u.Hostname()
	}
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		t.Fatal(err)
	}
	return host
}

func argument(t *testing.T, command []string, name string) string {
	t.Helper()
	i := slices.Index(command, name)
	if i < 0 || i+1 == len(command) {
		t.Fatalf("%q has no %s", command, name)
	}
	return command[i+1]
}

// TestNothingPublicIsASecret: no token or secret has a value in what is published, and the token is good for what the
// example needs.
func TestNothingPublicIsASecret(t *testing.T) {
	p := mustProject(t)
	for name, s := range p.Services {
		for variable, value := range s.Environment {
			if strings.Contains(variable, "TOKEN") || strings.Contains(variable, "SECRET") {
				if !wanted.MatchString(value) {
					t.Errorf("%s: %s has the value %q for all the world", name, variable, value)
				}
			}
		}
	}
	for _, token := range mustConfig(t, p).Auth.Tokens {
		if !slices.Equal(token.Scopes, []string{"read"}) {
			t.Errorf("token %s: scopes %q, want read", token.Name, token.Scopes)
		}
	}
}

// TestGPU: the file for a GPU changes a service that is there, to an image that the Dockerfile makes, with CUDA, and with a
// setting that the program has. What the driver compiles goes to the volume.
func TestGPU(t *testing.T) {
	type override struct {
		Services map[string]struct {
			Image       string
			Build       struct{ Target string }
			Environment map[string]string
			Deploy      struct {
				Resources struct {
					Reservations struct {
						Devices []struct{ Capabilities []string }
					}
				}
			}
		}
	}
	s := mustDecode[override](t, "../../docker-compose.gpu.yml").Services["refrain"]
	if _, ok := mustProject(t).Services["refrain"]; !ok || s.Image != s.Build.Target {
		t.Errorf("%+v", s)
	}
	if devices := s.Deploy.Resources.Reservations.Devices; len(devices) != 1 || !slices.Equal(devices[0].Capabilities, []string{"gpu"}) {
		t.Errorf("devices %+v", devices)
	}
	var environ []string
	for name, value := range s.Environment {
		environ = append(environ, name+"="+value)
	}
	c, err := config.Load("refrain.yaml", environ)
	if err != nil || c.Window.Engine != "auto" && c.Window.Engine != "cuda" {
		t.Errorf("engine %q, %v", c.Window.Engine, err)
	}
	dockerfile := string(mustRead(t, "../../Dockerfile"))
	_, image, ok := strings.Cut(dockerfile, " AS "+s.Build.Target+"\n")
	image, _, _ = strings.Cut(image, "\nFROM ")
	for _, line := range []string{"COPY --from=build-cuda /out/cuda/refrain /", "CUDA_CACHE_PATH=/data/", "USER 65532:65532",
		"NVIDIA_DRIVER_CAPABILITIES=compute"} {
		if !ok || !strings.Contains(image, line) {
			t.Errorf("target %s lacks %s", s.Build.Target, line)
		}
	}
	_, build, _ := strings.Cut(dockerfile, "AS build-cuda\n")
	build, _, _ = strings.Cut(build, "\nFROM ")
	if strings.Contains(build, "nocuda") || !strings.Contains(build, "CGO_ENABLED=0") {
		t.Errorf("what is built has no CUDA, or wants a C compiler:\n%s", build)
	}
	if !strings.Contains(dockerfile[strings.LastIndex(dockerfile, "\nFROM "):], "FROM scratch AS refrain\n") {
		t.Error("docker build without a target makes another image than the static one")
	}
}

// TestImages: ports on this machine only, versions pinned, our own images locked up, and their targets there.
func TestImages(t *testing.T) {
	dockerfile := string(mustRead(t, "../../Dockerfile"))
	p := mustProject(t)
	if len(p.Services) != 7 {
		t.Errorf("%d services, want 7", len(p.Services))
	}
	for name, s := range p.Services {
		for _, port := range s.Ports {
			if !strings.HasPrefix(port, "127.0.0.1:") {
				t.Errorf("%s: port %s is open to the network", name, port)
			}
		}
		for _, v := range s.Volumes {
			source, _, _ := strings.Cut(v, ":")
			if path, here := strings.CutPrefix(source, "./"); here {
				mustRead(t, "../../"+path)
			} else if _, ok := p.Volumes[source]; !ok {
				t.Errorf("%s: there is no volume %s", name, source)
			}
		}
		if s.Build.Target == "" {
			if !regexp.MustCompile(`:\d+\.\d+\.\d+$|@sha256:[0-9a-f]{64}$`).MatchString(s.Image) {
				t.Errorf("%s: image %s without an exact version", name, s.Image)
			}
			continue
		}
		if !s.ReadOnly || !slices.Contains(s.CapDrop, "ALL") {
			t.Errorf("%s: want read_only and cap_drop ALL", name)
		}
		if !strings.Contains(dockerfile, "FROM scratch AS "+s.Build.Target+"\n") {
			t.Errorf("%s: the Dockerfile has no target %s", name, s.Build.Target)
		}
		if len(s.Command) > 0 && !strings.Contains(dockerfile, "./deploy/compose"+s.Command[0]) {
			t.Errorf("%s: the Dockerfile builds no %s", name, s.Command[0])
		}
	}
	goVersion := regexp.MustCompile(`(?m)^go (\d+\.\d+)`).FindStringSubmatch(string(mustRead(t, "../../go.mod")))
	if len(goVersion) < 2 || !regexp.MustCompile(`golang:`+regexp.QuoteMeta(goVersion[1])+`\.\d+ `).MatchString(dockerfile) {
		t.Errorf("go.mod wants Go %q, and the Dockerfile builds with another", goVersion)
	}
}
