// Package telemetry sets up what the program says about itself: logs, metrics, traces.
//
// Packages use slog and the OpenTelemetry API directly; Start puts the real providers behind them. Metrics are
// always collected and served in Prometheus' text format. Traces leave the process only when an OTLP endpoint is
// named in the environment; without one spans cost next to nothing, and trace contexts are still passed on.
package telemetry

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"os"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	"github.com/prometheus/otlptranslator"
	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	otelprometheus "go.opentelemetry.io/otel/exporters/prometheus"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/resource"
)

// Config says how the program speaks. Default has values for all of it but the version.
type Config struct {
	Service   string // service.name of traces; OTEL_SERVICE_NAME wins
	Version   string // service.version
	LogLevel  string // debug, info, warn or error
	LogFormat string // text, json or auto: text on a terminal, JSON elsewhere
	LogOutput io.Writer
}

// Default is a log of what happens on standard error.
func Default() Config {
	return Config{Service: "refrain", LogLevel: "info", LogFormat: "auto", LogOutput: os.Stderr}
}

// Telemetry holds the providers that Start put in place.
type Telemetry struct {
	Logger *slog.Logger

	registry *prometheus.Registry
	stop     []func(context.Context) error
}

// Start makes the providers and installs them as the process-wide ones of slog and OpenTelemetry.
func Start(ctx context.Context, c Config) (*Telemetry, error) {
	logger, err := newLogger(c)
	if err != nil {
		return nil, err
	}
	t := &Telemetry{Logger: logger, registry: prometheus.NewRegistry()}
	res, err := describe(ctx, c)
	if err != nil {
		return nil, err
	}
	if err := t.startMetrics(res, c.Version); err != nil {
		return nil, fmt.Errorf("metrics: %w", err)
	}
	if err := t.startTraces(ctx, res); err != nil {
		return nil, errors.Join(fmt.Errorf("traces: %w", err), t.Shutdown(ctx))
	}
	slog.SetDefault(logger)
	otel.SetTextMapPropagator(propagation.NewCompositeTextMapPropagator(propagation.TraceContext{}, propagation.Baggage{}))
	otel.SetErrorHandler(otel.ErrorHandlerFunc(func(err error) { logger.Warn("telemetry", "error", err) }))
	return t, nil
}

func describe(ctx context.Context, c Config) (*resource.Resource, error) {
	own := resource.NewSchemaless(attribute.String("service.name", c.Service), attribute.String("service.version", c.Version))
	env, err := resource.New(ctx, resource.WithFromEnv(), resource.WithTelemetrySDK())
	if err != nil {
		return nil, fmt.Errorf("resource attributes: %w", err)
	}
	return resource.Merge(own, env)
}

// startMetrics serves OpenTelemetry's instruments beside those of the Go runtime and the process. Scope labels
// and target_info would only repeat what the metric's name says already.
func (t *Telemetry) startMetrics(res *resource.Resource, version string) error {
	exporter, err := otelprometheus.New(
		otelprometheus.WithRegisterer(t.registry),
		otelprometheus.WithTranslationStrategy(otlptranslator.UnderscoreEscapingWithSuffixes),
		otelprometheus.WithoutScopeInfo(),
		otelprometheus.WithoutTargetInfo(),
	)
	if err != nil {
		return err
	}
	for _, c := range []prometheus.Collector{
		buildInfo(version), collectors.NewGoCollector(),
		collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}),
	} {
		if err := t.registry.Register(c); err != nil {
			return err
		}
	}
	provider := metric.NewMeterProvider(metric.WithReader(exporter), metric.WithResource(res))
	otel.SetMeterProvider(provider)
	t.stop = append(t.stop, provider.Shutdown)
	return nil
}

// Metrics serves all metrics in Prometheus' text format (or OpenMetrics where the client asks for it).
func (t *Telemetry) Metrics() http.Handler {
	return promhttp.HandlerFor(withoutClash{t.registry}, promhttp.HandlerOpts{
		ErrorLog:          slog.NewLogLogger(t.Logger.Handler(), slog.LevelWarn),
		EnableOpenMetrics: true,
	})
}

// Shutdown sends what is still buffered, within ctx, and stops the providers.
func (t *Telemetry) Shutdown(ctx context.Context) error {
	var errs []error
	for _, stop := range t.stop {
		errs = append(errs, stop(ctx))
	}
	t.stop = nil
	return errors.Join(errs...)
}
