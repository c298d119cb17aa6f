package send

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"mcpc/internal/otlp"
	"mcpc/internal/usage"
)

// variables is an environment of these only.
func variables(pairs ...string) func(string) string {
	return func(name string) string {
		for i := 0; i < len(pairs); i += 2 {
			if pairs[i] == name {
				return pairs[i+1]
			}
		}
		return ""
	}
}

func configOf(t *testing.T, endpoint string, pairs ...string) Config {
	t.Helper()
	c, err := FromEnvironment(variables(pairs...), endpoint)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func TestDefaults(t *testing.T) {
	c := configOf(t, "http://127.0.0.1:4318")
	if got := c.String(); got != "traces: http://127.0.0.1:4318/v1/traces, metrics: http://127.0.0.1:4318/v1/metrics" {
		t.Error(got)
	}
	if c.Warnings != nil || c.Sampler != (Sampler{}) || c.Delta || c.delay != 5*time.Second || c.queue != 2048 || c.batch != 512 || c.interval != time.Minute {
		t.Errorf("%+v", []any{c.Warnings, c.Sampler, c.Delta, c.delay, c.queue, c.batch, c.interval})
	}
	for _, s := range []Signal{c.Traces, c.Metrics} {
		if s.format != otlp.Protobuf || s.gzip || s.timeout != 10*time.Second || s.limit != 30*time.Second || s.target().tls != nil || len(s.target().header) != 0 {
			t.Errorf("%+v", []any{s.format, s.gzip, s.timeout, s.limit, s.target().tls, s.target().header})
		}
	}
}

// The examples of the specification, and what follows from them.
func TestEndpoints(t *testing.T) {
	const base, traces, metrics = "OTEL_EXPORTER_OTLP_ENDPOINT", "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "OTEL_EXPORTER_OTLP_METRICS_ENDPOINT"
	for _, c := range []struct {
		endpoint        string
		env             []string
		traces, metrics string
	}{
		{"env", []string{base, "http://collector:4318"}, "http://collector:4318/v1/traces", "http://collector:4318/v1/metrics"},
		{"env", []string{traces, "http://collector:4318", metrics, "https://collector.example.com/v1/metrics"}, "http://collector:4318/", "https://collector.example.com/v1/metrics"},
		{"env", []string{base, "http://collector:4318/mycollector/", metrics, "https://collector.example.com/v1/metrics/"}, "http://collector:4318/mycollector/v1/traces", "https://collector.example.com/v1/metrics/"},
		{"env", []string{traces, "http://collector/a%2Fb"}, "http://collector/a%2Fb", "off"},
		{"env", []string{base, "http://collector/a%2Fb"}, "http://collector/a%2Fb/v1/traces", "http://collector/a%2Fb/v1/metrics"},
		{"http://typed:9", []string{base, "http://collector:4318", traces, "http://other"}, "http://typed:9/v1/traces", "http://typed:9/v1/metrics"},
		{"HTTP://[::1]:4318/#x", nil, "http://[::1]:4318/v1/traces", "http://[::1]:4318/v1/metrics"},
		{"https://u:p@h/x?key=k", nil, "https://h/x/v1/traces", "https://h/x/v1/metrics"},
		{"http://h", []string{"OTEL_TRACES_EXPORTER", "none"}, "off", "http://h/v1/metrics"},
		{"http://h", []string{"OTEL_METRICS_EXPORTER", "None", "OTEL_TRACES_EXPORTER", "console,otlp"}, "http://h/v1/traces", "off"},
		{"http://h", []string{"OTEL_METRICS_EXPORTER", "none", "OTEL_TRACES_EXPORTER", "none"}, "off", "off"},
		{"http://h", []string{"OTEL_SDK_DISABLED", "TRUE"}, "off", "off"},
		{"env", []string{"OTEL_SDK_DISABLED", "true"}, "off", "off"},
	} {
		if got := configOf(t, c.endpoint, c.env...); got.Traces.String() != c.traces || got.Metrics.String() != c.metrics {
			t.Errorf("%s %q: got %s", c.endpoint, c.env, got)
		}
	}
	c := configOf(t, "https://h/x?key=k", "OTEL_METRICS_EXPORTER", "none")
	if got := c.Traces.target().url.String(); got != "https://h/x/v1/traces?key=k" {
		t.Error(got)
	}
}

func TestBadEndpoints(t *testing.T) {
	const base = "OTEL_EXPORTER_OTLP_ENDPOINT"
	for _, c := range []struct {
		endpoint string
		env      []string
		want     string
	}{
		{"", nil, `--otlp "": no endpoint`},
		{"localhost:4318", nil, `--otlp "localhost:4318": no scheme`},
		{"collector", nil, "no scheme"},
		{"grpc://h:4317", nil, "gRPC is not supported"},
		{"http://h:4317", nil, "port 4317 is for OTLP over gRPC"},
		{"ftp://h", nil, "http or https"},
		{"unix:/run/x.sock", nil, "Unix sockets"},
		{"unix:///run/x.sock", nil, "Unix sockets"},
		{"/run/x.sock", nil, "Unix sockets"},
		{"http://", nil, "no host"},
		{"http://h:4318/v1/traces", nil, "the base URL has no /v1/traces, which is added"},
		{"http://h/a/v1/metrics/", nil, "the base URL has no /v1/metrics, which is added"},
		{"http://:4318", nil, "no host"},
		{"http://h:0", nil, "no such port"},
		{"http://h:70000", nil, "no such port"},
		{"http://h:x", nil, "not a URL"},
		{"http://u:sec ret@h:4318", nil, "not a URL"},
		{"http://u:secret@h:4317", nil, "port 4317"},
		{"env", nil, "OTEL_EXPORTER_OTLP_ENDPOINT is not set"},
		{"env", []string{"OTEL_TRACES_EXPORTER", "none"}, "OTEL_EXPORTER_OTLP_ENDPOINT is not set"},
		{"env", []string{base, "collector:4318"}, base + ` "collector:4318": no scheme`},
		{"env", []string{"OTEL_EXPORTER_OTLP_METRICS_ENDPOINT", "http://"}, `OTEL_EXPORTER_OTLP_METRICS_ENDPOINT "http://": no host`},
		{"http://h", []string{"OTEL_EXPORTER_OTLP_PROTOCOL", "grpc"}, "OTEL_EXPORTER_OTLP_PROTOCOL=grpc: OTLP over gRPC is not supported"},
		{"http://h", []string{"OTEL_EXPORTER_OTLP_METRICS_PROTOCOL", "GRPC"}, "OTEL_EXPORTER_OTLP_METRICS_PROTOCOL=grpc"},
		{"https://h", []string{"OTEL_EXPORTER_OTLP_CERTIFICATE", "/does/not/exist"}, "OTEL_EXPORTER_OTLP_CERTIFICATE: "},
		{"https://h", []string{"OTEL_EXPORTER_OTLP_CLIENT_KEY", os.DevNull}, "OTEL_EXPORTER_OTLP_CLIENT_KEY is set without"},
		{"https://h", []string{"OTEL_EXPORTER_OTLP_TRACES_CLIENT_CERTIFICATE", os.DevNull}, "OTEL_EXPORTER_OTLP_TRACES_CLIENT_CERTIFICATE is set without"},
		{"https://h", []string{"OTEL_EXPORTER_OTLP_CERTIFICATE", os.DevNull}, "contains no PEM certificate"},
	} {
		got, err := FromEnvironment(variables(c.env...), c.endpoint)
		if err == nil || !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), "ret@") {
			t.Errorf("%s %q: got %v, want %q", c.endpoint, c.env, err, c.want)
			continue
		}
		if _, ok := errors.AsType[usage.Error](err); !ok || got.Traces.IsOn() || got.Metrics.IsOn() {
			t.Errorf("%s: not a usage error without settings: %T %v", c.endpoint, err, got)
		}
		if is, _ := errors.AsType[usage.Error](err); is.Hint == "" && c.want != "contains no PEM certificate" {
			t.Errorf("%s: no hint", c.endpoint)
		}
	}
}

