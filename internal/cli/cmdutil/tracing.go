package cmdutil

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"mcpc/internal/english"
	"mcpc/internal/jsonraw"
	"mcpc/internal/otlp"
	"mcpc/internal/otlp/send"
	"mcpc/internal/telemetry"
	"mcpc/internal/wire"
)

// TraceOptions are the flags of telemetry.
type TraceOptions struct {
	endpoint          string
	content, uriNames bool
}

// AddFlags declares the flags.
func (o *TraceOptions) AddFlags(flags *pflag.FlagSet) {
	flags.StringVar(&o.endpoint, "otlp", "",
		"send spans and metrics to the OpenTelemetry collector at `URL`; env takes the URL from the OTEL_* variables")
	flags.BoolVar(&o.content, "otlp-content", false, "add arguments and results to spans, without secrets")
	flags.BoolVar(&o.uriNames, "otlp-uri-names", false, "add the URI of a resource to the names of spans")
}

// closeTimeout limits how long the end of a command waits for the collector.
const closeTimeout = 3 * time.Second

// A traceExport sends the telemetry of a running command.
type traceExport struct {
	f        *Factory
	config   send.Config
	exporter *send.Exporter
	live     *telemetry.Live
}

// StartCommand starts tracing mcpc's own requests. Each request gets a span below the span of the
// command, whose parent is TRACEPARENT. Without --otlp it does nothing.
func (o *TraceOptions) StartCommand(f *Factory, name string) error {
	e, err := o.readExport(f)
	if e == nil {
		return err
	}
	parent, hasParent := telemetry.ParseContext(f.Getenv("TRACEPARENT"), f.Getenv("TRACESTATE"))
	if !hasParent { // this command begins a trace
		_, _ = rand.Read(parent.Trace[:]) // never fails
	}
	own := telemetry.Context{
		Trace:   parent.Trace,
		State:   parent.State,
		Sampled: e.config.Sampler.Sample(parent.Trace, hasParent, parent.Sampled),
	}
	_, _ = rand.Read(own.Span[:])
	root := otlp.Span{
		Trace:      own.Trace,
		ID:         own.Span,
		Parent:     parent.Span,
		Remote:     hasParent,
		TraceState: own.State,
		Sampled:    own.Sampled,
		Name:       "mcpc " + name,
		Kind:       otlp.Internal,
		Start:      f.Now(),
	}
	f.Trace.Trace = hex.EncodeToString(own.Trace[:])
	f.Trace.Span = hex.EncodeToString(own.Span[:])
	// Each request carries the id of its own span, which the server's spans get as their parent.
	f.Trace.Meta = func() []jsonraw.Member {
		next := own
		_, _ = rand.Read(next.Span[:])
		return next.Meta(f.Getenv("BAGGAGE"))
	}
	e.start(o.sampledSpanOptions(f, e, telemetry.Options{ContextIsOwnSpan: true, Parent: own, Target: f.Server}))
	f.OnExit = func(ended ExitError) {
		if out := ended.Outcome; !out.OK() {
			e.live.Fail(nil, out.Kind, out.Text, f.Now())
			root.Failed = true
			root.Message = out.Text
			root.Attributes = append(root.Attributes, otlp.Attribute{Key: "error.type", Value: string(out.Kind)})
		}
		root.End = f.Now()
		root.Attributes = append(root.Attributes, otlp.Attribute{Key: "process.exit.code", Value: int64(ended.ExitCode())})
		if root.Sampled {
			e.exporter.Span(root)
		}
		e.close()
	}
	return nil
}

// StartRelay starts tracing the traffic that a tap or a proxy relays to a target. The caller calls
// end to send the rest. Without --otlp both do nothing.
func (o *TraceOptions) StartRelay(f *Factory, target string) (end func(), err error) {
	e, err := o.readExport(f)
	if e == nil {
		return func() {}, err
	}
	e.start(o.sampledSpanOptions(f, e, telemetry.Options{IsRelay: true, Target: target}))
	return e.close, nil
}

// readExport reads the settings of --otlp. It returns nil without --otlp or with an error.
func (o *TraceOptions) readExport(f *Factory) (*traceExport, error) {
	config, err := o.Config(f)
	if err != nil || o.endpoint == "" {
		return nil, err
	}
	return &traceExport{f: f, config: config}, nil
}

// IsSet reports whether --otlp is set.
func (o *TraceOptions) IsSet() bool { return o.endpoint != "" }

