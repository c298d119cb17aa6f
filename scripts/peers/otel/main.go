// Command otel is an OpenTelemetry Collector with the collector's own OTLP receiver (HTTP and
// gRPC). It writes everything that it receives to a file, and keeps spans in Jaeger's store,
// which its query API serves.
//
//	otel -port 4318 -grpc 4317 -query 16686 -out FILE
//
// A line of FILE is the OTLP JSON of one request. It is written before the request is
// answered. The query API is Jaeger's v3: GET /api/v3/traces/ID. A signal ends it. It sends
// nothing anywhere: its own telemetry has no exporter.
package main

import (
	"context"
	"flag"
	"fmt"
	"log"
	"net"
	"net/http"
	"os"
	"strconv"
	"sync"

	"github.com/gorilla/mux"
	"github.com/jaegertracing/jaeger/cmd/query/app/apiv3"
	"github.com/jaegertracing/jaeger/cmd/query/app/querysvc/v2/querysvc"
	memoryconfig "github.com/jaegertracing/jaeger/internal/storage/v1/memory"
	"github.com/jaegertracing/jaeger/internal/storage/v2/memory"
	"go.opentelemetry.io/collector/component"
	"go.opentelemetry.io/collector/confmap"
	"go.opentelemetry.io/collector/confmap/provider/yamlprovider"
	"go.opentelemetry.io/collector/consumer"
	"go.opentelemetry.io/collector/exporter"
	"go.opentelemetry.io/collector/otelcol"
	"go.opentelemetry.io/collector/pdata/plog"
	"go.opentelemetry.io/collector/pdata/pmetric"
	"go.opentelemetry.io/collector/pdata/ptrace"
	"go.opentelemetry.io/collector/receiver/otlpreceiver"
	"go.opentelemetry.io/collector/service/telemetry"
	"go.opentelemetry.io/otel/trace/noop"
	"go.uber.org/zap"
)

const config = `yaml:
receivers: {otlp: {protocols: {http: {endpoint: "127.0.0.1:%d"}, grpc: {endpoint: "127.0.0.1:%d"}}}}
exporters: {kept: }
service:
  pipelines:
    traces: {receivers: [otlp], exporters: [kept]}
    metrics: {receivers: [otlp], exporters: [kept]}
    logs: {receivers: [otlp], exporters: [kept]}
`

func main() {
	port := flag.Int("port", 4318, "port of OTLP over HTTP on 127.0.0.1")
	grpc := flag.Int("grpc", 4317, "port of OTLP over gRPC on 127.0.0.1")
	query := flag.Int("query", 16686, "port of the query API on 127.0.0.1")
	out := flag.String("out", os.DevNull, "file that gets what is received, as JSON")
	flag.Parse()
	if err := run(*port, *grpc, *query, *out); err != nil {
		log.Fatal(err)
	}
}

func run(port, grpc, query int, out string) error {
	file, err := os.OpenFile(out, os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o600)
	if err != nil {
		return err
	}
	defer file.Close()
	store, err := memory.NewStore(memoryconfig.Configuration{MaxTraces: 100_000})
	if err != nil {
		return err
	}
	listener, err := net.Listen("tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(query)))
	if err != nil {
		return err
	}
	defer listener.Close()
	go http.Serve(listener, queries(store))

	collector, err := otelcol.NewCollector(otelcol.CollectorSettings{
		BuildInfo: component.BuildInfo{Command: "otel", Version: "1"},
		Factories: func() (otelcol.Factories, error) { return factories(&sink{file: file, store: store}) },
		ConfigProviderSettings: otelcol.ConfigProviderSettings{ResolverSettings: confmap.ResolverSettings{
			URIs:              []string{fmt.Sprintf(config, port, grpc)},
			ProviderFactories: []confmap.ProviderFactory{yamlprovider.NewFactory()},
		}},
	})
	if err != nil {
		return err
	}
	return collector.Run(context.Background()) // until SIGINT or SIGTERM
}

// queries serves Jaeger's query API over a store.
func queries(store *memory.Store) http.Handler {
	router := mux.NewRouter()
	gateway := &apiv3.HTTPGateway{
		QueryService: querysvc.NewQueryService(store, store, querysvc.QueryServiceOptions{}),
		Logger:       zap.NewNop(),
		Tracer:       noop.NewTracerProvider(),
	}
	gateway.RegisterRoutes(router)
	return router
}

// noSettings is the configuration of a component without settings.
type noSettings struct{}

func noConfig() component.Config { return &noSettings{} }

// factories returns the components of the collector: the OTLP receiver, and s as the exporter
// "kept". The collector's own logs, metrics and traces are dropped.
func factories(s *sink) (otelcol.Factories, error) {
	receivers, err := otelcol.MakeFactoryMap(otlpreceiver.NewFactory())
	if err != nil {
		return otelcol.Factories{}, err
	}
	kept := exporter.NewFactory(
		component.MustNewType("kept"),
		noConfig,
		exporter.WithTraces(
			func(context.Context, exporter.Settings, component.Config) (exporter.Traces, error) { return s, nil },
			component.StabilityLevelStable,
		),
		exporter.WithMetrics(
			func(context.Context, exporter.Settings, component.Config) (exporter.Metrics, error) { return s, nil },
			component.StabilityLevelStable,
		),
		exporter.WithLogs(
			func(context.Context, exporter.Settings, component.Config) (exporter.Logs, error) { return s, nil },
			component.StabilityLevelStable,
		),
	)
	exporters, err := otelcol.MakeFactoryMap(kept)
	return otelcol.Factories{Receivers: receivers, Exporters: exporters, Telemetry: telemetry.NewFactory(noConfig)}, err
}

// A sink stores the telemetry that the collector received.
type sink struct {
	component.StartFunc
	component.ShutdownFunc
	store *memory.Store

	mu   sync.Mutex
	file *os.File
}

func (*sink) Capabilities() consumer.Capabilities { return consumer.Capabilities{} }

func (s *sink) ConsumeTraces(ctx context.Context, td ptrace.Traces) error {
	line, err := (&ptrace.JSONMarshaler{}).MarshalTraces(td)
	if err != nil {
		return err
	}
	if err := s.write(line); err != nil {
		return err
	}
	return s.store.WriteTraces(ctx, td)
}

func (s *sink) ConsumeMetrics(_ context.Context, md pmetric.Metrics) error {
	line, err := (&pmetric.JSONMarshaler{}).MarshalMetrics(md)
	if err != nil {
		return err
	}
	return s.write(line)
}

func (s *sink) ConsumeLogs(_ context.Context, ld plog.Logs) error {
	line, err := (&plog.JSONMarshaler{}).MarshalLogs(ld)
	if err != nil {
		return err
	}
	return s.write(line)
}

func (s *sink) write(line []byte) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	_, err := s.file.Write(append(line, '\n'))
	return err
}
