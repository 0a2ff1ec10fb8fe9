package deploy_test

import (
	"bytes"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"

	"refrain/internal/config"
	"refrain/internal/devservers"
	"refrain/server"
)

// examples are the values that the chart is rendered with.
var examples = []string{"minimal", "kafka", "nats", "cuda", "everything"}

// object is what the tests read of an object of Kubernetes.
type object struct {
	Kind     string
	Metadata struct{ Name string }
	Data     map[string]string
	Spec     struct {
		Replicas                 int
		ServiceName              string `yaml:"serviceName"`
		ClusterIP                string `yaml:"clusterIP"`
		PublishNotReadyAddresses bool   `yaml:"publishNotReadyAddresses"`
		Selector                 any
		Template                 podTemplate
		Groups                   any
		Triggers                 []struct{ Metadata struct{ Query string } }
	}
}

type podTemplate struct {
	Metadata struct{ Labels, Annotations map[string]string }
	Spec     struct {
		EnableServiceLinks *bool             `yaml:"enableServiceLinks"`
		SecurityContext    securityContext   `yaml:"securityContext"`
		RuntimeClassName   string            `yaml:"runtimeClassName"`
		NodeSelector       map[string]string `yaml:"nodeSelector"`
		Tolerations        []struct{ Key string }
		Containers         []chartContainer `yaml:"containers"`
	}
}

type securityContext struct {
	RunAsNonRoot           bool `yaml:"runAsNonRoot"`
	ReadOnlyRootFilesystem bool `yaml:"readOnlyRootFilesystem"`
	Capabilities           struct{ Drop []string }
	SeccompProfile         struct{ Type string } `yaml:"seccompProfile"`
}

type chartContainer struct {
	Image           string
	Resources       struct{ Limits map[string]string }
	Args            []string
	Env             []struct{ Name, Value string }
	SecurityContext securityContext `yaml:"securityContext"`
	StartupProbe    probe           `yaml:"startupProbe"`
	LivenessProbe   probe           `yaml:"livenessProbe"`
	ReadinessProbe  probe           `yaml:"readinessProbe"`
}

type probe struct {
	HTTPGet struct{ Path string } `yaml:"httpGet"`
}

// helm runs it on the chart; the values of an example come with it.
func helm(t *testing.T, command, example string, args ...string) ([]byte, error) {
	t.Helper()
	args = append([]string{command}, args...)
	if command == "template" {
		args = append(args, "refrain", "--namespace", "reuse", "--kube-version", "1.34.0")
	}
	args = append(args, "helm/refrain", "--values", "helm/examples/"+example+".yaml")
	cmd := exec.Command(devservers.Helm(t), args...)
	cmd.Env = append(os.Environ(), "HELM_CACHE_HOME="+t.TempDir(), "HELM_CONFIG_HOME="+t.TempDir(), "HELM_DATA_HOME="+t.TempDir())
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		err = fmt.Errorf("helm %s: %w: %s%s", strings.Join(args, " "), err, out, stderr.Bytes())
	}
	return out, err
}

func mustRender(t *testing.T, example string, args ...string) []byte {
	t.Helper()
	out, err := helm(t, "template", example, args...)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// objects are those of a rendered chart, by kind and name.
func objects(t *testing.T, rendered []byte) map[string]object {
	t.Helper()
	all := map[string]object{}
	for _, o := range mustDecodeAll[object](t, rendered) {
		if o.Kind != "" {
			all[o.Kind+"/"+o.Metadata.Name] = o
		}
	}
	return all
}

// workloads are the objects that have pods.
func workloads(all map[string]object) (found []object) {
	for _, name := range slices.Sorted(maps.Keys(all)) {
		if o := all[name]; len(o.Spec.Template.Spec.Containers) > 0 {
			found = append(found, o)
		}
	}
	return found
}

// kubeconform checks manifests by the schemas of a version of Kubernetes. Those of operators are not at hand. An error names the object.
func kubeconform(t *testing.T, version string, manifests []byte) error {
	t.Helper()
	schemas := filepath.Join(devservers.KubernetesSchemas(t), version, "{{ .ResourceKind }}{{ .KindSuffix }}.json")
	cmd := exec.Command(devservers.Kubeconform(t), "-strict", "-summary", "-kubernetes-version", version,
		"-skip", "ScaledObject,PodMonitor,PrometheusRule", "-schema-location", schemas, "-")
	cmd.Stdin = bytes.NewReader(manifests)
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("kubeconform: %w\n%s", err, out)
	}
	return nil
}

