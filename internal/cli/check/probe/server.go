// Package probe judges a server: it opens connections to it, sends the requests that show whether it
// keeps the rules of package lint, and reports what it found. The ladder says how far a
// connection gets. Each probe is a row of a table: the rules that it judges, what it sends and
// what has to come.
package probe

import (
	"cmp"
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

// A judge judges one server. The traffic of its connections is recorded, and read by the
// linter unless the connection is muted.
type judge struct {
	f      *cmdutil.Factory
	o      Request
	linter *lint.Linter
	pacer  *pacer
	ladder ladder
	report verdict.Report
	// walk is what is known of the authorization server; nil before that was looked for.
	authDiscovery *authDiscovery
	// refused is the ending where the server could not be judged.
	failure wire.Outcome
	// gone is why the server does not answer any more after a request ended it; the zero value
	// while it answers.
	serverEnd wire.Outcome
	// unlisted are the tools of --call that the server does not list.
	unlisted []string

	// mu guards the rest: what was sent and received so far.
	mu sync.Mutex
	// muted are the connections that the linter does not read, crossed the last frames of
	// each.
	muted      map[int]bool
	lastFrames map[int]lastFrames
	sent       int
	// asked are what probes sent, by their evidence.
	probed map[conv.Spot]probedRequest
	// id is that of the last request, on whichever connection.
	lastID  int64
	slowest slowestAnswers
}

// crossed are the last frames of a connection: what was sent, the head of a response, and what
// was received.
type lastFrames struct{ sent, head, received uint64 }

// asked is a request of a probe: the revision by which it is judged, and the words of the
// mcpc command that sends it again, "" where none does.
type probedRequest struct{ revision, words string }

// A session is a conversation with the server on a connection of its own, and the settings
// with which more of them are opened.
type session struct {
	*client.Session
	conn int
	opt  client.Options
	c    *connect.Conn
	// ready is the time until it was open.
	ready time.Duration
	// broken is why it cannot be used any more; "" where it can.
	broken string
}

// Pins are the revisions by which a server is judged, "" for the one that is negotiated.
// protocol is --protocol.
func Pins(era, protocol string) ([]string, error) {
	stateless := ""
	handshake := ""
	for _, revision := range client.Revisions() {
		if client.Stateless(revision) {
			stateless = cmp.Or(stateless, revision)
		} else {
			handshake = cmp.Or(handshake, revision)
		}
	}
	switch {
	case era == "":
		return []string{protocol}, nil
	case era == "both":
		return []string{stateless, handshake}, nil
	case era == "legacy":
		return []string{handshake}, nil
	case era == "modern":
		return []string{stateless}, nil
	case slices.Contains(client.Revisions(), era):
		return []string{era}, nil
	}
	words := append([]string{"both", "legacy", "modern"}, client.Revisions()...)
	return nil, usage.New(fmt.Sprintf("unknown era %q", era),
		suggest.DidYouMean("--era %s", era, words, wire.Hint("use "+commaJoin(words...))))
}

// A Request says which server is judged, and how. Off are the rules for which nothing
// is sent.
type Request struct {
	Factory *cmdutil.Factory
	// Argv is the command of a server, nil to go by -s; Era is "both", "legacy", "modern", a
	// revision, or "" for the revision that is negotiated.
	Argv  []string
	Era   string
	Off   []string
	Tools rules.Tools
	// Send says what is sent.
	Send Options
}

// Judge judges a server by each of the revisions that were asked for. The report is nil where
// the server is not known. An outcome that is not good says why it could not be judged.
func Judge(ctx context.Context, o Request) (*verdict.Report, wire.Outcome) {
	f := o.Factory
	j := &judge{f: f, o: o, linter: lint.New(lint.Options{Tools: o.Tools, Hide: hidesIn(f), OwnClient: true}),
		muted: map[int]bool{}, lastFrames: map[int]lastFrames{}, probed: map[conv.Spot]probedRequest{}}
	defer f.StartSpinner()()
	f.ShowTraffic(f.Verbose, f.Explain)
	all, _ := Pins(o.Era, f.Protocol)
	var unspoken []string
	for i, pin := range all {
		f.Protocol = pin
		s, out := j.dial(ctx)
		if s == nil && ctx.Err() != nil {
			break
		}
		if out.Kind == wire.Usage || s == nil {
			return nil, out
		}
		if !out.Good() && ctx.Err() == nil && (i < len(all)-1 || len(j.report.Revisions) > 0) {
			unspoken = append(unspoken, pin+": "+out.Text) // the other one may be judged
			continue
		}
		j.failure = j.judgeRevision(ctx, s, out)
		if ctx.Err() != nil {
			break
		}
	}
	if len(j.report.Revisions) > 0 {
		for _, text := range unspoken {
			j.ladder.add("revision", verdict.Skipped, text, "")
		}
	}
	if j.failure.Good() && len(j.unlisted) > 0 {
		j.failure = usage.Outcome(
			usage.New("--call: the server lists no tool "+commaJoin(slices.Compact(j.unlisted)...),
				wire.RunOnServer("list")+" shows them"),
		)
	}
	cause := context.Cause(ctx)
	if cause != nil {
		j.failure = Ended(cause)
	}
	r := j.makeReport()
	if cause != nil {
		r.Incomplete = cause.Error()
	} else if !j.serverEnd.Good() {
		r.Incomplete = j.serverEnd.Text
	}
	return r, j.failure
}

// hidesIn returns what hides secrets in texts that are quoted.
func hidesIn(f *cmdutil.Factory) func(raw []byte) []byte {
	return func(raw []byte) []byte {
		safe, _ := f.Secrets.Bytes(raw)
		return safe
	}
}

// dial opens a conversation. The session is nil where nothing was sent.
func (j *judge) dial(ctx context.Context) (*session, wire.Outcome) {
	c := &connect.Conn{Env: &j.f.Env}
	if o := c.Find(j.o.Argv); !o.Good() {
		return nil, o
	}
	how := connect.Options{Argv: j.o.Argv, NoResume: true}
	opt, o := c.ClientOptions(ctx, how)
	if !o.Good() {
		return nil, o
	}
	if j.pacer == nil {
		j.pacer = j.o.Send.newPacer(opt.Server.URL, j.requests, j.f.Now)
	}
	j.report.Target = c.Where
	opt.Fields = append([]wire.Field{{Name: "User-Agent", Value: "mcpc-check"}}, opt.Fields...)
	opt.Found = nil
	opt.Notified = nil
	opt.Reconnected = nil
	opt.Shape = nil
	opt.Strict = nil // the linter judges
	opt.TapFull = nil
	opt.NextID = j.nextID
	j.f.Talking.Store(true)
	return j.open(ctx, c, opt, j.f.Record.Conns-1, opt.Tap)
}

// open opens one more conversation, whose frames are those of a connection.
func (j *judge) open(
	ctx context.Context,
	c *connect.Conn,
	opt client.Options,
	conn int,
	tap wire.Tap,
) (*session, wire.Outcome) {
	s := &session{conn: conn, opt: opt, c: c}
	s.opt.Through = nil
	if err := c.SetAuthTransport(&s.opt); err != nil { // one for each conversation
		return s, usage.Outcome(err)
	}
	s.opt.Through = j.pacer.wrap(s.opt.Through)
	s.opt.Tap = func(f wire.Frame) {
		tap(f)
		f.Conn = conn
		j.f.Secrets.Frame(f) // learns what it hides, for the report
		j.tap(f)
	}
	began := j.f.Now()
	session, out := client.Open(ctx, s.opt)
	s.Session, s.ready = session, j.f.Now().Sub(began)
	return s, out
}

// again opens a conversation like another one. A muted one is not read by the linter.
func (j *judge) openLike(ctx context.Context, s *session, muted bool) (*session, wire.Outcome) {
	opt := s.opt
	revision := s.Revision()
	opt.Protocol = revision
	opt.KnownRevision = ""
	opt.SkipDiscover = true
	opt.Server.Transport = s.Transport()
	tap := s.c.Tap()
	conn := j.f.Record.Conns - 1
	if muted {
		j.mu.Lock()
		j.muted[conn] = true
		j.mu.Unlock()
	}
	return j.open(ctx, s.c, opt, conn, tap)
}

// tap reads a frame.
func (j *judge) tap(f wire.Frame) {
	j.mu.Lock()
	defer j.mu.Unlock()
	c := j.lastFrames[f.Conn]
	switch {
	case f.Kind == wire.Closed || f.Kind == wire.Stderr:
	case f.Dir == wire.Sent:
		c.sent = f.Seq
		if f.Kind == wire.Head || f.Stream == 0 {
			j.sent++
		}
	case f.Kind == wire.Head:
		c.head = f.Seq
	default:
		c.received = f.Seq
	}
	j.lastFrames[f.Conn] = c
	if !j.muted[f.Conn] {
		j.linter.Tap(f)
	}
}

// requests are how many were sent so far.
func (j *judge) requests() int {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.sent
}

// lastOf is the evidence of what came last on a connection: the message, else the head of the
// response, else what was sent.
func (j *judge) lastSpot(s *session) conv.Spot {
	j.mu.Lock()
	defer j.mu.Unlock()
	c := j.lastFrames[s.conn]
	if c.received > c.sent {
		return conv.Spot{Conn: s.conn, Seq: c.received}
	}
	if c.head > c.sent {
		return conv.Spot{Conn: s.conn, Seq: c.head}
	}
	return conv.Spot{Conn: s.conn, Seq: max(c.sent, 1)}
}

// next is the id of the next request: no two conversations have the same.
func (j *judge) nextID() int64 {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.lastID++
	return j.lastID
}

// pass judges the server in one conversation, of which out is the beginning.
func (j *judge) judgeRevision(ctx context.Context, s *session, out wire.Outcome) wire.Outcome {
	addConnectionSteps(j, s, out)
	if !out.Good() {
		addAuthStep(ctx, j, s, out)
		j.ladder.addUnreached()
		j.judgeAuth(ctx, s, conv.ParseRev(cmp.Or(s.opt.Protocol, client.Revisions()[0])))
		return out
	}
	j.report.Revisions = append(j.report.Revisions, s.Revision())
	addAuthStep(ctx, j, s, out)
	b := &bench{judge: j, clean: s, capabilities: s.Info().Capabilities, rev: conv.ParseRev(s.Revision())}
	out = b.fetchLists(ctx)
	j.ladder.addUnreached()
	if j.report.Hosts == nil {
		j.report.Hosts = Hosts(b.lists["tools"])
	}
	if out.Good() {
		b.runProbes(ctx)
		out = j.serverEnd
	}
	b.close(ctx)
	return out
}

// finish closes the recording's part of the work, and makes the report.
func (j *judge) makeReport() *verdict.Report {
	j.f.Talking.Store(false)
	j.mu.Lock()
	defer j.mu.Unlock()
	j.linter.Close()
	r := &j.report
	r.Ladder = j.ladder.steps
	r.Requests = j.sent
	rec := Recording{Repeat: j.repeat, Revision: func(at conv.Spot) string { return j.probed[at].revision }}
	c, name := openOwnRecording(j.f)
	r.Recording = name
	if c != nil {
		defer c.Close()
		rec.Base = len(c.Heads) - 1
		for _, row := range c.Rows() {
			if row.RunIndex() == rec.Base {
				rec.Rows = append(rec.Rows, row)
			}
		}
	}
	if why := r.Unfinished(); why != "" && len(r.Revisions) == 0 {
		j.linter.SkipAll("there was no conversation: " + why)
	}
	rec.Fill(r, j.linter.Report())
	for i, flag := range []string{"--negative", "--call"} {
		mode := []lint.Mode{lint.Negative, lint.Calls}[i]
		if !j.o.Send.Runs(mode) {
			r.Lacks = append(r.Lacks, flag)
		}
	}
	if j.pacer != nil && j.pacer.whyStopped() != "" {
		r.Notes = append(r.Notes, j.pacer.whyStopped())
	}
	return r
}

// repeat returns the command that sends the request of a finding again: that of a probe, else
// the command with the words for the row of the evidence.
func (j *judge) repeat(at conv.Spot, words string) string {
	if a, probed := j.probed[at]; probed {
		words = a.words
	}
	if words == "" {
		return ""
	}
	line := j.f.HintText(wire.RunOnServer(words))
	aim := j.f.ErrStyle.Hints
	if len(j.o.Argv) > 0 && aim.ServerCommand == hint.Elsewhere { // a command with a secret is named without that
		line = strings.TrimSuffix(line, hint.Elsewhere) + "-- " + j.report.Target
	}
	return line
}

// joined are words as a list in a sentence.
func commaJoin(words ...string) string { return strings.Join(words, ", ") }