func TestSettingsOfSignals(t *testing.T) {
	c := configOf(t, "http://h",
		"OTEL_EXPORTER_OTLP_PROTOCOL", "http/json", "OTEL_EXPORTER_OTLP_METRICS_PROTOCOL", "HTTP/protobuf",
		"OTEL_EXPORTER_OTLP_COMPRESSION", "gzip", "OTEL_EXPORTER_OTLP_TRACES_COMPRESSION", "none",
		"OTEL_EXPORTER_OTLP_TIMEOUT", "1000", "OTEL_EXPORTER_OTLP_METRICS_TIMEOUT", "0",
		"OTEL_EXPORTER_OTLP_HEADERS", "a=1, b = x%20y ,Authorization=Bearer abc=", "OTEL_EXPORTER_OTLP_METRICS_HEADERS", "only=%C3%A9",
		"OTEL_EXPORTER_OTLP_CERTIFICATE", "/not/read/for/http",
		"OTEL_BSP_EXPORT_TIMEOUT", "7", "OTEL_METRIC_EXPORT_TIMEOUT", "8", "OTEL_BSP_SCHEDULE_DELAY", "0", "OTEL_METRIC_EXPORT_INTERVAL", "9",
		"OTEL_BSP_MAX_QUEUE_SIZE", "100", "OTEL_EXPORTER_OTLP_METRICS_TEMPORALITY_PREFERENCE", "LowMemory",
	)
	traces, metrics := c.Traces, c.Metrics
	if traces.format != otlp.JSON || metrics.format != otlp.Protobuf || traces.gzip || !metrics.gzip || traces.timeout != time.Second || metrics.timeout != 0 {
		t.Errorf("%+v", []any{traces.format, metrics.format, traces.gzip, metrics.gzip, traces.timeout, metrics.timeout})
	}
	if got := fmt.Sprint(traces.target().header, metrics.target().header); got != "map[A:[1] Authorization:[Bearer abc=] B:[x y]] map[Only:[é]]" {
		t.Error(got)
	}
	if traces.limit != 7*time.Millisecond || metrics.limit != 8*time.Millisecond || c.delay != 0 || c.interval != 9*time.Millisecond || c.queue != 100 || c.batch != 100 || !c.Delta {
		t.Errorf("%+v", []any{traces.limit, metrics.limit, c.delay, c.interval, c.queue, c.batch, c.Delta})
	}
	if c.Warnings != nil {
		t.Errorf("%q", c.Warnings)
	}
}