// TestManifestsAreValid: the chart, rendered, and the manifest of one process, by the oldest version of Kubernetes that the chart
// names and by newer ones.
func TestManifestsAreValid(t *testing.T) {
	manifests := [][]byte{
		mustRead(t, "kubernetes.yaml"),
		mustRender(t, "everything", "--set", "match.autoscaling.kind=external"),
	}
	for _, example := range examples {
		manifests = append(manifests, mustRender(t, example))
	}
	for _, version := range []string{"1.27.0", "1.34.0", "1.37.0"} {
		if err := kubeconform(t, version, bytes.Join(manifests, []byte("\n---\n"))); err != nil {
			t.Errorf("Kubernetes %s: %v", version, err)
		}
	}
	wrong := bytes.Replace(manifests[0], []byte("terminationGracePeriodSeconds"), []byte("terminationGraceSeconds"), 1)
	if kubeconform(t, "1.34.0", wrong) == nil {
		t.Error("a field that Kubernetes does not have was not found")
	}
}

func TestChartLint(t *testing.T) {
	for _, example := range examples {
		if _, err := helm(t, "lint", example, "--strict"); err != nil {
			t.Error(err)
		}
	}
}

// TestChartSettings: the program accepts what every pod is given, and together they have all roles.
func TestChartSettings(t *testing.T) {
	for _, example := range examples {
		t.Run(example, func(t *testing.T) {
			all := objects(t, mustRender(t, example))
			roles := map[string]bool{}
			for _, w := range workloads(all) {
				c := mustLoadPod(t, all, &w)
				for _, r := range c.Roles {
					roles[r] = true
				}
				if c.HTTP != "0.0.0.0:8080" || c.DataDir != "/data" {
					t.Errorf("%s: http %s, data_dir %s", w.Metadata.Name, c.HTTP, c.DataDir)
				}
			}
			if len(roles) != len(server.Roles) {
				t.Errorf("roles %v, want %v", roles, server.Roles)
			}
		})
	}
}

const chartSecrets = "/run/secrets/refrain"

// mustLoadPod loads the settings of a pod as the program does in it, with secrets that are here.
func mustLoadPod(t *testing.T, all map[string]object, w *object) server.Config {
	t.Helper()
	name := strings.TrimSuffix(w.Metadata.Name, "-"+w.Spec.Template.Metadata.Labels["app.kubernetes.io/component"])
	settings, dir := all["ConfigMap/"+name].Data["refrain.yaml"], t.TempDir()
	for i, path := range regexp.MustCompile(chartSecrets+`/[\w.-]+`).FindAllString(settings, -1) {
		secret := fmt.Sprintf("%032d", i)
		if strings.HasSuffix(path, "redis-url") {
			secret = "redis://redis:6379/0"
		}
		mustWrite(t, filepath.Join(dir, filepath.Base(path)), secret)
	}
	file := filepath.Join(dir, "refrain.yaml")
	mustWrite(t, file, strings.ReplaceAll(settings, chartSecrets, dir))
	t.Setenv("DESK_SECRET", "whsec_"+strings.Repeat("MDAw", 10))
	var environ []string
	for _, v := range w.Spec.Template.Spec.Containers[0].Env {
		environ = append(environ, v.Name+"="+strings.NewReplacer("$(POD)", w.Metadata.Name+"-0", "$(NAMESPACE)", "reuse").Replace(v.Value))
	}
	c, err := config.Load(file, environ)
	if err == nil {
		err = c.Validate()
	}
	if err != nil {
		t.Fatalf("%s: %v\n%s", w.Metadata.Name, err, settings)
	}
	return c
}

func mustWrite(t *testing.T, path, content string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
}

// TestChartSecrets: what the configuration names is in the Secret, and nothing of that anywhere else.
func TestChartSecrets(t *testing.T) {
	rendered := mustRender(t, "everything")
	var values struct {
		Secrets struct{ Create map[string]string }
	}
	if err := yaml.Unmarshal(mustRead(t, "helm/examples/everything.yaml"), &values); err != nil {
		t.Fatal(err)
	}
	for key, secret := range values.Secrets.Create {
		if n := bytes.Count(rendered, []byte(secret)); n != 1 {
			t.Errorf("%s is there %d times, want once: in the Secret", key, n)
		}
		if !bytes.Contains(rendered, []byte(chartSecrets+"/"+key)) {
			t.Errorf("nothing reads %s", key)
		}
	}
	settings := objects(t, rendered)["ConfigMap/reuse"].Data["refrain.yaml"]
	for _, path := range regexp.MustCompile(chartSecrets+`/[\w.-]+`).FindAllString(settings, -1) {
		if values.Secrets.Create[filepath.Base(path)] == "" {
			t.Errorf("%s is in no Secret", path)
		}
	}
}

