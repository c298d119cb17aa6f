// Package probe judges a server: it opens connections to it, sends requests that show whether the
// server follows the rules of package lint, and reports the findings. The ladder lists the steps of
// a connection and their outcome. Each probe is a row of a table: the rules that it judges, the
// request, and the expected answer. It is a separate package, because it does not know flags,
// formats and files of reports, which package check has.
package probe

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"mcpc/internal/cli/cmdutil"
	"mcpc/internal/client"
	"mcpc/internal/connect"
	"mcpc/internal/lint"
	"mcpc/internal/lint/conv"
	"mcpc/internal/lint/rules"
	"mcpc/internal/render/hint"
	"mcpc/internal/render/verdict"
	"mcpc/internal/suggest"
	"mcpc/internal/usage"
	"mcpc/internal/wire"
)

// A judge judges one server. The traffic of its connections is recorded. The linter reads it too,
// unless the connection is muted.
type judge struct {
	f       *cmdutil.Factory
	request Request
	linter  *lint.Linter
	pacer   *pacer
	ladder  ladder
	report  verdict.Report
	// authDiscovery is nil until discoverAuth runs.
	authDiscovery *authDiscovery
	// failure is the outcome of a server that could not be judged, else the zero value.
	failure wire.Outcome
	// serverEnd says why the server does not answer any more after a request ended it; the zero
	// value while it answers.
	serverEnd wire.Outcome
	// unlisted are the tools of --call that the server does not list.
	unlisted []string
	// fuzzNotes say what the fuzz test did; fuzzFailure is the outcome of a wrong name of a tool.
	fuzzNotes []string
	// isFuzzing is set by fuzzTools, while it calls tools.
	isFuzzing   bool
	fuzzFailure wire.Outcome

	// mu guards the fields below: the traffic so far.
	mu sync.Mutex
	// muted are the connections that the linter does not read.
	muted map[int]bool
	// lastFrames has the last frames of each connection.
	lastFrames map[int]lastFrames
	// sent is the number of requests on all connections.
	sent int
	// probed are the requests of probes, by the frame that is their evidence.
	probed map[conv.Spot]probedRequest
	// violations are the ones that the linter found, by their fingerprints, with the first frame of each;
	// recent are the ones since the last call of a fuzz test: the last frame of each.
	violations, recent map[string]conv.Spot
	// lastID is the id of the last request on any connection.
	lastID  int64
	slowest slowestAnswers
}

// lastFrames are the sequence numbers of the last frames of a connection: sent by the client, the
// head of a response, and received from the server.
type lastFrames struct{ sent, head, received uint64 }

// A probedRequest is a request of a probe: the revision that its answer is judged by, and the words
// of the mcpc command that sends it again, or "" if no command does.
//
// step is the step of a *.mcpc.yaml that does the same, or "".
type probedRequest struct{ revision, words, step string }

// A session is a session with the server on its own connection, and the settings to open more like
// it.
type session struct {
	*client.Session
	connNumber int
	options    client.Options
	connection *connect.Conn
	// openTime is the time that it took to open.
	openTime time.Duration
	// broken is why it cannot be used any more; "" while it can.
	broken string
}

// Pins returns the revisions that a server is judged by: an entry "" stands for the negotiated
// revision. protocol is the value of --protocol, which counts if era is "".
func Pins(era, protocol string) ([]string, error) {
	revisions := client.Revisions() // the newest first
	stateless := revisions[slices.IndexFunc(revisions, client.Stateless)]
	handshake := revisions[slices.IndexFunc(revisions, needsHandshake)]
	switch era {
	case "":
		return []string{protocol}, nil
	case "both":
		return []string{stateless, handshake}, nil
	case "legacy":
		return []string{handshake}, nil
	case "modern":
		return []string{stateless}, nil
	}
	if slices.Contains(revisions, era) {
		return []string{era}, nil
	}
	words := append([]string{"both", "legacy", "modern"}, revisions...)
	return nil, usage.New(fmt.Sprintf("unknown era %q", era),
		suggest.DidYouMean("--era %s", era, words, wire.Hint("use "+commaJoin(words...))))
}

