package compose_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"refrain/internal/config"
	"refrain/server"
)

// clusterProject is what the tests read of docker-compose.cluster.yml.
type clusterProject struct {
	Services map[string]struct {
		Image       string
		Build       struct{ Context, Target string }
		Command     []string
		Environment map[string]string
		Ports       []string
		Volumes     []string
		Secrets     []string
		ReadOnly    bool     `yaml:"read_only"`
		CapDrop     []string `yaml:"cap_drop"`
		MemLimit    string   `yaml:"mem_limit"`
	}
	Volumes map[string]any
	Secrets map[string]struct{ File string }
}

func mustCluster(t *testing.T) clusterProject {
	t.Helper()
	return mustDecode[clusterProject](t, "../../docker-compose.cluster.yml")
}

// clusterSecrets are what make-secrets makes, in a directory of the test's.
func clusterSecrets(t *testing.T) (dir string) {
	t.Helper()
	dir = t.TempDir()
	script := filepath.Join(dir, "make-secrets")
	if err := os.WriteFile(script, mustRead(t, "cluster/make-secrets"), 0o700); err != nil {
		t.Fatal(err)
	}
	for range 2 { // the second time nothing changes
		before := readAll(t, filepath.Join(dir, "secrets"))
		if out, err := exec.Command(script).CombinedOutput(); err != nil {
			t.Fatalf("make-secrets: %v: %s", err, out)
		}
		if after := readAll(t, filepath.Join(dir, "secrets")); before != "" && after != before {
			t.Error("make-secrets writes over secrets that are there")
		}
	}
	return filepath.Join(dir, "secrets")
}

// readAll is what is in the files of a directory.
func readAll(t *testing.T, dir string) (all string) {
	t.Helper()
	files, _ := filepath.Glob(filepath.Join(dir, "*")) // the pattern is well formed
	for _, f := range files {
		all += f + ": " + string(mustRead(t, f)) + "\n"
	}
	return all
}

// clusterConfigs are the configurations that the containers of Refrain have, by service.
func clusterConfigs(t *testing.T, p clusterProject) map[string]server.Config {
	t.Helper()
	file, all := filepath.Join(t.TempDir(), "refrain.yaml"), map[string]server.Config{}
	settings := strings.ReplaceAll(string(mustRead(t, "cluster/refrain.yaml")), "/run/secrets", clusterSecrets(t))
	if err := os.WriteFile(file, []byte(settings), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, s := range p.Services {
		if s.Build.Target != "refrain" {
			continue
		}
		environ := regexp.MustCompile(`REFRAIN_\w+=\S+`).FindAllString(string(mustRead(t, "../../Dockerfile")), -1)
		for variable, value := range s.Environment {
			environ = append(environ, variable+"="+value)
		}
		c, err := config.Load(file, environ)
		if err == nil {
			err = c.Validate()
		}
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		all[name] = c
	}
	return all
}

// TestClusterConfigurations: each container's is valid, they have names of their own, and together all roles.
func TestClusterConfigurations(t *testing.T) {
	roles := map[string]int{}
	for name, c := range clusterConfigs(t, mustCluster(t)) {
		if want := "http://" + name + ":8080"; c.Worker != name || c.Cluster.Address != want {
			t.Errorf("%s: worker %s, cluster.address %s: want the service's name, by which the others reach it", name, c.Worker, c.Cluster.Address)
		}
		if c.HTTP != "0.0.0.0:8080" || c.DataDir != "/data" {
			t.Errorf("%s: http %s, data_dir %s", name, c.HTTP, c.DataDir)
		}
		for _, r := range c.Roles {
			roles[r]++
		}
	}
	want := map[string]int{"match": 3, "split": 2, "api": 2, "publish": 2, "lookup": 2}
	if fmt.Sprint(roles) != fmt.Sprint(want) {
		t.Errorf("roles %v, want %v", roles, want)
	}
}

// TestClusterNames: what is named is there: brokers, topics, secrets, files, and for Prometheus every process.
func TestClusterNames(t *testing.T) {
	p := mustCluster(t)
	c := clusterConfigs(t, p)["split-1"]
	brokers := append(append(c.Topics.Kafka.Brokers, c.Ingest.Kafka[0].Brokers...), c.Publish.Kafka[0].Brokers...)
	for _, b := range append(brokers, strings.Split(argument(t, p.Services["setup"].Command, "-kafka"), ",")...) {
		if _, ok := p.Services[hostOf(t, b)]; !ok {
			t.Errorf("there is no service %s", b)
		}
	}
	topics := strings.Split(argument(t, p.Services["setup"].Command, "-topics"), ",")
	for _, topic := range []string{c.Ingest.Kafka[0].Topics[0], c.Publish.Kafka[0].Topic, argument(t, p.Services["feeder"].Command, "-topic")} {
		if !slices.Contains(topics, topic) {
			t.Errorf("topic %s is not among those that setup makes, %q", topic, topics)
		}
	}
	made := clusterSecrets(t)
	for name, s := range p.Secrets {
		mustRead(t, filepath.Join(made, filepath.Base(s.File)))
		if filepath.Base(s.File) != name {
			t.Errorf("secret %s is file %s", name, s.File)
		}
	}
}

// TestClusterIsWatched: Prometheus asks every process, once.
func TestClusterIsWatched(t *testing.T) {
	prometheus := mustDecode[struct {
		ScrapeConfigs []struct {
			Job    string                       `yaml:"job_name"`
			Static []struct{ Targets []string } `yaml:"static_configs"`
		} `yaml:"scrape_configs"`
	}](t, "cluster/prometheus.yaml")
	var targets, want []string
	for _, s := range prometheus.ScrapeConfigs[0].Static {
		targets = append(targets, s.Targets...)
	}
	for name, s := range mustCluster(t).Services {
		if s.Build.Target == "refrain" {
			want = append(want, name+":8080")
		}
	}
	slices.Sort(targets)
	slices.Sort(want)
	if !slices.Equal(targets, want) {
		t.Errorf("targets %q, want %q", targets, want)
	}
}

// TestClusterContainers: ports on this machine only, versions pinned, no rights that are not needed, memory bounded, and what is
// mounted there.
func TestClusterContainers(t *testing.T) {
	p := mustCluster(t)
	for name, s := range p.Services {
		for _, port := range s.Ports {
			if !strings.HasPrefix(port, "127.0.0.1:") {
				t.Errorf("%s: port %s is open to the network", name, port)
			}
		}
		if s.Build.Target == "" && !regexp.MustCompile(`:v?\d+\.\d+\.\d+$`).MatchString(s.Image) {
			t.Errorf("%s: image %s without an exact version", name, s.Image)
		}
		if !slices.Contains(s.CapDrop, "ALL") || s.MemLimit == "" || s.Build.Target != "" && !s.ReadOnly {
			t.Errorf("%s: want cap_drop ALL, mem_limit, and of ours read_only", name)
		}
		for _, secret := range s.Secrets {
			if _, ok := p.Secrets[secret]; !ok {
				t.Errorf("%s: there is no secret %s", name, secret)
			}
		}
		for _, v := range s.Volumes {
			source, _, _ := strings.Cut(v, ":")
			if path, here := strings.CutPrefix(source, "./"); here {
				if _, err := os.Stat("../../" + path); err != nil {
					t.Errorf("%s: %v", name, err)
				}
			} else if _, ok := p.Volumes[source]; !ok {
				t.Errorf("%s: there is no volume %s", name, source)
			}
		}
	}
}