// TestChartPods: they have no rights that they do not need, and are asked for their health where it is to be had.
func TestChartPods(t *testing.T) {
	api := string(mustRead(t, "../api/openapi.yaml"))
	for _, example := range examples {
		for _, w := range workloads(objects(t, mustRender(t, example))) {
			pod := w.Spec.Template.Spec
			if links := pod.EnableServiceLinks; links == nil || *links {
				t.Errorf("%s: %s: a Service called refrain would set REFRAIN_PORT", example, w.Metadata.Name)
			}
			c := pod.Containers[0]
			if !pod.SecurityContext.RunAsNonRoot || pod.SecurityContext.SeccompProfile.Type == "" ||
				!c.SecurityContext.ReadOnlyRootFilesystem || !slices.Contains(c.SecurityContext.Capabilities.Drop, "ALL") {
				t.Errorf("%s: %s: %+v, %+v", example, w.Metadata.Name, pod.SecurityContext, c.SecurityContext)
			}
			for _, p := range []probe{c.StartupProbe, c.LivenessProbe, c.ReadinessProbe} {
				if !strings.Contains(api, "\n  "+p.HTTPGet.Path+":\n") {
					t.Errorf("%s: %s: there is no %q to ask", example, w.Metadata.Name, p.HTTPGet.Path)
				}
			}
			if c.LivenessProbe.HTTPGet.Path != "/livez" {
				t.Errorf("%s: who is not ready would be restarted", w.Metadata.Name)
			}
		}
	}
}

// TestChartCards: the workers have the card, and what it takes to get one; the pods of other roles are as without.
func TestChartCards(t *testing.T) {
	with := objects(t, mustRender(t, "cuda", "--set", "nodeSelector.disk=fast,tolerations[0].key=dedicated"))
	for _, w := range workloads(objects(t, mustRender(t, "minimal"))) {
		if w.Metadata.Name == "refrain-match" {
			continue
		}
		pod, before := with[w.Kind+"/"+w.Metadata.Name].Spec.Template.Spec, w.Spec.Template.Spec
		if fmt.Sprint(pod.Containers) != fmt.Sprint(before.Containers) || pod.RuntimeClassName != "" || len(pod.NodeSelector) != 1 || len(pod.Tolerations) != 1 {
			t.Errorf("%s has another pod because workers have cards: %+v", w.Metadata.Name, pod)
		}
	}
	match := with["StatefulSet/refrain-match"]
	pod := match.Spec.Template.Spec
	if pod.RuntimeClassName != "nvidia" || pod.NodeSelector["nvidia.com/gpu.present"] != "true" ||
		pod.NodeSelector["disk"] != "fast" || len(pod.Tolerations) != 2 {
		t.Errorf("where the workers go: %+v", pod)
	}
	c := pod.Containers[0]
	if c.Image != "refrain:0.1.0-cuda" || c.Resources.Limits["nvidia.com/gpu"] != "1" || c.Resources.Limits["memory"] != "8Gi" {
		t.Errorf("image %s, limits %v", c.Image, c.Resources.Limits)
	}
	if engine := mustLoadPod(t, with, &match).Window.Engine; engine != "cuda" {
		t.Errorf("window.engine of the workers is %s", engine)
	}
}

// TestChartDigests: an image named by its digest is that one, with CUDA and without.
func TestChartDigests(t *testing.T) {
	plain, cuda := "sha256:"+strings.Repeat("a", 64), "sha256:"+strings.Repeat("c", 64)
	all := objects(t, mustRender(t, "cuda", "--set", "image.digest="+plain+",match.gpu.digest="+cuda))
	for _, w := range workloads(all) {
		want := "refrain@" + plain
		if w.Metadata.Name == "refrain-match" {
			want = "refrain@" + cuda
		}
		if got := w.Spec.Template.Spec.Containers[0].Image; got != want {
			t.Errorf("%s: image %s, want %s", w.Metadata.Name, got, want)
		}
	}
}

// TestChartAddresses: the others reach a worker by the name that it tells them, also while it is not ready.
func TestChartAddresses(t *testing.T) {
	all := objects(t, mustRender(t, "everything"))
	match := all["StatefulSet/reuse-match"]
	c := mustLoadPod(t, all, &match)
	if want := "http://reuse-match-0.reuse-match.reuse.svc.k8s.example.org:8080"; c.Cluster.Address != want {
		t.Errorf("cluster.address %s, want %s", c.Cluster.Address, want)
	}
	if c.Worker != "reuse-match-0" {
		t.Errorf("worker %q, want the pod's name", c.Worker)
	}
	headless := all["Service/"+match.Spec.ServiceName].Spec
	if headless.ClusterIP != "None" || !headless.PublishNotReadyAddresses {
		t.Errorf("the Service of the workers: %+v", headless)
	}
}