// needsHandshake reports whether a revision begins with an initialize request.
func needsHandshake(revision string) bool { return !client.Stateless(revision) }

// A Request describes the server to judge, the revisions to judge it by, and what is sent to it.
type Request struct {
	Factory *cmdutil.Factory
	// Argv is the command of the server; nil if the global flags name the server.
	Argv []string
	// Era is "both", "legacy", "modern", a revision, or "", which means the negotiated revision.
	Era string
	// Off are the ids of the rules that nothing is sent for.
	Off []string
	// Tools are the functions of other packages that the linter needs.
	Tools rules.Tools
	// Send describes what is sent in addition to well-formed requests.
	Send Options
}

// Judge judges a server by each revision of the request's era. The report is nil if the server is
// not known or the command line is wrong. An outcome other than OK says why the server could not be
// judged.
func Judge(ctx context.Context, o Request) (*verdict.Report, wire.Outcome) {
	f := o.Factory
	j := &judge{
		f: f, request: o, muted: map[int]bool{}, lastFrames: map[int]lastFrames{},
		probed: map[conv.Spot]probedRequest{}, violations: map[string]conv.Spot{}, recent: map[string]conv.Spot{},
	}
	j.linter = lint.New(lint.Options{Tools: o.Tools, Hide: hidesIn(f), OwnClient: true, Found: j.recordViolation})
	defer f.StartSpinner()()
	f.ShowTraffic(f.Verbose, f.Explain)
	pins, _ := Pins(o.Era, f.Protocol)
	var unsupported []string
	for i, pin := range pins {
		f.Protocol = pin
		s, out := j.dial(ctx)
		if s == nil && ctx.Err() != nil { // interrupted: the report has the revisions judged before
			break
		}
		if out.Kind == wire.Usage || s == nil {
			return nil, out
		}
		// A revision that the server does not support is a failure only if no other one can be judged.
		canJudgeOther := i < len(pins)-1 || len(j.report.Revisions) > 0
		if !out.OK() && ctx.Err() == nil && canJudgeOther {
			unsupported = append(unsupported, pin+": "+out.Text)
			continue
		}
		j.failure = j.judgeRevision(ctx, s, out)
		if ctx.Err() != nil {
			break
		}
	}
	if len(j.report.Revisions) > 0 {
		for _, text := range unsupported {
			j.ladder.add("revision", verdict.Skipped, text, "")
		}
	}
	if j.failure.OK() && len(j.unlisted) > 0 {
		j.failure = usage.Outcome(usage.New("--call: the server lists no tool "+commaJoin(slices.Compact(j.unlisted)...),
			wire.RunOnServer("list")+" shows them"))
	}
	if j.failure.OK() {
		j.failure = j.fuzzFailure
	}
	overload := ""
	if j.pacer != nil {
		overload, _ = j.pacer.overload()
	}
	if j.failure.OK() && overload != "" {
		j.failure = wire.Outcome{
			Kind: wire.Transport, Reached: wire.Answered, Phase: "result",
			Text: strings.TrimPrefix(overload, "stopped: ") + ": the report has the findings so far",
			Hint: "--rate 1/s sends fewer requests",
		}
	}
	cause := context.Cause(ctx)
	if cause != nil {
		j.failure = Ended(cause)
	}
	r := j.makeReport()
	if cause != nil {
		r.Incomplete = cause.Error()
	} else if !j.serverEnd.OK() {
		r.Incomplete = j.serverEnd.Text
	} else if overload != "" {
		r.Incomplete = overload
	}
	return r, j.failure
}

// hidesIn returns a function that replaces the secrets in quoted bytes.
func hidesIn(f *cmdutil.Factory) func(raw []byte) []byte {
	return func(raw []byte) []byte {
		safe, _ := f.Secrets.Bytes(raw)
		return safe
	}
}