// A value that cannot be read is ignored: the variable of all signals, or the default, is used.
func TestWarnings(t *testing.T) {
	c := configOf(t, "http://h",
		"OTEL_SDK_DISABLED", "yes", "OTEL_TRACES_EXPORTER", "zipkin", "OTEL_EXPORTER_OTLP_PROTOCOL", "http/xml",
		"OTEL_EXPORTER_OTLP_TRACES_TIMEOUT", "10s", "OTEL_EXPORTER_OTLP_TIMEOUT", "5", "OTEL_EXPORTER_OTLP_COMPRESSION", "zstd",
		"OTEL_BSP_SCHEDULE_DELAY", "-1", "OTEL_BSP_MAX_QUEUE_SIZE", "0", "OTEL_BSP_MAX_EXPORT_BATCH_SIZE", "5000", "OTEL_METRIC_EXPORT_INTERVAL", "0",
		"OTEL_TRACES_SAMPLER", "jaeger_remote", "OTEL_EXPORTER_OTLP_METRICS_TEMPORALITY_PREFERENCE", "gauge",
		"OTEL_EXPORTER_OTLP_HEADERS", "hidden-value,ok=1,bad name=2,x=%zz,y=a%0Ab",
		"OTEL_RESOURCE_ATTRIBUTES", "a=1,b",
	)
	want := []string{
		`OTEL_SDK_DISABLED="yes": mcpc supports false, true`, `OTEL_TRACES_EXPORTER="zipkin"`, `OTEL_EXPORTER_OTLP_PROTOCOL="http/xml"`,
		`OTEL_EXPORTER_OTLP_COMPRESSION="zstd"`, `OTEL_EXPORTER_OTLP_TRACES_TIMEOUT="10s": it must be a number of milliseconds`,
		"ignored a part of OTEL_EXPORTER_OTLP_HEADERS", `OTEL_BSP_SCHEDULE_DELAY="-1"`, `OTEL_BSP_MAX_QUEUE_SIZE="0": it must be more than 0`,
		"OTEL_BSP_MAX_EXPORT_BATCH_SIZE is larger than the queue", `OTEL_METRIC_EXPORT_INTERVAL="0"`,
		`OTEL_EXPORTER_OTLP_METRICS_TEMPORALITY_PREFERENCE="gauge"`, `OTEL_TRACES_SAMPLER="jaeger_remote"`, `OTEL_RESOURCE_ATTRIBUTES="a=1,b"`,
	}
	for i, w := range want {
		if i >= len(c.Warnings) || !strings.Contains(c.Warnings[i], w) {
			t.Fatalf("warning %d is not about %s: %q", i, w, c.Warnings)
		}
	}
	if len(c.Warnings) != len(want) || strings.Contains(fmt.Sprint(c.Warnings), "hidden-value") {
		t.Errorf("%q", c.Warnings)
	}
	if !c.Traces.IsOn() || c.Traces.timeout != 5*time.Millisecond || c.Traces.gzip || c.delay != defaultDelay || c.queue != defaultQueue ||
		c.batch != defaultQueue || c.interval != defaultInterval || c.Sampler != (Sampler{}) || c.Delta || c.attributes != nil || len(c.Traces.target().header) != 1 {
		t.Errorf("%+v", []any{c.Traces.timeout, c.delay, c.queue, c.batch, c.interval, c.Sampler, c.Delta, c.attributes, c.Traces.target().header})
	}
	for _, pairs := range [][]string{
		{"OTEL_SDK_DISABLED", "true"},
		{"OTEL_TRACES_EXPORTER", "none", "OTEL_METRICS_EXPORTER", "none"},
	} {
		if c := configOf(t, "env", pairs...); len(c.Warnings) != 1 || !strings.Contains(c.Warnings[0], "no telemetry is sent") {
			t.Errorf("%q: %q", pairs, c.Warnings)
		}
	}
	if c := configOf(t, "env", "OTEL_EXPORTER_OTLP_METRICS_ENDPOINT", "http://h"); len(c.Warnings) != 1 || !strings.Contains(c.Warnings[0], "no traces are sent") {
		t.Errorf("%q", c.Warnings)
	}
}

