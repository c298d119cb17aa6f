// Package send delivers spans and histograms to a collector by OTLP over HTTP. Traffic never waits
// for the delivery: telemetry that the collector does not accept in time is dropped and counted.
package send

import (
	"crypto/tls"
	"encoding/base64"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"mcpc/internal/otlp"
	"mcpc/internal/usage"
)

// The defaults of the specification.
const (
	defaultTimeout       = 10 * time.Second
	defaultExportTimeout = 30 * time.Second
	defaultDelay         = 5 * time.Second
	defaultQueue         = 2048
	defaultBatch         = 512
	defaultInterval      = time.Minute
)

// A Config describes what telemetry is sent, and the collector that it is sent to. It holds
// secrets, which String omits.
type Config struct {
	Traces, Metrics Signal
	Sampler         Sampler
	// Delta is set if metrics count since the last export, not since the start.
	Delta bool
	// Warnings describe the variables that were ignored.
	Warnings []string

	delay      time.Duration // maximum time that a span waits
	queue      int           // maximum number of waiting spans
	batch      int           // maximum number of spans in a request
	interval   time.Duration // time between two exports of metrics
	attributes []otlp.Attribute
}

// A Signal is the delivery of traces or of metrics.
type Signal struct {
	// target returns the collector; it is nil if the signal is not sent. It is a function so that fmt
	// cannot print the secrets of the collector.
	target  func() *target
	format  otlp.Format
	gzip    bool
	timeout time.Duration // of a request; 0 means no timeout
	limit   time.Duration // of an export with its retries; 0 means no limit
}

// A target is a collector with the secrets that are sent to it.
type target struct {
	url    *url.URL // without user information, which header contains
	header http.Header
	tls    *tls.Config
}

// IsOn reports whether the signal is sent.
func (s Signal) IsOn() bool { return s.target != nil }

// String returns the address without user information and query, which may contain secrets.
func (s Signal) String() string {
	if !s.IsOn() {
		return "off"
	}
	u := s.target().url
	return u.Scheme + "://" + u.Host + u.EscapedPath()
}

// GoString returns the same text as String, so that %#v shows no secret.
func (s Signal) GoString() string { return s.String() }

// String returns the addresses that telemetry is sent to.
func (c Config) String() string {
	return "traces: " + c.Traces.String() + ", metrics: " + c.Metrics.String()
}

// GoString returns the same text as String, so that %#v shows no secret.
func (c Config) GoString() string { return c.String() }

// FromEnvironment returns the settings for an endpoint: the base URL of a collector, or "env" for
// the endpoint in the OTEL_* variables. All other settings are always read from these variables.
// The error is a usage error.
func FromEnvironment(getenv func(string) string, endpoint string) (Config, error) {
	e := &environment{getenv: getenv}
	c, err := e.readConfig(endpoint)
	c.Warnings = e.warnings
	return c, err
}

// readConfig reads the settings from the variables. It adds warnings for invalid values.
func (e *environment) readConfig(endpoint string) (c Config, err error) {
	if lookup(e, []string{"OTEL_SDK_DISABLED"}, parseOneOf(map[string]bool{"true": true, "false": false}), false) {
		e.warn("OTEL_SDK_DISABLED is true: no telemetry is sent")
		return c, nil
	}
	c.Traces, err = e.readSignal("TRACES", tracesPath, endpoint)
	if err != nil {
		return Config{}, err
	}
	c.Metrics, err = e.readSignal("METRICS", metricsPath, endpoint)
	if err != nil {
		return Config{}, err
	}
	if err := e.checkEndpoints(c); err != nil {
		return Config{}, err
	}
	c.Traces.limit = lookup(e, []string{"OTEL_BSP_EXPORT_TIMEOUT"}, parseMilliseconds, defaultExportTimeout)
	c.Metrics.limit = lookup(e, []string{"OTEL_METRIC_EXPORT_TIMEOUT"}, parseMilliseconds, defaultExportTimeout)
	c.delay = lookup(e, []string{"OTEL_BSP_SCHEDULE_DELAY"}, parseMilliseconds, defaultDelay)
	c.queue = lookup(e, []string{"OTEL_BSP_MAX_QUEUE_SIZE"}, rejectZero(parseInteger), defaultQueue)
	c.batch = lookup(e, []string{"OTEL_BSP_MAX_EXPORT_BATCH_SIZE"}, rejectZero(parseInteger), defaultBatch)
	if c.batch > c.queue {
		if e.value("OTEL_BSP_MAX_EXPORT_BATCH_SIZE") != "" {
			e.warn("OTEL_BSP_MAX_EXPORT_BATCH_SIZE is larger than the queue: batches have the size of the queue")
		}
		c.batch = c.queue
	}
	c.interval = lookup(e, []string{"OTEL_METRIC_EXPORT_INTERVAL"}, rejectZero(parseMilliseconds), defaultInterval)
	c.Delta = lookup(e, []string{"OTEL_EXPORTER_OTLP_METRICS_TEMPORALITY_PREFERENCE"},
		parseOneOf(map[string]bool{"cumulative": false, "delta": true, "lowmemory": true}), false)
	c.Sampler = e.readSampler()
	c.attributes = lookup(e, []string{"OTEL_RESOURCE_ATTRIBUTES"}, parseAttributes, nil)
	if name := e.value("OTEL_SERVICE_NAME"); name != "" {
		c.attributes = setAttribute(c.attributes, "service.name", name)
	}
	return c, nil
}