// dial opens a session with the server of the request. The session is nil if nothing was sent.
func (j *judge) dial(ctx context.Context) (*session, wire.Outcome) {
	c := &connect.Conn{Env: &j.f.Env}
	if o := c.Find(j.request.Argv); !o.OK() {
		return nil, o
	}
	opt, o := c.ClientOptions(ctx, connect.Options{Argv: j.request.Argv, NoResume: true})
	if !o.OK() {
		return nil, o
	}
	if j.pacer == nil {
		j.pacer = j.request.Send.newPacer(opt.Server.URL, j.requests, j.f.Now)
	}
	j.report.Target = c.Where
	opt.Fields = append([]wire.Field{{Name: "User-Agent", Value: "mcpc-check"}}, opt.Fields...)
	// The linter judges in place of the client.
	opt.Found = nil
	opt.Notified = nil
	opt.Reconnected = nil
	opt.Shape = nil
	opt.Strict = nil
	opt.TapFull = nil
	opt.NextID = j.nextID
	j.f.IsConnected.Store(true)
	return j.open(ctx, c, opt, j.f.Record.Conns-1, opt.Tap)
}

// open opens a session on the connection with a number. It passes each frame to tap, and to the
// judge.
func (j *judge) open(
	ctx context.Context,
	c *connect.Conn,
	opt client.Options,
	connNumber int,
	tap wire.Tap,
) (*session, wire.Outcome) {
	s := &session{connNumber: connNumber, options: opt, connection: c}
	s.options.Through = nil                                // opt may have the transport of another session
	if err := c.SetAuthTransport(&s.options); err != nil { // each session has its own
		return s, usage.Outcome(err)
	}
	s.options.Through = j.pacer.wrap(s.options.Through)
	s.options.Tap = func(f wire.Frame) {
		tap(f)
		f.Conn = connNumber
		j.f.Secrets.Frame(f) // learns the secrets that the report hides
		j.tap(f)
	}
	began := j.f.Now()
	var out wire.Outcome
	s.Session, out = client.Open(ctx, s.options)
	s.openTime = j.f.Now().Sub(began)
	return s, out
}

// openLike opens a session with the revision and transport of s. The linter reads it.
func (j *judge) openLike(ctx context.Context, s *session) (*session, wire.Outcome) {
	tap, connNumber := j.newConnection(s)
	return j.open(ctx, s.connection, optionsLike(s), connNumber, tap)
}

// openMuted opens a session as openLike does. The linter does not read it.
func (j *judge) openMuted(ctx context.Context, s *session) (*session, wire.Outcome) {
	tap, connNumber := j.newConnection(s)
	j.mute(connNumber)
	return j.open(ctx, s.connection, optionsLike(s), connNumber, tap)
}

// optionsLike returns options with the revision and transport of s.
func optionsLike(s *session) client.Options {
	opt := s.options
	opt.Protocol = s.Revision()
	opt.KnownRevision = ""
	opt.SkipDiscover = true
	opt.Server.Transport = s.Transport()
	return opt
}

// newConnection returns the tap and the number of a new connection to the server of s.
func (j *judge) newConnection(s *session) (tap wire.Tap, connNumber int) {
	tap = s.connection.Tap() // increases Conns
	return tap, j.f.Record.Conns - 1
}

// mute hides the frames of a connection from the linter.
func (j *judge) mute(connNumber int) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.muted[connNumber] = true
}

// tap records the last frames of a connection, counts requests, and passes the frame to the linter.
func (j *judge) tap(f wire.Frame) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if f.Kind != wire.Closed && f.Kind != wire.Stderr {
		j.countFrame(f)
	}
	if !j.muted[f.Conn] {
		j.linter.Tap(f)
	}
}

// countFrame records a frame that is part of a request or an answer. The caller holds mu.
func (j *judge) countFrame(f wire.Frame) {
	last := j.lastFrames[f.Conn]
	switch {
	case f.Dir == wire.Sent:
		last.sent = f.Seq
		if f.Kind == wire.Head || f.Stream == 0 { // over HTTP the head counts, not the body
			j.sent++
		}
	case f.Kind == wire.Head:
		last.head = f.Seq
	default:
		last.received = f.Seq
	}
	j.lastFrames[f.Conn] = last
}

// requests returns the number of requests sent so far.
func (j *judge) requests() int {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.sent
}

