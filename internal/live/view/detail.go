package view

import (
	"bytes"
	"context"
	"encoding/hex"
	"errors"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"mcpc/internal/capture/rows"
	"mcpc/internal/exchange"
	"mcpc/internal/jsonraw"
	"mcpc/internal/live"
	"mcpc/internal/render/failure"
	"mcpc/internal/render/term"
	"mcpc/internal/sliceutil"
	"mcpc/internal/validate"
	"mcpc/internal/wire"
)

// The limits of a Detail. Body returns the rest.
const (
	maxBody      = 256 << 10 // bytes of the request and of the response
	maxFrameBody = 4 << 10   // bytes of each frame
	maxFrames    = 2000
	maxStderr    = 200
	maxHex       = 4 << 10
)

// Detail returns the details of one exchange.
func (v *Views) Detail(_ context.Context, key string) (Detail, error) {
	var d Detail
	var same comparedRequest
	m := v.maker() // calls the Actor, which is not allowed in a callback of the store
	err := v.withRow(key, func(r *rows.Row) (err error) {
		d, err = m.makeDetail(r)
		same = comparedRequest{r.Target, r.Method, r.Name, live.KeyOf(r), r.Time, r.Duration, !r.IsOpen()}
		return err
	})
	if err == nil {
		err = v.compareWithOthers(&d, same)
	}
	return d, err
}

// makeDetail reads an exchange and returns its details. If the exchange is too large, a line
// reports it and the bodies are missing.
func (m maker) makeDetail(r *rows.Row) (Detail, error) {
	v := m.v
	d := Detail{Row: m.makeRow(live.KeyOf(r), r), Lines: []Line{}, Frames: []Frame{}, Facts: factsOf(r)}
	x, err := readExchange(r, maxBytes)
	large, isLarge := errors.AsType[*largeError](err)
	if err != nil && !isLarge {
		return d, err
	}
	frames, err := framesOf(r, &d)
	if err != nil {
		return d, err
	}
	d.Row.Phases = phasesOf(x, m.endOf(r))
	d.Lines = makeLines(r, x, v.waits(r))
	if isLarge {
		d.Lines = append(d.Lines, Line{Kind: "remark", Time: r.Time, Text: large.Error(), Times: 1})
	}
	d.Cut = storyOf(x).Text(r.IsSeparate, v.waits(r))
	d.Why = whyItTook(d.Row.Phases, x)
	// The phases of an open exchange are not final.
	if d.Row.State != stateDone {
		d.Why = whyOpen(d.Row)
	}
	d.Request = bodyIn(frames, x.Request)
	d.Response = bodyIn(frames, x.Response)
	if was, sent := editedRequest(x); was.Raw != nil {
		d.Request = bodyIn(frames, sent)
		d.Request.Was = bodyIn(frames, was)
		text := "by the user: this request was sent in place of " + jsonraw.Excerpt(was.Raw, maxName)
		d.Facts = append(d.Facts, [2]string{"edited", text})
		x.Request.Raw = sent.Raw
	}
	v.addSchemas(&d, r, x)
	explain(&d)
	if r.Method == "tools/call" {
		addCallFacts(&d, x)
	}
	d.Stderr = stderrOf(r, m.endOf(r))
	explainTapError(&d, x)
	if v.Findings != nil {
		d.Findings, err = v.Findings(r)
		d.Row.Findings = max(d.Row.Findings, len(d.Findings))
	}
	return d, err
}

// addCallFacts adds the arguments of a call, and its result if it is in no other fact, after the outcome.
func addCallFacts(d *Detail, x *wire.Exchange) {
	var facts [][2]string
	if text := argumentsText(x); text != "" {
		facts = append(facts, [2]string{"arguments", text})
	}
	for _, l := range d.Lines {
		if l.Kind == "response" && l.Text != "" && !d.Row.Failed {
			facts = append(facts, [2]string{"result", l.Text})
		}
	}
	d.Facts = slices.Insert(d.Facts, min(1, len(d.Facts)), facts...)
}

// explain adds the reason of a failure to the row and the facts if the recording has no reason: a
// tap or a proxy records only the response.
func explain(d *Detail) {
	for _, l := range d.Lines {
		if d.Row.Failed && d.Row.Text == "" && l.Kind == "response" {
			d.Row.Text = l.Text
		}
	}
	if len(d.Wrong) > 0 {
		texts := sliceutil.Map(d.Wrong, func(w Wrong) string { return w.Text })
		// After the outcome, which is the first fact.
		d.Facts = slices.Insert(d.Facts, min(1, len(d.Facts)), [2]string{"wrong arguments", strings.Join(texts, "; ")})
	}
}

// explainTapError says why mcpc tap refused a request, if it did: no code describes that, and the error has the end of
// what the server wrote to stderr.
func explainTapError(d *Detail, x *wire.Exchange) {
	m := wire.ParseMessage(x.Response.Raw)
	if m.Error == nil {
		return
	}
	why, stderr := m.Error.TapReason()
	if why == "" {
		return
	}
	d.Row.Text = why
	d.Facts = slices.DeleteFunc(d.Facts, func(f [2]string) bool { return f[0] == "error code" || f[0] == "text" })
	if stderr != "" {
		d.Stderr = strings.Split(strings.TrimSpace(stderr), "\n")
	}
}

