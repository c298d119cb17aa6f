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

// Recorded is one recorded request of a client with what came back for it.
type Recorded struct {
	// Number is how a person names the exchange; Name is that of the tool, prompt, URI, task or cursor.
	Number, Method, Name string
	// Revision is that of its connection, "" where it is not known.
	Revision string
	// Run tells the runs of a recording apart; a larger one is newer.
	Run  int
	Time time.Time
	// Cancelled is set where the response was no longer awaited, Answered where one came.
	Cancelled, Answered bool
	// Request gives the message of the request, Load all of the exchange.
	Request func() (*wire.Message, error)
	Load    func() (*wire.Exchange, error)
}

// Unrequested is a message of the server that belongs to no request of the client.
type Unrequested struct {
	// After is the index of the exchange whose request it followed, -1 where it preceded all of them.
	After   int
	Time    time.Time
	Message *wire.Message
	// Answer is the client's to a request of the server; nil elsewhere.
	Answer *wire.Message
}

// A Recording is what a Player plays, in recorded order.
type Recording struct {
	Exchanges   []Recorded
	Unrequested []Unrequested
}

// Repeat says which answer a request gets that was recorded several times.
type Repeat string

// The ways to repeat: each in its order and then the last one for ever, the last one only, round and round.
const (
	InOrder Repeat = "in-order"
	Last    Repeat = "last"
	Cycle   Repeat = "cycle"
)

// PlayerOptions say how a Player plays.
type PlayerOptions struct {
	Eras   bridge.Eras
	Level  match.Level
	Repeat Repeat
	// Nearest answers a request that was not recorded with the nearest one of its method.
	Nearest bool
	// Pass answers a request that was not recorded: it gives the response of a real server, whose id
	// does not count, and its revision. It may be nil.
	Pass func(ctx context.Context, method string, params json.RawMessage) (response *wire.Message, revision string, err error)
	Pace Pace
	// Report is told each miss, near miss and request without a counterpart, as one line without
	// control characters. Calls do not overlap.
	Report func(line string)
	// Hide takes the secrets out of a text.
	Hide func(text string) string
	// Now is the clock, SessionID makes a new one.
	Now       func() time.Time
	SessionID func() string
}

// A Player plays a recording. All methods may be called from several goroutines.
type Player struct {
	o         PlayerOptions
	library   *library
	tally     *tally
	handshake handshake
	tasks     *tasks
	hub       mcpserver.Hub
	server    *mcpserver.Server
	after     map[int][]Unrequested
}

// NewPlayer reads through a recording once. The error is that of its file.
func NewPlayer(r Recording, o PlayerOptions) (*Player, error) {
	t := &tally{repeat: o.Repeat, report: o.Report, hide: o.Hide, repeats: map[int]int{}, hits: map[int]int{}, told: map[string]bool{}}
	l := &library{level: o.Level, tally: t, methods: map[string]bool{}, pages: map[pageAt]bool{}}
	l.index = match.NewIndex(match.Options{Level: o.Level, Load: l.load})
	p := &Player{o: o, library: l, tally: t, tasks: &tasks{library: l, pace: o.Pace, now: o.Now, recorded: map[string][]int{}, live: map[string]*task{}, begun: map[string]int{}},
		after: map[int][]Unrequested{}}
	for _, u := range r.Unrequested {
		p.after[u.After] = append(p.after[u.After], u)
	}
	for n, x := range r.Exchanges {
		m, err := x.Request()
		if err != nil {
			return nil, err
		}
		l.add(x, m)
		if id := taskOf(m); id != "" {
			p.tasks.recorded[id] = append(p.tasks.recorded[id], n)
		}
		if err := p.handshake.learn(x, n); err != nil {
			return nil, err
		}
	}
	p.server = mcpserver.New(p, mcpserver.Options{Name: "mcpc mock", Eras: o.Eras, SessionID: o.SessionID, MostSessions: mostSessions,
		Dropped: func() { t.once("messages were left out: the client does not read its GET stream") }})
	p.handshake.complete(l.all)
	if p.handshake.invented {
		t.once("no handshake was recorded: the server's capabilities are taken from the recorded methods")
	}
	return p, nil
}

// mostSessions is how many sessions are kept.
const mostSessions = 1000

// Handler plays over Streamable HTTP, at whatever path it is mounted on, until ctx is done. Only requests
// from this machine are accepted.
func (p *Player) Handler(ctx context.Context) http.Handler { return p.server.Handler(ctx) }

// Stdio plays to one client over a pipe, one message per line, until in ends or ctx is done. The error is that
// of reading.
func (p *Player) Stdio(ctx context.Context, in io.Reader, out io.Writer) error {
	return p.server.Stdio(ctx, in, out)
}

// what names a request in reports.
func (t *tally) what(m *wire.Message) string {
	return strings.TrimSpace(t.text(m.Method) + " " + t.text(match.NameOf(m.Method, m.Params)))
}

// miss counts and reports a request that was not recorded, and gives its error.
func (p *Player) miss(m *wire.Message, near []match.Near) []byte {
	items := make([]json.RawMessage, 0, len(near))
	line := "nothing near"
	for i, n := range near {
		item, text := p.library.nearest(n)
		items = append(items, item)
		if i == 0 && n.Distance < 1 { // the same method and name
			line = "nearest: " + text
		}
	}
	line = p.tally.hide("miss: " + p.tally.what(m) + "; " + line) // before a secret is cut
	p.tally.missed(jsonraw.Excerpt([]byte(line), mostOfLine))
	code, text := int64(-32602), "the recording has no such request"
	if capability := bridge.ServerCapability(m.Method); !p.library.knows(m.Method) && (capability == "" || !p.handshake.declares(capability)) {
		code, text = -32601, "Method not found"
	}
	return mcpserver.ComposeError(m.ID, mcpserver.Failure(code, text, jsonraw.With(nil, "nearest", jsonraw.List(items))))
}

// A Pace says how long a Player waits before what it sends. Its zero value does not wait.
type Pace struct {
	// Factor is that of the recorded times, Fixed the time before each response.
	Factor float64
	Fixed  time.Duration
}

// ParsePace reads none, as-recorded, a factor as x0.5, or a time as 200ms.
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

// Waits reports whether there are any pauses.
func (p Pace) Waits() bool { return p.Factor > 0 || p.Fixed > 0 }

// Of is the pause before a step that came so long after the message before it.
func (p Pace) Of(recorded time.Duration, response bool) time.Duration {
	if p.Fixed > 0 && response {
		return p.Fixed
	}
	return time.Duration(float64(recorded) * p.Factor)
}