// Config reads the settings of --otlp, and warns about environment variables that it ignores.
func (o *TraceOptions) Config(f *Factory) (send.Config, error) {
	if o.endpoint == "" {
		return send.Config{}, nil
	}
	config, err := send.FromEnvironment(f.Getenv, o.endpoint)
	f.Secrets.Learn(config.Secrets()...)
	for _, text := range config.Warnings {
		f.Warn("telemetry: " + text)
	}
	return config, err
}

// TelemetryOptions returns the options of an Exporter of this program.
func (f *Factory) TelemetryOptions() send.Options {
	return send.Options{
		Now:       f.Now,
		Proxy:     http.ProxyFromEnvironment,
		UserAgent: "mcpc/" + f.Version,
		Scope:     telemetry.Scope(),
		Resource:  f.TelemetryResource(),
	}
}

// TelemetryResource returns the resource that identifies this process in telemetry.
func (f *Factory) TelemetryResource() otlp.Resource {
	return otlp.Resource{Attributes: []otlp.Attribute{
		{Key: "service.name", Value: "mcpc"},
		{Key: "service.version", Value: f.Version},
		{Key: "service.instance.id", Value: strings.ToLower(rand.Text())},
	}}
}

// SpanOptions returns options with the settings of the flags. Without a Seed it gets a random one.
func (o *TraceOptions) SpanOptions(f *Factory, options telemetry.Options) telemetry.Options {
	options.Content = o.content
	options.URINames = o.uriNames
	options.Hide = f.Secrets.Frame
	if options.Seed == "" {
		options.Seed = rand.Text()
	}
	return options
}

// sampledSpanOptions returns the options of a Builder that samples as the settings of e say.
func (o *TraceOptions) sampledSpanOptions(f *Factory, e *traceExport, options telemetry.Options) telemetry.Options {
	options.Sample = func(trace otlp.TraceID, parent telemetry.Context) bool {
		return e.config.Sampler.Sample(trace, parent.IsValid(), parent.Sampled)
	}
	return o.SpanOptions(f, options)
}

// start opens the exporter, and sets f.Trace so that it receives the frames.
func (e *traceExport) start(options telemetry.Options) {
	sending := e.f.TelemetryOptions()
	metrics := &telemetry.Metrics{Start: e.f.Now()}
	sending.Collect = func(now time.Time) []otlp.Histogram { return metrics.Collect(now, e.config.Delta) }
	if options.IsRelay && !e.f.Record.Quiet.Load() { // not for a tap: its stderr belongs to the server
		sending.Failing = func(reason string) { e.f.Warn("telemetry: the collector accepts nothing: " + reason) }
	}
	e.exporter = send.New(e.config, sending)
	options.Metrics = metrics
	options.Emit = func(_ int64, s otlp.Span) { e.exporter.Span(s) }
	e.live = telemetry.NewLive(telemetry.New(options), e.f.Now)
	e.f.Trace.Tap = e.live.Tap
	e.f.Trace.Lost = e.live.Gap
	e.f.Trace.Fail = func(o wire.Outcome) { e.live.Fail(o.ID, o.Kind, e.f.Secrets.Text(o.Text), e.f.Now()) }
}

// close sends the waiting spans and metrics, and warns about what could not be sent.
func (e *traceExport) close() {
	lost := e.live.Close(e.f.Now())
	ctx, stop := context.WithTimeout(context.Background(), closeTimeout)
	defer stop()
	report := e.exporter.Close(ctx)
	if lost > 0 {
		e.f.Warn(
			"telemetry: " + english.Plural(lost, "request") + " without a span: messages came faster than they could be read",
		)
	}
	for _, part := range []struct {
		counts send.Counts
		one    string
	}{{report.Spans, "span"}, {report.Metrics, "metric point"}} {
		if text := describeUnsent(part.counts, part.one); text != "" {
			// Problem may be "": then nothing follows the text.
			e.f.Warn(strings.TrimSuffix("telemetry: "+text+": "+report.Problem, ": "))
		}
	}
}

// describeUnsent describes how many spans or points did not reach the collector, and why. Returns
// "" if all did.
func describeUnsent(c send.Counts, one string) string {
	missing := c.Dropped + c.Rejected + c.Failed
	if missing == 0 {
		return ""
	}
	var why []string
	for _, part := range []struct {
		n    int64
		text string
	}{{c.Failed, "not accepted"}, {c.Rejected, "rejected"}, {c.Dropped, "dropped because too many waited"}} {
		if part.n > 0 {
			why = append(why, fmt.Sprintf("%d %s", part.n, part.text))
		}
	}
	return fmt.Sprintf(
		"%d of %s did not reach the collector (%s)",
		missing,
		english.Plural(int(missing+c.Sent), one),
		strings.Join(why, ", "),
	)
}