// factsOf returns the properties of a row as names and texts.
func factsOf(r *rows.Row) [][2]string {
	var all [][2]string
	add := func(name, text string) {
		if text != "" {
			all = append(all, [2]string{name, text})
		}
	}
	add("outcome", r.Channel)
	if r.Code != 0 {
		add("error code", strconv.FormatInt(r.Code, 10)+" "+failure.CodeMeaning(r.Code))
	}
	if r.Status != 0 {
		add("HTTP", strings.TrimPrefix(failure.HTTPStatus(r.Status), "HTTP "))
	}
	if r.Cancel != nil {
		add("cancelled", cancelWords(r))
	} else {
		add("text", r.Text)
	}
	add("hint", r.Hint)
	if took := term.Duration(r.Duration); r.Held > 0 && !r.IsOpen() {
		add("took", took+", and was held for "+term.Duration(r.Held))
	} else if !r.IsOpen() { // the view counts the time of an open exchange
		add("took", took)
	}
	if r.TimeToFirst > 0 {
		add("first byte", term.Duration(r.TimeToFirst))
	}
	add("sent", term.Size(r.Sent))
	add("received", term.Size(r.Received))
	add("id", r.ID)
	add("client", r.Client())
	add("server", r.Server())
	add("target", r.Target)
	add("protocol", r.Revision)
	add("era", r.Era)
	add("session", r.Session())
	add("recorded by", r.By)
	add("sent again of", r.ReplayOf)
	add("notes", r.Remarks())
	if r.Notes.Guessed > 0 {
		add("guess", "a message names no request; it is shown here because only this request was waiting for its response")
	}
	add("file", r.Path())
	return all
}

// framesOf adds the first maxFrames frames of a row to d, and returns all of them without their
// bytes.
func framesOf(r *rows.Row, d *Detail) (frames []wire.Frame, err error) {
	err = r.EachFrame(func(f wire.Frame) error {
		frames = append(frames, wire.Frame{Seq: f.Seq, Kind: f.Kind, Conn: f.Conn})
		if n := len(frames); n <= maxFrames {
			d.Frames = append(d.Frames, frameOf(n, f))
			addOriginal(d.Frames, f)
		}
		return nil
	})
	return frames, err
}

// addOriginal sets Was of the last frame if a user edited its message. The capture has the message of
// its sender, and the edited message in a separate frame.
func addOriginal(all []Frame, f wire.Frame) {
	if f.Held == nil || f.Held.How != "edited" {
		return
	}
	last := &all[len(all)-1]
	if f.Dir == wire.Received {
		// The frame before has the edited message, as mcpc's client received it.
		last.Was = last.Body
		last.Body = nil
		return
	}
	for _, before := range slices.Backward(all[:len(all)-1]) {
		if before.Body != nil && before.Dir == last.Dir {
			last.Was = before.Body
			return
		}
	}
}

// frameOf returns frame n of an exchange as a document. Its body is cut after maxFrameBody bytes.
func frameOf(n int, f wire.Frame) Frame {
	out := Frame{N: n, Dir: f.Dir.String(), Kind: f.Kind.String(), Time: f.Time}
	if h := f.HTTP; h != nil {
		out.Line = strings.TrimPrefix(failure.HTTPStatus(h.Status), "HTTP ")
		if h.Method != "" {
			out.Line = h.Method + " " + h.URL
		}
		for _, field := range h.Fields {
			out.Head = append(out.Head, [2]string{field.Name, field.Value})
			if plain := field.DecodedValue(); plain != field.Value {
				out.Head = append(out.Head, [2]string{field.Name + " (decoded)", plain})
			}
		}
	}
	if s := f.SSE; s != nil {
		out.Event = s.Event
		if s.ID != nil {
			out.ID = *s.ID
		}
	}
	if f.Close != nil {
		out.Note = closingWords(f)
	}
	if x := f.Fault; x != nil {
		out.Note = x.Action + " (" + x.Rule + ")"
		if x.Text != "" {
			out.Note += ": " + x.Text
		}
	}
	if h := f.Held; h != nil {
		out.Note = h.How
		if h.Milliseconds > 0 {
			out.Note += " after " + term.Duration(time.Duration(h.Milliseconds)*time.Millisecond)
		}
		if h.Why != "" {
			out.Note += ": " + h.Why
		}
	}
	if f.Hidden > 0 {
		out.Note = strconv.Itoa(f.Hidden) + " hidden"
	}
	if len(f.Raw) > 0 {
		out.Body = bodyOf(n, f.Raw, f.Bytes(), maxFrameBody)
	}
	return out
}

