package send

import (
	"fmt"
	"net/url"
	"strconv"
	"strings"

	"mcpc/internal/redact"
	"mcpc/internal/usage"
	"mcpc/internal/wire"
)

// endpointFromVariables is the name for the endpoint in the OTEL_* variables.
const endpointFromVariables = "env"

// The paths of the signals below a base endpoint.
const (
	tracesPath  = "v1/traces"
	metricsPath = "v1/metrics"
)

// readEndpoint returns the URL that a signal is sent to. given is a base URL or
// endpointFromVariables. It returns nil if the variables set no endpoint.
func (e *environment) readEndpoint(signal, path, given string) (*url.URL, error) {
	if given != endpointFromVariables {
		return joinSignalPath("--otlp", given, path)
	}
	variable := "OTEL_EXPORTER_OTLP_" + signal + "_ENDPOINT"
	if text := e.value(variable); text != "" {
		u, err := parseEndpoint(variable, text)
		if err == nil && u.Path == "" {
			u.Path = "/"
		}
		return u, err
	}
	const base = "OTEL_EXPORTER_OTLP_ENDPOINT"
	if text := e.value(base); text != "" {
		return joinSignalPath(base, text, path)
	}
	return nil, nil
}

// joinSignalPath returns the URL of a signal under a base endpoint. It returns an error if the base endpoint
// already ends with the path.
func joinSignalPath(source, text, path string) (*url.URL, error) {
	u, err := parseEndpoint(source, text)
	if err != nil {
		return nil, err
	}
	if strings.HasSuffix(strings.TrimSuffix(u.Path, "/"), "/"+path) {
		return nil, usage.New(
			fmt.Sprintf("%s %q: the base URL has no /%s, which is added", source, redact.RedactURL(text), path),
			endpointHint,
		)
	}
	u.Path = strings.TrimSuffix(u.Path, "/") + "/" + path
	if u.RawPath != "" {
		u.RawPath = strings.TrimSuffix(u.RawPath, "/") + "/" + path
	}
	return u, nil
}

const endpointHint = wire.Hint(
	"an endpoint is http://HOST:PORT or https://HOST:PORT; collectors use port 4318 for OTLP over HTTP",
)

// parseEndpoint parses the URL of a collector. source names the setting in errors. The errors
// contain no password.
func parseEndpoint(source, text string) (*url.URL, error) {
	text = strings.TrimSpace(text)
	wrong := func(why string, hint wire.Hint) (*url.URL, error) {
		return nil, usage.New(fmt.Sprintf("%s %q: %s", source, redact.RedactURL(text), why), hint)
	}
	scheme, rest, found := strings.Cut(text, "://")
	scheme = strings.ToLower(scheme)
	if text == "" {
		return wrong("no endpoint", endpointHint+wire.Hint("; "+endpointFromVariables+" means OTEL_EXPORTER_OTLP_ENDPOINT"))
	}
	isPath := strings.HasPrefix(text, "/") || strings.HasPrefix(text, ".")
	if isPath || strings.HasPrefix(strings.ToLower(text), "unix:") {
		return wrong("Unix sockets are not supported", endpointHint)
	}
	if found && strings.HasPrefix(scheme, "grpc") {
		return wrong("OTLP over gRPC is not supported", endpointHint)
	}
	if !found {
		return wrong("no scheme", endpointHint)
	}
	if scheme != "http" && scheme != "https" {
		return wrong("the scheme must be http or https", endpointHint)
	}
	if rest == "" {
		return wrong("no host", endpointHint)
	}
	u, err := url.Parse(text)
	if err != nil {
		return wrong("not a URL", endpointHint)
	}
	port, _ := strconv.Atoi(u.Port())
	if u.Hostname() == "" {
		return wrong("no host", endpointHint)
	}
	if u.Port() != "" && (port < 1 || port > 65535) {
		return wrong("no such port", endpointHint)
	}
	if port == 4317 {
		return wrong("port 4317 is for OTLP over gRPC, which is not supported",
			"use the collector's port for OTLP over HTTP, usually 4318")
	}
	u.Fragment = ""
	u.RawFragment = ""
	return u, nil
}
