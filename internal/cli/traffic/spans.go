package traffic

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"time"

	"mcpc/internal/capture"
	"mcpc/internal/capture/rows"
	"mcpc/internal/cli/cmdutil"
	"mcpc/internal/english"
	"mcpc/internal/otlp"
	"mcpc/internal/otlp/send"
	"mcpc/internal/telemetry"
	"mcpc/internal/wire"
)

const (
	// maxBatchSpans is how many spans one line of a file, or one request, contains.
	maxBatchSpans = 512
	// postTimeout limits one request with its retries.
	postTimeout = 30 * time.Second
)

// writeSpans writes the spans of exchanges as OTLP, one line of JSON per batch.
func writeSpans(o *cmdutil.TraceOptions, f *cmdutil.Factory, w io.Writer, c *rows.Capture, rows []*rows.Row) error {
	config, err := send.FromEnvironment(f.Getenv, "http://localhost") // only for the resource
	if err != nil {
		return err
	}
	resource := config.Resource(f.TelemetryResource())
	return eachBatch(o, f, c, rows, func(spans []otlp.Span) error {
		_, err := w.Write(append(otlp.AppendTraces(nil, otlp.JSON, resource, telemetry.Scope(), spans), '\n'))
		return err
	})
}

// sendSpans sends the spans of exchanges to the collector of --otlp, batch by batch. It stops at the
// first failure, whose error says how many spans were accepted before.
func sendSpans(
	ctx context.Context,
	o *cmdutil.TraceOptions,
	f *cmdutil.Factory,
	c *rows.Capture,
	rows []*rows.Row,
) error {
	config, err := o.Config(f)
	if err != nil {
		return err
	}
	exporter := send.New(config, f.TelemetryOptions())
	sent := 0
	err = eachBatch(o, f, c, rows, func(spans []otlp.Span) error {
		ctx, stop := context.WithTimeout(ctx, postTimeout)
		defer stop()
		if err := exporter.Post(ctx, spans); err != nil {
			return err
		}
		sent += len(spans)
		return nil
	})
	exporter.Close(ctx)
	if failed, ok := errors.AsType[*send.Error](err); ok {
		out := wire.Outcome{
			Kind:  failed.Kind,
			Phase: "output",
			Text:  "the collector did not accept the spans: " + failed.Text,
		}
		if sent > 0 {
			out.Text += fmt.Sprintf(" (%s before were accepted; exporting again sends the same ids)",
				english.Plural(sent, "span"))
		}
		return cmdutil.Exit(cmdutil.WithSignal(ctx, out))
	}
	if err == nil {
		f.Note(english.Plural(sent, "span") + " sent to " + config.Traces.String())
	}
	return err
}

// eachBatch calls handle with the spans of the rows all, in batches of about maxBatchSpans, in the
// order in which they ended. The spans of the commands come last. It stops at the first error, of
// handle or of reading the capture.
func eachBatch(
	o *cmdutil.TraceOptions,
	f *cmdutil.Factory,
	c *rows.Capture,
	all []*rows.Row,
	handle func([]otlp.Span) error,
) error {
	var pending []otlp.Span
	wanted := frameOffsets(c, all)
	runs := make([]*tracedRun, len(c.Heads))
	emit := func(r *tracedRun) func(int64, otlp.Span) {
		return func(ref int64, s otlp.Span) { // ref is the offset of the request's frame
			if wanted == nil || wanted[ref] {
				pending = append(pending, s)
				if s.End.After(r.root.End) { // the command's span includes all spans of the run
					r.root.End = s.End
				}
			}
		}
	}
	err := c.FrameReader().Each(func(at rows.FramePlace, frame wire.Frame) error {
		r := runs[at.RunIndex]
		if r == nil {
			r = &tracedRun{}
			options := r.startOptions(c.Heads[at.RunIndex])
			options.Emit = emit(r)
			r.builder = telemetry.New(o.SpanOptions(f, options))
			runs[at.RunIndex] = r
		}
		r.builder.Add(at.Offset, frame)
		if len(pending) < maxBatchSpans {
			return nil
		}
		err := handle(pending)
		pending = nil
		return err
	})
	if err != nil {
		return err
	}
	failUnanswered(runs, c.Rows())
	for _, r := range runs {
		if r == nil {
			continue
		}
		r.builder.Close(time.Time{})
		if r.root.Trace != (otlp.TraceID{}) && !r.root.End.IsZero() {
			pending = append(pending, r.root)
		}
	}
	for batch := range slices.Chunk(pending, maxBatchSpans) {
		if err := handle(batch); err != nil {
			return err
		}
	}
	return nil
}

// A tracedRun is one run of a capture.
type tracedRun struct {
	builder *telemetry.Builder
	// root is the span of the command; zero for the traffic of other clients.
	root otlp.Span
}

// startOptions returns the options for the head of a run. A command that recorded no span gets one
// with ids that are the same for each export.
func (r *tracedRun) startOptions(h capture.Head) telemetry.Options {
	o := telemetry.Options{IsRelay: h.By != capture.ByCommand, Target: h.Target}
	o.Seed = fmt.Sprint(h.Started.UnixNano(), " ", h.Pid, " ", h.Run, " ", h.Mark, " ", h.Target)
	if o.IsRelay {
		return o
	}
	r.root = otlp.Span{Sampled: true, Name: "mcpc", Kind: otlp.Internal, Start: h.Started}
	if own, ok := telemetry.ParseContext("00-"+h.Trace+"-"+h.Span+"-01", ""); ok {
		r.root.Trace = own.Trace
		r.root.ID = own.Span
		o.ContextIsOwnSpan = true
	} else {
		sum := sha256.Sum256([]byte("root " + o.Seed))
		copy(r.root.Trace[:], sum[:16])
		copy(r.root.ID[:], sum[16:])
	}
	o.Parent = telemetry.Context{Trace: r.root.Trace, Span: r.root.ID, Sampled: true}
	return o
}

// failUnanswered ends the spans of requests without a response with the recorded outcome. runs are by
// the index of the run; a run is nil if it has no frames.
func failUnanswered(runs []*tracedRun, rows []*rows.Row) {
	for _, row := range rows {
		r := runs[row.RunIndex()]
		isUnanswered := row.Channel == string(wire.Timeout) || row.Channel == string(wire.Transport)
		if r == nil || !isUnanswered {
			continue
		}
		id := json.RawMessage(row.ID)
		if _, err := strconv.ParseFloat(row.ID, 64); err != nil {
			id, _ = json.Marshal(row.ID)
		}
		r.builder.Fail(id, wire.Kind(row.Channel), row.Text, row.EndTime())
	}
}

// frameOffsets returns the offsets of the rows' frames, or nil if the rows are all rows of the
// capture.
func frameOffsets(c *rows.Capture, rows []*rows.Row) map[int64]bool {
	if len(rows) == len(c.Rows()) {
		return nil
	}
	offsets := map[int64]bool{}
	for _, row := range rows {
		for offset := range row.Lines() {
			offsets[offset] = true
		}
	}
	return offsets
}
