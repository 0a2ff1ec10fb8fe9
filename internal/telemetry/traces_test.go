package telemetry_test

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"go.opentelemetry.io/otel"

	"refrain/internal/telemetry"
)

// TestTheEnvironmentIsHonouredOrRefused: what it asks for happens, or the start names the variable.
func TestTheEnvironmentIsHonouredOrRefused(t *testing.T) {
	for _, c := range []struct {
		name, env, wrong string
		exported         bool
	}{
		{"endpoint", "", "", true},
		{"exporter", "OTEL_TRACES_EXPORTER=otlp", "", true},
		{"no exporter", "OTEL_TRACES_EXPORTER=none", "", false},
		{"console", "OTEL_TRACES_EXPORTER=console", "OTEL_TRACES_EXPORTER", false},
		{"disabled", "OTEL_SDK_DISABLED=True", "", false},
		{"not disabled", "OTEL_SDK_DISABLED=false", "", true},
		{"perhaps disabled", "OTEL_SDK_DISABLED=yes", "OTEL_SDK_DISABLED", false},
		{"protocol", "OTEL_EXPORTER_OTLP_PROTOCOL=http/protobuf", "", true},
		{"grpc", "OTEL_EXPORTER_OTLP_PROTOCOL=grpc", "OTEL_EXPORTER_OTLP_PROTOCOL", false},
		{"json", "OTEL_EXPORTER_OTLP_TRACES_PROTOCOL=http/json", "OTEL_EXPORTER_OTLP_TRACES_PROTOCOL", false},
	} {
		t.Run(c.name, func(t *testing.T) {
			spans := make(chan string, 10)
			collector := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
				for _, name := range spanNames(t, r) {
					spans <- name
				}
			}))
			defer collector.Close()
			t.Setenv("OTEL_EXPORTER_OTLP_ENDPOINT", collector.URL)
			if name, value, ok := strings.Cut(c.env, "="); ok {
				t.Setenv(name, value)
			}
			was := otel.GetTracerProvider()
			defer otel.SetTracerProvider(was)
			config := telemetry.Default()
			config.LogOutput = io.Discard
			tel, err := telemetry.Start(context.Background(), config)
			if c.wrong != "" {
				if err == nil || !strings.Contains(err.Error(), c.wrong+" is ") {
					t.Errorf("error %v does not name %s", err, c.wrong)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if otel.GetTracerProvider() != was {
				_, span := otel.Tracer("refrain/test").Start(context.Background(), "work")
				span.End()
			}
			if err := tel.Shutdown(context.Background()); err != nil {
				t.Fatal(err)
			}
			if got := len(spans) == 1; got != c.exported {
				t.Errorf("exported: %v, want %v", got, c.exported)
			}
		})
	}
}

func TestVariablesWithoutEffectAreNamed(t *testing.T) {
	t.Setenv("OTEL_METRICS_EXPORTER", "otlp")
	t.Setenv("OTEL_PROPAGATORS", "tracecontext,baggage")
	var log bytes.Buffer
	mustStart(t, &log)
	if got := log.String(); !strings.Contains(got, "OTEL_METRICS_EXPORTER") || strings.Contains(got, "OTEL_PROPAGATORS") {
		t.Errorf("logged %q", got)
	}
}
