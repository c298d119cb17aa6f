package send

import (
	"encoding/binary"
	"errors"
	"math"
	"strconv"
	"strings"

	"mcpc/internal/otlp"
)

// A Sampler selects the traces that are sent. Its zero value is parentbased_always_on, the default.
type Sampler struct {
	// threshold is the lowest random value of a sampled trace, of 56 bits. 0 samples each trace.
	threshold    uint64
	ignoreParent bool
}

// never is a threshold above every random value.
const never = 1 << 56

// Sample reports whether a span is sampled. hasParent is set if the span has a parent, and
// parentSampled if the parent is sampled.
func (s Sampler) Sample(trace otlp.TraceID, hasParent, parentSampled bool) bool {
	if hasParent && !s.ignoreParent {
		return parentSampled
	}
	// The last 7 bytes of a trace ID are random (W3C Trace Context, level 2).
	return binary.BigEndian.Uint64(trace[8:])&(never-1) >= s.threshold
}

// readSampler returns the Sampler of OTEL_TRACES_SAMPLER and OTEL_TRACES_SAMPLER_ARG.
func (e *environment) readSampler() Sampler {
	const name = "OTEL_TRACES_SAMPLER"
	sampler := lookup(e, []string{name}, parseSamplerName, "parentbased_always_on")
	root, usesParent := strings.CutPrefix(sampler, "parentbased_")
	s := Sampler{ignoreParent: !usesParent}
	switch root {
	case "always_off":
		s.threshold = never
	case "traceidratio":
		s.threshold = uint64(math.Round((1 - lookup(e, []string{name + "_ARG"}, parseProbability, 1)) * never))
	}
	return s
}

// parseSamplerName parses the name of a sampler, in any case.
func parseSamplerName(text string) (string, error) {
	text = strings.ToLower(text)
	switch strings.TrimPrefix(text, "parentbased_") {
	case "always_on", "always_off", "traceidratio":
		return text, nil
	}
	return "", errors.New("mcpc supports always_on, always_off, traceidratio, each also with parentbased_ before it")
}

// parseProbability parses a number from 0 to 1.
func parseProbability(text string) (float64, error) {
	p, err := strconv.ParseFloat(text, 64)
	if err != nil || !(0 <= p && p <= 1) {
		return 0, errors.New("it must be a number from 0 to 1")
	}
	return p, nil
}
