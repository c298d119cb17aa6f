// Package telemetry makes spans and metrics of MCP traffic, by the semantic conventions of
// OpenTelemetry for MCP: frames in, spans and histograms out.
package telemetry
