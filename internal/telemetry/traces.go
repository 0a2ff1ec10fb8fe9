package telemetry

import (
	"context"
	"fmt"
	"os"
	"strings"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracehttp"
	"go.opentelemetry.io/otel/sdk/resource"
	"go.opentelemetry.io/otel/sdk/trace"
)

// startTraces sends spans to the OTLP endpoint that the environment names, and does nothing without one. The
// exporter reads the other OTEL_EXPORTER_OTLP_* variables, the provider OTEL_TRACES_SAMPLER, by themselves.
func (t *Telemetry) startTraces(ctx context.Context, res *resource.Resource) error {
	t.warnOfIgnored()
	export, err := exportsTraces()
	if err != nil || !export {
		return err
	}
	exporter, err := otlptracehttp.New(ctx)
	if err != nil {
		return err
	}
	provider := trace.NewTracerProvider(trace.WithBatcher(exporter), trace.WithResource(res))
	otel.SetTracerProvider(provider)
	t.stop = append(t.stop, provider.Shutdown)
	return nil
}

// exportsTraces reads what the specification's variables say
// (https://opentelemetry.io/docs/specs/otel/configuration/sdk-environment-variables/). One that asks for what is not
// there is an error: traces would go nowhere, silently.
func exportsTraces() (bool, error) {
	disabled, err := disabled()
	if err != nil || disabled {
		return false, err
	}
	switch exporter := os.Getenv("OTEL_TRACES_EXPORTER"); exporter {
	case "none":
		return false, nil
	case "otlp": // to the default endpoint, if no other is named
	case "":
		if os.Getenv("OTEL_EXPORTER_OTLP_ENDPOINT") == "" && os.Getenv("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT") == "" {
			return false, nil
		}
	default:
		return false, fmt.Errorf("OTEL_TRACES_EXPORTER is %q: want otlp or none", exporter)
	}
	return true, checkProtocol()
}

// disabled reads OTEL_SDK_DISABLED. The specification takes all but "true" for false; a mistake is named here all the same.
func disabled() (bool, error) {
	switch v := os.Getenv("OTEL_SDK_DISABLED"); strings.ToLower(v) {
	case "", "false":
		return false, nil
	case "true":
		return true, nil
	default:
		return false, fmt.Errorf("OTEL_SDK_DISABLED is %q: want true or false", v)
	}
}

func checkProtocol() error {
	name := "OTEL_EXPORTER_OTLP_TRACES_PROTOCOL"
	protocol := os.Getenv(name)
	if protocol == "" {
		name = "OTEL_EXPORTER_OTLP_PROTOCOL"
		protocol = os.Getenv(name)
	}
	if protocol != "" && protocol != "http/protobuf" {
		return fmt.Errorf("%s is %q: want http/protobuf, the only one there is here; collectors take it on port 4318",
			name, protocol)
	}
	return nil
}

// warnOfIgnored names the variables that are set to what has no effect.
func (t *Telemetry) warnOfIgnored() {
	for name, effective := range map[string]string{
		"OTEL_METRICS_EXPORTER": "none prometheus", "OTEL_LOGS_EXPORTER": "none", "OTEL_PROPAGATORS": "tracecontext tracecontext,baggage",
	} {
		v := os.Getenv(name)
		if v != "" && !strings.Contains(" "+effective+" ", " "+v+" ") {
			t.Logger.Warn("a variable of OpenTelemetry has no effect: metrics are at /metrics, logs on stderr, and traces go on "+
				"by W3C trace context", "variable", name, "value", v)
		}
	}
}
