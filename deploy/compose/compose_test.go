// Package compose holds what docker-compose.yml at the root of the repository needs: the configuration of Refrain
// there, and small programs around it. This test keeps the files in step.
package compose_test

import (
	"net"
	"net/url"
	"os"
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

func mustProject(t *testing.T) project {
	t.Helper()
	var p project
	if err := yaml.Unmarshal(mustRead(t, "../../docker-compose.yml"), &p); err != nil {
		t.Fatal(err)
	}
	return p
}

func mustRead(t *testing.T, path string) []byte {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// plain is the value of a variable as Compose fills it in when nobody sets it.
func plain(value string) string {
	return regexp.MustCompile(`\$\{\w+:-(.*)\}`).ReplaceAllString(value, "$1")
}

// mustConfig loads the configuration in the environment that the container has: the image's and the service's.
func mustConfig(t *testing.T, p project) server.Config {
	t.Helper()
	var environ []string
	for name, value := range p.Services["refrain"].Environment {
		t.Setenv(name, plain(value))
		environ = append(environ, name+"="+plain(value))
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
	} else if _, err := webhooks.NewWebhook(plain(got)); err != nil {
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
			if !strings.Contains(s.Image, ":") || strings.HasSuffix(s.Image, ":latest") {
				t.Errorf("%s: image %s without a version", name, s.Image)
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
	if len(goVersion) < 2 || !strings.Contains(dockerfile, "golang:"+goVersion[1]+" ") {
		t.Errorf("go.mod wants Go %q, and the Dockerfile builds with another", goVersion)
	}
}
