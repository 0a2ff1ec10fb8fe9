package telemetry_test

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"
	"go.opentelemetry.io/otel/propagation"
	tracepb "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	"google.golang.org/protobuf/proto"

	"refrain/internal/telemetry"
)

// mustStart starts with a log that goes to out.
func mustStart(t *testing.T, out io.Writer, changes ...func(*telemetry.Config)) *telemetry.Telemetry {
	t.Helper()
	c := telemetry.Default()
	c.LogOutput = out
	for _, change := range changes {
		change(&c)
	}
	was := slog.Default()
	tel, err := telemetry.Start(context.Background(), c)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		slog.SetDefault(was)
		if err := tel.Shutdown(context.Background()); err != nil {
			t.Error(err)
		}
	})
	return tel
}

func exposition(tel *telemetry.Telemetry) string {
	w := httptest.NewRecorder()
	tel.Metrics().ServeHTTP(w, httptest.NewRequest("GET", "/metrics", nil))
	return w.Body.String()
}

func TestMetricsNamesAreTheDocumentedOnes(t *testing.T) {
	tel := mustStart(t, io.Discard)
	m := otel.Meter("refrain/ingest")
	posts, err := m.Int64Counter("refrain_ingest_posts")
	if err != nil {
		t.Fatal(err)
	}
	posts.Add(context.Background(), 3, metric.WithAttributes(attribute.String("result", "accepted")))
	posts.Add(context.Background(), 4, metric.WithAttributes(attribute.String("result", "accepted")))

	got := exposition(tel)
	want := `refrain_ingest_posts_total{result="accepted"} 7`
	if !strings.Contains(got, "\n"+want+"\n") {
		t.Errorf("no line %q in:\n%s", want, grep(got, "refrain"))
	}
	for _, noise := range []string{"otel_scope", "target_info"} {
		if strings.Contains(got, noise) {
			t.Errorf("%s in the exposition", noise)
		}
	}
	for _, name := range []string{"go_goroutines", "process_resident_memory_bytes", "process_cpu_seconds_total"} {
		if !strings.Contains(got, "\n"+name+" ") {
			t.Errorf("no %s in the exposition", name)
		}
	}
}

func grep(s, word string) string {
	var lines []string
	for line := range strings.Lines(s) {
		if strings.Contains(line, word) {
			lines = append(lines, line)
		}
	}
	return strings.Join(lines, "")
}

func TestTracesGoToTheEndpointOfTheEnvironment(t *testing.T) {
	spans := make(chan string, 10)
	collector := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		for _, name := range spanNames(t, r) {
			spans <- name
		}
	}))
	defer collector.Close()
	t.Setenv("OTEL_EXPORTER_OTLP_ENDPOINT", collector.URL)

	tel := mustStart(t, io.Discard, func(c *telemetry.Config) { c.Version = "test" })
	ctx, span := otel.Tracer("refrain/test").Start(context.Background(), "split batch")
	carrier := propagation.MapCarrier{}
	otel.GetTextMapPropagator().Inject(ctx, carrier)
	span.End()
	if err := tel.Shutdown(context.Background()); err != nil {
		t.Fatal(err)
	}
	if got := carrier["traceparent"]; len(got) != 55 {
		t.Errorf("traceparent %q: want 55 characters", got)
	}
	select {
	case got := <-spans:
		if got != "refrain: split batch" {
			t.Errorf("span %q", got)
		}
	default:
		t.Error("shutdown returned and no span had arrived")
	}
}

func spanNames(t *testing.T, r *http.Request) (names []string) {
	t.Helper()
	body := io.Reader(r.Body)
	if r.Header.Get("Content-Encoding") == "gzip" {
		z, err := gzip.NewReader(r.Body)
		if err != nil {
			t.Error(err)
			return nil
		}
		body = z
	}
	b, err := io.ReadAll(body)
	if err != nil {
		t.Error(err)
	}
	var m tracepb.ExportTraceServiceRequest
	if err := proto.Unmarshal(b, &m); err != nil {
		t.Error(err)
	}
	for _, rs := range m.ResourceSpans {
		service := ""
		for _, a := range rs.Resource.Attributes {
			if a.Key == "service.name" {
				service = a.Value.GetStringValue()
			}
		}
		for _, ss := range rs.ScopeSpans {
			for _, s := range ss.Spans {
				names = append(names, service+": "+s.Name)
			}
		}
	}
	return names
}

func TestLogFormatAndLevel(t *testing.T) {
	var out bytes.Buffer
	tel := mustStart(t, &out, func(c *telemetry.Config) { c.LogLevel = "warn" })
	tel.Logger.Info("quiet")
	slog.Warn("loud", "posts", 3)
	var line map[string]any
	if err := json.Unmarshal(out.Bytes(), &line); err != nil {
		t.Fatalf("not one line of JSON: %v in %q", err, out.String())
	}
	if line["msg"] != "loud" || line["posts"] != 3.0 {
		t.Errorf("logged %v", line)
	}

	out.Reset()
	mustStart(t, &out, func(c *telemetry.Config) { c.LogFormat, c.LogLevel = "text", "debug" }).Logger.Debug("fine")
	if got := out.String(); !strings.Contains(got, "level=DEBUG msg=fine") {
		t.Errorf("text log %q", got)
	}
}

func TestStartNamesWhatIsWrong(t *testing.T) {
	level, format := telemetry.Default(), telemetry.Default()
	level.LogLevel, format.LogFormat = "loud", "xml"
	for wrong, c := range map[string]telemetry.Config{"loud": level, "xml": format} {
		_, err := telemetry.Start(context.Background(), c)
		if err == nil || !strings.Contains(err.Error(), wrong) {
			t.Errorf("%+v: error %v does not name it", c, err)
		}
	}
}
