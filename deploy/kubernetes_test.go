package deploy_test

import (
	"bytes"
	"errors"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"

	"refrain/internal/config"
)

// manifest is what the test reads of an object of Kubernetes.
type manifest struct {
	Kind string
	Data map[string]string
	Spec struct {
		Replicas int
		Template struct{ Spec pod }
	}
}

type pod struct {
	EnableServiceLinks *bool `yaml:"enableServiceLinks"`
	Containers         []struct {
		VolumeMounts []struct {
			Path string `yaml:"mountPath"`
		} `yaml:"volumeMounts"`
	}
}

func mustManifests(t *testing.T) map[string]manifest {
	t.Helper()
	all := map[string]manifest{}
	for _, m := range mustDecodeAll[manifest](t, mustRead(t, "kubernetes.yaml")) {
		all[m.Kind] = m
	}
	return all
}

// mustDecodeAll reads the documents of a file of YAML.
func mustDecodeAll[T any](t *testing.T, data []byte) (all []T) {
	t.Helper()
	for d := yaml.NewDecoder(bytes.NewReader(data)); ; {
		var v T
		if err := d.Decode(&v); errors.Is(err, io.EOF) {
			return all
		} else if err != nil {
			t.Fatal(err)
		}
		all = append(all, v)
	}
}

// TestKubernetes: the settings of the manifest are valid in the environment that the image has, and the paths that both
// name are mounted.
func TestKubernetes(t *testing.T) {
	all := mustManifests(t)
	set := all["StatefulSet"].Spec
	if set.Replicas != 1 || len(set.Template.Spec.Containers) != 1 {
		t.Fatalf("%d replicas of %d containers, want one of one", set.Replicas, len(set.Template.Spec.Containers))
	}
	// Else Kubernetes puts variables for a Service called refrain beside the settings in the environment.
	if links := set.Template.Spec.EnableServiceLinks; links == nil || *links {
		t.Error("enableServiceLinks is on: a variable like REFRAIN_PORT keeps the service from starting")
	}
	mounted := map[string]bool{}
	for _, m := range set.Template.Spec.Containers[0].VolumeMounts {
		mounted[m.Path] = true
	}
	for _, path := range []string{"/data", "/etc/refrain.yaml", filepath.Dir(kubernetesToken)} {
		if !mounted[path] {
			t.Errorf("%s is not mounted", path)
		}
	}
	checkSettings(t, all["ConfigMap"].Data["refrain.yaml"])
}

const kubernetesToken = "/run/secrets/refrain/token"

// checkSettings loads them with a token that is here.
func checkSettings(t *testing.T, settings string) {
	t.Helper()
	dir := t.TempDir()
	token, file := filepath.Join(dir, "token"), filepath.Join(dir, "refrain.yaml")
	settings = strings.ReplaceAll(settings, kubernetesToken, token)
	for path, content := range map[string]string{token: strings.Repeat("0f", 32), file: settings} {
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	dockerfile := string(mustRead(t, "../Dockerfile"))
	c, err := config.Load(file, regexp.MustCompile(`REFRAIN_\w+=\S+`).FindAllString(dockerfile, -1))
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Validate(); err != nil {
		t.Error(err)
	}
	if c.HTTP != "0.0.0.0:8080" || c.DataDir != "/data" {
		t.Errorf("http %s, data_dir %s", c.HTTP, c.DataDir)
	}
}