func TestResource(t *testing.T) {
	own := otlp.Resource{Attributes: []otlp.Attribute{{Key: "service.name", Value: "mcpc"}, {Key: "host.name", Value: "h"}}, SchemaURL: "s"}
	for _, c := range []struct {
		env  []string
		want string
	}{
		{nil, "[{service.name mcpc} {host.name h}]"},
		{[]string{"OTEL_SERVICE_NAME", "x"}, "[{host.name h} {service.name x}]"},
		{[]string{"OTEL_RESOURCE_ATTRIBUTES", "service.name=a, k%3D1 = v%2C%20w ,k=1,k=2,"}, "[{host.name h} {service.name a} {k=1 v, w} {k 2}]"},
		{[]string{"OTEL_RESOURCE_ATTRIBUTES", "service.name=a,z=+", "OTEL_SERVICE_NAME", "b"}, "[{host.name h} {z +} {service.name b}]"},
	} {
		if got := configOf(t, "http://h", c.env...).Resource(own); fmt.Sprint(got.Attributes) != c.want || got.SchemaURL != "s" {
			t.Errorf("%q: got %v", c.env, got)
		}
	}
	if fmt.Sprint(own.Attributes) != "[{service.name mcpc} {host.name h}]" {
		t.Errorf("changed: %v", own)
	}
}