// lastSpot returns the evidence for the last answer on a connection: the message, else the head of
// the response, else the request.
func (j *judge) lastSpot(s *session) conv.Spot {
	j.mu.Lock()
	defer j.mu.Unlock()
	last := j.lastFrames[s.connNumber]
	if last.received > last.sent {
		return conv.Spot{Conn: s.connNumber, Seq: last.received}
	}
	if last.head > last.sent {
		return conv.Spot{Conn: s.connNumber, Seq: last.head}
	}
	return conv.Spot{Conn: s.connNumber, Seq: max(last.sent, 1)}
}

// nextID returns a new request id. No two sessions use the same id.
func (j *judge) nextID() int64 {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.lastID++
	return j.lastID
}

// judgeRevision judges the server in one revision; opened is the outcome of opening s.
func (j *judge) judgeRevision(ctx context.Context, s *session, opened wire.Outcome) wire.Outcome {
	addConnectionSteps(j, s, opened)
	if !opened.OK() {
		addAuthStep(ctx, j, s, opened)
		j.ladder.addUnreached()
		asked := s.options.Protocol
		if asked == "" {
			asked = client.Revisions()[0] // the newest
		}
		j.judgeAuth(ctx, s, conv.ParseRev(asked))
		return opened
	}
	j.report.Revisions = append(j.report.Revisions, s.Revision())
	addAuthStep(ctx, j, s, opened)
	b := &bench{judge: j, cleanSession: s, capabilities: s.Info().Capabilities, rev: conv.ParseRev(s.Revision())}
	out := b.fetchLists(ctx)
	j.ladder.addUnreached()
	if j.report.Hosts == nil {
		j.report.Hosts = Hosts(b.lists["tools"])
	}
	if out.OK() {
		b.runProbes(ctx)
		out = j.serverEnd
	}
	b.close(ctx)
	return out
}

// makeReport closes the linter, reads the check's own recording for the evidence, and returns the
// report.
func (j *judge) makeReport() *verdict.Report {
	j.f.IsConnected.Store(false)
	j.mu.Lock()
	defer j.mu.Unlock()
	j.linter.Close()
	r := &j.report
	r.Ladder = j.ladder.steps
	r.Requests = j.sent
	rec := Recording{
		Repeat:   j.repeat,
		Revision: func(spot conv.Spot) string { return j.probed[spot].revision },
		Step:     func(spot conv.Spot) string { return j.probed[spot].step },
	}
	recording, name, number := openOwnRecording(j.f)
	r.Recording = name
	r.Run = number
	if recording != nil {
		defer recording.Close()
		rec.Base = len(recording.Heads) - 1
		for _, row := range recording.Rows() {
			if row.RunIndex() == rec.Base {
				rec.Rows = append(rec.Rows, row)
			}
		}
	}
	if why := r.Unfinished(); why != "" && len(r.Revisions) == 0 {
		j.linter.SkipAll("there was no conversation: " + why)
	}
	rec.Fill(r, j.linter.Report())
	if !j.request.Send.Runs(lint.Negative) {
		r.Lacks = append(r.Lacks, "--negative")
	}
	if !j.request.Send.Runs(lint.Calls) {
		r.Lacks = append(r.Lacks, "--call")
	}
	if !j.request.Send.Runs(lint.Fuzz) {
		r.Lacks = append(r.Lacks, "--fuzz")
	}
	r.Notes = append(r.Notes, j.fuzzNotes...)
	if j.pacer != nil && j.pacer.whyStopped() != "" {
		r.Notes = append(r.Notes, j.pacer.whyStopped())
	}
	return r
}

// repeat returns the command that sends the request of a finding again, "" if no command does. spot
// is the evidence, and rowWords are the words for its row; if a probe sent the request, the words
// of the probe count.
func (j *judge) repeat(spot conv.Spot, rowWords string) string {
	words := rowWords
	if request, isProbed := j.probed[spot]; isProbed {
		words = request.words
	}
	if words == "" {
		return ""
	}
	hints := j.f.ErrStyle.Hints
	if len(j.request.Argv) > 0 && hints.ServerCommand == hint.Elsewhere { // the command has a secret
		hints.ServerCommand = "-- " + j.report.Target
	}
	line, _ := hints.Text(wire.RunOnServer(words))
	return line
}

// commaJoin joins words with commas.
func commaJoin(words ...string) string { return strings.Join(words, ", ") }
