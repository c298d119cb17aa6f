package mock

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"time"

	"mcpc/internal/jsonraw"
	"mcpc/internal/match"
	"mcpc/internal/mcpserver"
	"mcpc/internal/mcpserver/bridge"
	"mcpc/internal/wire"
)

// Recorded is one recorded request of a client and the messages that followed for it.
type Recorded struct {
	// Number is the exchange's number for people. Name is the tool, prompt, URI, task or cursor of
	// its request.
	Number, Method, Name string
	// Revision is the protocol revision of the connection, "" if unknown.
	Revision string
	// Run numbers the runs of a recording; a larger number is newer.
	Run  int
	Time time.Time
	// Cancelled is set if the client cancelled the request, Answered if a response was recorded.
	Cancelled, Answered bool
	// Request reads the message of the request, Load the whole exchange.
	Request func() (*wire.Message, error)
	Load    func() (*wire.Exchange, error)
}

// Unrequested is a message of the server that belongs to no request of the client.
type Unrequested struct {
	// After is the index of the exchange whose request the message followed, or -1 if the message
	// preceded all requests.
	After   int
	Time    time.Time
	Message *wire.Message
	// Answer is the client's response if Message is a request, else nil.
	Answer *wire.Message
}

// A Recording is the input of a Player, in recorded order.
type Recording struct {
	Exchanges   []Recorded
	Unrequested []Unrequested
}

// Repeat selects the response to a request that was recorded several times.
type Repeat string

// The values of Repeat: each response in order and then the last one for ever; only the last one; all in a cycle.
const (
	InOrder Repeat = "in-order"
	Last    Repeat = "last"
	Cycle   Repeat = "cycle"
)

// PlayerOptions configure a Player.
type PlayerOptions struct {
	Eras   bridge.Eras
	Level  match.Level
	Repeat Repeat
	// Nearest answers a request that was not recorded like the nearest recorded request of its
	// method.
	Nearest bool
	// Pass sends a request that was not recorded to a real server. It returns the response (its id
	// is ignored) and the server's revision. It may be nil.
	Pass func(ctx context.Context, method string, params json.RawMessage) (
		response *wire.Message, revision string, err error)
	Pace Pace
	// Continue is the real server that answers after a part of the recording. It may be nil.
	Continue *Continuation
	// Report receives each miss, near miss and request without a counterpart, as one line without
	// control characters. Calls do not overlap.
	Report func(line string)
	// Hide redacts the secrets in a text.
	Hide func(text string) string
	// Now returns the current time. SessionID returns a new session id.
	Now       func() time.Time
	SessionID func() string
}

// A Player plays a recording. All methods may be called from several goroutines.
type Player struct {
	options   PlayerOptions
	library   *library
	tally     *tally
	handshake handshake
	tasks     *tasks
	hub       *mcpserver.Hub
	// next is the state of PlayerOptions.Continue, or nil.
	next   *continuation
	server *mcpserver.Server
	// after maps the index of an exchange to the messages that followed it. The key -1 has the
	// messages before the first exchange.
	after map[int][]Unrequested
}

// NewPlayer returns a Player. It reads the whole recording once and returns the error of reading
// its file.
func NewPlayer(r Recording, o PlayerOptions) (*Player, error) {
	t := &tally{
		repeat:   o.Repeat,
		report:   o.Report,
		hide:     o.Hide,
		repeats:  map[int]int{},
		hits:     map[int]int{},
		reported: map[string]bool{},
	}
	l := &library{level: o.Level, tally: t, methods: map[string]bool{}, pages: map[listPage]bool{}}
	l.index = match.NewIndex(match.Options{Level: o.Level, Load: l.loadRequest})
	p := &Player{options: o, library: l, tally: t, after: map[int][]Unrequested{}, hub: &mcpserver.Hub{}}
	if o.Continue != nil {
		p.hub = o.Continue.Hub
		p.next = newContinuation(p, *o.Continue)
		l.isPreferred = p.next.isPreferred
	}
	p.tasks = &tasks{
		library:     l,
		pace:        o.Pace,
		now:         o.Now,
		recorded:    map[string][]int{},
		live:        map[string]*task{},
		startCounts: map[string]int{},
	}
	for _, u := range r.Unrequested {
		p.after[u.After] = append(p.after[u.After], u)
	}
	for n, x := range r.Exchanges {
		m, err := x.Request()
		if err != nil {
			return nil, err
		}
		l.add(x, m)
		if id := requestedTask(m); id != "" {
			p.tasks.recorded[id] = append(p.tasks.recorded[id], n)
		}
		if err := p.handshake.learn(x, n); err != nil {
			return nil, err
		}
	}
	p.server = mcpserver.New(p, mcpserver.Options{
		Name:        "mcpc mock",
		Eras:        o.Eras,
		SessionID:   o.SessionID,
		MaxSessions: maxSessions,
		Dropped:     func() { t.reportOnce("messages were left out: the client does not read its GET stream") },
	})
	p.handshake.complete(l.exchanges)
	if p.handshake.isDerived {
		t.reportOnce("no handshake was recorded: the server's capabilities are taken from the recorded methods")
	}
	return p, nil
}

