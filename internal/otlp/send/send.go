// Package send delivers spans and histograms to a collector by OTLP over HTTP.
package send
