package deploy_test

import (
	"fmt"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"
)

// job is what the test reads of the Job for an archive. That its command line works is tested in cmd/refrain.
type job struct {
	Kind string
	Spec struct {
		CompletionMode           string `yaml:"completionMode"`
		Completions, Parallelism int
		BackoffLimitPerIndex     int `yaml:"backoffLimitPerIndex"`
		Template                 struct {
			Spec struct {
				RestartPolicy string `yaml:"restartPolicy"`
				Containers    []struct {
					Args []string
				}
			}
		}
	}
}

// TestBackfillJob: every slice belongs to one pod, and what the command line names is mounted.
func TestBackfillJob(t *testing.T) {
	var j job
	if err := yaml.Unmarshal(mustRead(t, "backfill.yaml"), &j); err != nil {
		t.Fatal(err)
	}
	s := j.Spec
	if j.Kind != "Job" || s.CompletionMode != "Indexed" || s.Completions != s.Parallelism || s.BackoffLimitPerIndex < 1 ||
		len(s.Template.Spec.Containers) != 1 {
		t.Fatalf("%+v", j)
	}
	args := s.Template.Spec.Containers[0].Args
	want := fmt.Sprintf("--slices=$(JOB_COMPLETION_INDEX)/%d", s.Completions)
	if all := strings.Join(args, " "); args[0] != "backfill" || !strings.Contains(all, want) {
		t.Errorf("%q: want %s in it", args, want)
	}
	if s.Template.Spec.RestartPolicy != "Never" { // which pods of an Indexed Job with a limit for each index must have
		t.Errorf("restartPolicy %s", s.Template.Spec.RestartPolicy)
	}
	for _, arg := range args[1:] {
		if path := arg[strings.Index(arg, "=")+1:]; strings.HasPrefix(path, "/") && !strings.HasPrefix(path, "/archive/") {
			t.Errorf("%s is not on the volume", arg)
		}
	}
}