// maxSessions is the number of sessions that are kept.
const maxSessions = 1000

// Handler returns a handler that plays over Streamable HTTP, at whatever path it is mounted on,
// until ctx is done. It accepts only requests from this machine.
func (p *Player) Handler(ctx context.Context) http.Handler { return p.server.Handler(ctx) }

// Stdio plays to one client over a pipe, one message per line, until in ends or ctx is done. It
// returns the error of reading.
func (p *Player) Stdio(ctx context.Context, in io.Reader, out io.Writer) error {
	return p.server.Stdio(ctx, in, out)
}

// describeRequest returns the method and name of a request for reports.
func (t *tally) describeRequest(m *wire.Message) string {
	return strings.TrimSpace(t.showText(m.Method) + " " + t.showText(match.NameOf(m.Method, m.Params)))
}

// replyMiss counts and reports a request that was not recorded, and returns its error response.
func (p *Player) replyMiss(m *wire.Message, near []match.Near) []byte {
	items := make([]json.RawMessage, 0, len(near)) // an empty list, not null
	line := "nothing near"
	for i, n := range near {
		item, text := p.library.describeNear(n)
		items = append(items, item)
		if i == 0 && n.Distance < 1 { // the same method and name
			line = "nearest: " + text
		}
	}
	// Redact first: the cut could split a secret.
	line = p.tally.hide("miss: " + p.tally.describeRequest(m) + "; " + line)
	p.tally.reportMiss(jsonraw.Excerpt([]byte(line), maxLine))
	data := jsonraw.With(nil, "nearest", jsonraw.List(items))
	failure := mcpserver.Failure(-32602, "the recording has no such request", data)
	capability := bridge.ServerCapability(m.Method)
	isDeclared := capability != "" && p.handshake.declares(capability)
	if !isDeclared && !p.library.hasMethod(m.Method) { // the recorded server does not have the method
		failure = mcpserver.Failure(-32601, "Method not found", data)
	}
	return mcpserver.ComposeError(m.ID, failure)
}

// A Pace determines how long a Player waits before it sends a message. The zero value does not
// wait.
type Pace struct {
	// Factor multiplies the recorded times. Fixed is the time before each response.
	Factor float64
	Fixed  time.Duration
}

// ParsePace parses "none", "as-recorded", a factor such as "x0.5" or a time such as "200ms".
func ParsePace(text string) (Pace, error) {
	factor, isFactor := strings.CutPrefix(text, "x")
	switch {
	case text == "none":
		return Pace{}, nil
	case text == "as-recorded":
		return Pace{Factor: 1}, nil
	case isFactor:
		if f, err := strconv.ParseFloat(factor, 64); err == nil && f >= 0 && f <= 1000 {
			return Pace{Factor: f}, nil
		}
	default:
		if d, err := time.ParseDuration(text); err == nil && d >= 0 {
			return Pace{Fixed: d}, nil
		}
	}
	return Pace{}, fmt.Errorf("%q is neither none, as-recorded, a factor (x0.5) nor a time (200ms)", text)
}

// HasPauses reports whether there are any pauses.
func (p Pace) HasPauses() bool { return p.Factor > 0 || p.Fixed > 0 }

// PauseBefore returns the pause before a message. recorded is the time since the preceding message in the
// recording. isResponse is set if the message is the response. A fixed time is for responses only.
func (p Pace) PauseBefore(recorded time.Duration, isResponse bool) time.Duration {
	if p.Fixed > 0 && isResponse {
		return p.Fixed
	}
	return time.Duration(float64(recorded) * p.Factor)
}