// bodyIn returns the body of a message of an exchange, or nil if the exchange lacks the message.
// For a batch it is only the one message. Its Frame is the number of the message among frames; 0 if
// they do not have it.
func bodyIn(frames []wire.Frame, message wire.Frame) *Body {
	if message.Raw == nil {
		return nil
	}
	n := 1 + slices.IndexFunc(frames, func(f wire.Frame) bool {
		return f.Seq == message.Seq && f.Kind == message.Kind && f.Conn == message.Conn
	})
	return bodyOf(n, message.Raw, message.Bytes(), maxBody)
}

// bodyOf returns the body of frame n with at most limit bytes of text, or a hex dump if the bytes
// are not text. size is the size of the message, which may be larger than raw.
func bodyOf(n int, raw []byte, size, limit int) *Body {
	b := &Body{Frame: n, Bytes: size}
	if !utf8.Valid(raw) || bytes.IndexByte(raw, 0) >= 0 {
		limit = min(limit, maxHex)
		b.Hex = true
		b.Cut = len(raw) > limit
		b.Text = hex.Dump(raw[:min(len(raw), limit)])
		return b
	}
	b.Cut = len(raw) > limit
	if b.Cut {
		raw = raw[:jsonraw.RuneStart(raw, limit)]
	}
	b.Text = string(raw)
	return b
}

// Body returns the recorded bytes of a frame of an exchange. Frames count from 1. It returns
// ErrGone if there is no such frame.
func (v *Views) Body(_ context.Context, key string, frame int) (raw []byte, err error) {
	n := 0
	err = v.withRow(key, func(r *rows.Row) error {
		return r.EachFrame(func(f wire.Frame) error {
			n++
			if n == frame {
				raw = f.Raw
			}
			return nil
		})
	})
	if err == nil && (frame < 1 || frame > n) {
		err = ErrGone
	}
	return raw, err
}

// addSchemas adds the schemas of the called tool, and the arguments that they do not allow. It adds
// nothing for other requests or an unknown tool.
func (v *Views) addSchemas(d *Detail, r *rows.Row, x *wire.Exchange) {
	if r.Method != "tools/call" || r.Dir != wire.Sent {
		return
	}
	tool := v.lists.Tool(r)
	if tool == nil {
		return
	}
	d.InputSchema = tool.InputSchema
	d.OutputSchema = tool.OutputSchema
	d.App = tool.UI
	schema, _, err := validate.Compile(tool.InputSchema)
	if err != nil || x.Request.Raw == nil {
		return
	}
	arguments := jsonraw.OrEmpty(jsonraw.First(wire.ParseMessage(x.Request.Raw).Params, "arguments"))
	found, _ := schema.Check(arguments)
	for _, f := range found {
		d.Wrong = append(d.Wrong, Wrong{f.Pointer, failure.Finding(term.Style{}, f)})
	}
}

// stderrOf returns the lines that the server wrote to stderr during an exchange, even if they are
// recorded with another exchange.
func stderrOf(r *rows.Row, end time.Time) []string {
	var lines []string
	for _, other := range r.Capture().Rows() {
		if !other.Kinds.Has(wire.Stderr) || live.TalkOf(other) != live.TalkOf(r) {
			continue
		}
		if other.Time.After(end) || len(lines) >= maxStderr {
			continue
		}
		_ = other.EachFrame(func(f wire.Frame) error {
			if f.Kind == wire.Stderr && !f.Time.Before(r.Time) && !f.Time.After(end) && len(lines) < maxStderr {
				lines = append(lines, string(f.Raw))
			}
			return nil
		})
	}
	return lines
}

// A comparedRequest is the request of a row, to be compared with the same request in other rows.
type comparedRequest struct {
	target, method, name string
	key                  live.Key
	time                 time.Time
	took                 time.Duration
	hasEnded             bool
}

// compareWithOthers adds to d how its duration compares with the durations of exchanges with the
// same request, and the keys of the previous and of the last good exchange with this request. It adds
// nothing for streams and pipes.
func (v *Views) compareWithOthers(d *Detail, request comparedRequest) error {
	if request.method == "" || request.method == rows.MethodStream || request.method == rows.MethodPipe {
		return nil
	}
	var others []time.Duration
	var before time.Time
	var lastGood string
	err := v.store.Each(live.Query{}, func(r *rows.Row) bool {
		isSameRequest := r.Method == request.method && r.Name == request.name && r.Target == request.target
		if !isSameRequest || live.KeyOf(r) == request.key {
			return true
		}
		// A cancelled exchange says nothing about the server's speed.
		if !r.IsOpen() && r.Cancel == nil {
			others = append(others, r.Duration)
		}
		if !r.Time.After(request.time) && !r.Time.Before(before) {
			before = r.Time
			d.Before = live.KeyOf(r).String()
			if r.Channel == exchange.ChannelOK {
				lastGood = d.Before
			}
		}
		return true
	})
	if d.Row.Failed {
		d.LastGood = lastGood
	}
	if request.hasEnded {
		d.Group = compareDuration(request, others)
	}
	return err
}