// checkEndpoints returns an error if no signal has an endpoint. It adds a warning for a signal that is not
// sent.
func (e *environment) checkEndpoints(c Config) error {
	traces := e.isWanted("TRACES")
	metrics := e.isWanted("METRICS")
	switch {
	case !traces && !metrics:
		e.warn("OTEL_TRACES_EXPORTER and OTEL_METRICS_EXPORTER are none: no telemetry is sent")
	case !c.Traces.IsOn() && !c.Metrics.IsOn():
		return usage.New("--otlp env: OTEL_EXPORTER_OTLP_ENDPOINT is not set",
			"set it to the URL of the collector, or use --otlp http://HOST:4318")
	case traces && !c.Traces.IsOn():
		e.warn("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT is not set: no traces are sent")
	case metrics && !c.Metrics.IsOn():
		e.warn("OTEL_EXPORTER_OTLP_METRICS_ENDPOINT is not set: no metrics are sent")
	}
	return nil
}

// isWanted reports whether a signal is on. The variables can turn it off.
func (e *environment) isWanted(signal string) bool {
	return lookup(e, []string{"OTEL_" + signal + "_EXPORTER"}, parseExporters, true)
}

// readSignal returns the settings of a signal, TRACES or METRICS.
func (e *environment) readSignal(name, path, endpoint string) (s Signal, err error) {
	if !e.isWanted(name) {
		return Signal{}, nil
	}
	t := &target{}
	t.url, err = e.readEndpoint(name, path, endpoint)
	if err != nil || t.url == nil {
		return Signal{}, err
	}
	for _, variable := range signalVariables(name, "PROTOCOL") {
		if text := e.value(variable); strings.EqualFold(text, "grpc") {
			return Signal{}, usage.New(variable+"=grpc: OTLP over gRPC is not supported",
				"set it to http/protobuf, and use the collector's port for OTLP over HTTP, usually 4318")
		} else if text != "" {
			break
		}
	}
	s.format = lookup(e, signalVariables(name, "PROTOCOL"),
		parseOneOf(map[string]otlp.Format{"http/protobuf": otlp.Protobuf, "http/json": otlp.JSON}), otlp.Protobuf)
	s.gzip = lookup(e, signalVariables(name, "COMPRESSION"),
		parseOneOf(map[string]bool{"gzip": true, "none": false}), false)
	s.timeout = lookup(e, signalVariables(name, "TIMEOUT"), parseMilliseconds, defaultTimeout)
	if t.url.Scheme == "https" {
		t.tls, err = e.readCertificates(name)
		if err != nil {
			return Signal{}, err
		}
	}
	t.header = e.readHeaders(name)
	if user := t.url.User; user != nil && t.header.Get("Authorization") == "" {
		password, _ := user.Password()
		t.header.Set("Authorization", "Basic "+base64.StdEncoding.EncodeToString([]byte(user.Username()+":"+password)))
	}
	t.url.User = nil
	s.target = func() *target { return t }
	return s, nil
}

// Resource returns r with the attributes that OTEL_RESOURCE_ATTRIBUTES and OTEL_SERVICE_NAME set.
func (c Config) Resource(r otlp.Resource) otlp.Resource {
	r.Attributes = slices.Clone(r.Attributes)
	for _, a := range c.attributes {
		r.Attributes = setAttribute(r.Attributes, a.Key, a.Value)
	}
	return r
}

// Secrets returns the texts that must not be shown or recorded: the values of the header fields,
// credentials in them, and the values in the queries of the URLs.
func (c Config) Secrets() []string {
	var all []string
	for _, s := range []Signal{c.Traces, c.Metrics} {
		if !s.IsOn() {
			continue
		}
		for _, values := range s.target().header {
			for _, value := range values {
				all = append(all, value)
				scheme, credentials, found := strings.Cut(value, " ")
				if !found {
					continue
				}
				all = append(all, credentials)
				if decoded, err := base64.StdEncoding.DecodeString(credentials); err == nil && strings.EqualFold(scheme, "Basic") {
					_, password, _ := strings.Cut(string(decoded), ":")
					all = append(all, string(decoded), password)
				}
			}
		}
		for _, values := range s.target().url.Query() {
			all = append(all, values...)
		}
	}
	slices.Sort(all)
	return slices.DeleteFunc(slices.Compact(all), func(value string) bool { return value == "" })
}