// TestChartSelectors: every object that selects pods selects those of one component or of all, and of some.
func TestChartSelectors(t *testing.T) {
	all := objects(t, mustRender(t, "everything"))
	pods := workloads(all)
	for name, o := range all {
		labels, ok := o.Spec.Selector.(map[string]any)
		if !ok {
			continue
		}
		if inner, ok := labels["matchLabels"].(map[string]any); ok {
			labels = inner
		}
		if !slices.ContainsFunc(pods, func(w object) bool { return selects(labels, w.Spec.Template.Metadata.Labels) }) {
			t.Errorf("%s selects no pod: %v", name, labels)
		}
	}
}

func selects(selector map[string]any, labels map[string]string) bool {
	for key, value := range selector {
		if labels[key] != value {
			return false
		}
	}
	return true
}

// TestChartRolls: what changes the settings changes the pods, or they would go on with the old ones.
func TestChartRolls(t *testing.T) {
	before := objects(t, mustRender(t, "everything"))
	for _, change := range []string{"config.window.lateness=10m", "secrets.create.api-token=3f3f3f3f3f3f3f3f3f3f3f3f3f3f3f3f"} {
		after := objects(t, mustRender(t, "everything", "--set", change))
		for _, w := range workloads(before) {
			name := w.Kind + "/" + w.Metadata.Name
			if maps.Equal(w.Spec.Template.Metadata.Annotations, after[name].Spec.Template.Metadata.Annotations) {
				t.Errorf("%s stays as it is after %s", name, change)
			}
		}
	}
}

// TestChartRefuses: what cannot work ends with a reason.
func TestChartRefuses(t *testing.T) {
	for _, x := range []struct{ example, set, want string }{
		{"minimal", "config.topics.kafka.brokers=null", "where are the topics?"},
		{"minimal", "config.topics.nats.servers={nats://nats:4222}", "not both"},
		{"minimal", "secrets.existing=null", "kubectl create secret"},
		{"minimal", "match.replicas=17", "17 workers for 16 partitions"},
		{"everything", "match.autoscaling.maxReplicas=49", "49 workers for 48 partitions"},
		{"everything", "match.autoscaling.maxReplicas=3", "less than match.replicas"},
		{"everything", "match.autoscaling.prometheus=", "address of the Prometheus"},
		{"everything", "config.window.budget=24GiB", "do not fit"},
		{"everything", "config.window.budget=lots", "want a size"},
		{"minimal", "config.window.engine=cuda", "set match.gpu.enabled"},
		{"cuda", "config.window.engine=scan", "config.window.engine out"},
		{"cuda", "image.digest=sha256:" + strings.Repeat("0", 64), "set match.gpu.digest"},
		{"cuda", "match.gpu.count=0", "count"},
		{"cuda", "match.gpu.resource=gpu", "resource"},
		{"minimal", "config.worker=a", "worker"},
		{"minimal", "config.cluster.token=secret", "token"},
		{"minimal", "config.lookup.store=embedded", "store"},
		{"minimal", "matches.replicas=2", "matches"},
	} {
		_, err := helm(t, "template", x.example, "--set", x.set)
		if err == nil || !strings.Contains(err.Error(), x.want) {
			t.Errorf("--set %s: %v, want an error with %q", x.set, err, x.want)
		}
	}
}

// TestChartHasTheAlerts: one file of alerts, wherever Prometheus runs.
func TestChartHasTheAlerts(t *testing.T) {
	all := objects(t, mustRender(t, "everything"))
	var file struct{ Groups any }
	if err := yaml.Unmarshal(mustRead(t, "alerts.yaml"), &file); err != nil {
		t.Fatal(err)
	}
	if got, want := fmt.Sprint(all["PrometheusRule/reuse"].Spec.Groups), fmt.Sprint(file.Groups); got != want || want == "<nil>" {
		t.Errorf("PrometheusRule: %s\nwant %s", got, want)
	}
	if got, want := all["ConfigMap/reuse-dashboard"].Data["refrain.json"], string(mustRead(t, "grafana/refrain.json")); got != want {
		t.Error("the dashboard of the chart is another one")
	}
}

// TestScalerKnowsItsMetrics: what the workers are scaled by exists.
func TestScalerKnowsItsMetrics(t *testing.T) {
	all := objects(t, mustRender(t, "everything"))
	documented := string(mustRead(t, "../docs/operations.md"))
	triggers := all["ScaledObject/reuse-match"].Spec.Triggers
	if len(triggers) != 1 {
		t.Fatalf("%d triggers, want 1", len(triggers))
	}
	used := selector.FindAllStringSubmatch(triggers[0].Metadata.Query, -1)
	var values struct {
		Match struct{ Autoscaling struct{ Metric string } }
	}
	if err := yaml.Unmarshal(mustRead(t, "helm/refrain/values.yaml"), &values); err != nil {
		t.Fatal(err)
	}
	for _, m := range append(used, []string{"", values.Match.Autoscaling.Metric}) {
		if !inTable(documented, m[1]) {
			t.Errorf("%q is not in the table of docs/operations.md", m[1])
		}
	}
}