func TestSampler(t *testing.T) {
	low, middle, high := otlp.TraceID{15: 1}, otlp.TraceID{8: 0xff, 9: 0x80}, otlp.TraceID{8: 0, 9: 0xff, 10: 0xff, 11: 0xff, 12: 0xff, 13: 0xff, 14: 0xff, 15: 0xff}
	decisions := func(s Sampler) (all string) {
		for _, trace := range []otlp.TraceID{low, middle, high} {
			for _, parent := range [][2]bool{{false, false}, {true, false}, {true, true}} {
				all += map[bool]string{true: "1", false: "0"}[s.Sample(trace, parent[0], parent[1])]
			}
		}
		return all
	}
	for _, c := range []struct{ name, arg, want string }{ // low, middle, high; each without parent, with one, with one sampled
		{"", "", "101 101 101"},
		{"", "0", "101 101 101"}, // only with a sampler
		{"always_on", "", "111 111 111"},
		{"ALWAYS_OFF", "", "000 000 000"},
		{"parentbased_always_on", "", "101 101 101"},
		{"parentbased_always_off", "", "001 001 001"},
		{"traceidratio", "", "111 111 111"},
		{"traceidratio", "0", "000 000 000"},
		{"traceidratio", "0.5", "000 111 111"},
		{"traceidratio", "1e-17", "000 000 000"},
		{"traceidratio", "2", "111 111 111"},
		{"traceidratio", "NaN", "111 111 111"},
		{"parentbased_traceidratio", "0.4999", "001 001 101"},
	} {
		config := configOf(t, "http://h", "OTEL_TRACES_SAMPLER", c.name, "OTEL_TRACES_SAMPLER_ARG", c.arg)
		if got := decisions(config.Sampler); got != strings.ReplaceAll(c.want, " ", "") {
			t.Errorf("%s %s: got %s, want %s", c.name, c.arg, got, c.want)
		}
	}
}

func TestSecretsAreListedAndNotShown(t *testing.T) {
	c := configOf(t, "https://user:pass-word-1@h/x?key=query-key-2",
		"OTEL_EXPORTER_OTLP_TRACES_HEADERS", "authorization=Bearer%20token-value-3", "OTEL_EXPORTER_OTLP_METRICS_HEADERS", "x-api-key=key-value-4")
	secrets := c.Secrets()
	for _, want := range []string{"pass-word-1", "query-key-2", "token-value-3", "Bearer token-value-3", "key-value-4"} {
		if !slices.Contains(secrets, want) {
			t.Errorf("%s is not listed: %q", want, secrets)
		}
	}
	if got := c.Traces.target().header.Get("Authorization"); got != "Bearer token-value-3" { // the setting wins over the URL
		t.Error(got)
	}
	if got := c.Metrics.target().header.Get("Authorization"); got != "Basic dXNlcjpwYXNzLXdvcmQtMQ==" || c.Metrics.target().url.User != nil {
		t.Error(got)
	}
	within := struct{ c, p any }{c, &c}
	nested := struct {
		config Config
		signal Signal
	}{c, c.Traces}
	for _, format := range []string{"%v", "%+v", "%#v", "%s", "%q"} {
		for _, v := range []any{c, &c, c.Traces, &c.Traces, within, nested, []Config{c}} {
			shown := fmt.Sprintf(format, v)
			for _, secret := range secrets {
				if strings.Contains(shown, secret) {
					t.Errorf("%s of %T shows %s", format, v, secret)
				}
			}
		}
	}
}

func TestInvalidClientCertificateIsRefused(t *testing.T) {
	file := filepath.Join(t.TempDir(), "x.pem")
	if err := os.WriteFile(file, []byte("no PEM"), 0o600); err != nil {
		t.Fatal(err)
	}
	_, err := FromEnvironment(variables("OTEL_EXPORTER_OTLP_CLIENT_CERTIFICATE", file, "OTEL_EXPORTER_OTLP_CLIENT_KEY", file), "https://h")
	if err == nil || !strings.Contains(err.Error(), "not a certificate and its key") {
		t.Error(err)
	}
}
