package view

import (
	"net/http"
	"time"

	"mcpc/internal/english"
	"mcpc/internal/render/term"
	"mcpc/internal/wire"
)

// A Phase is a part of the duration of an exchange. "wait" lasts from the request to the first
// byte, "first" from there to the first event, and "person" while the server waits for a response
// to its own request.
type Phase struct {
	Name    string  `json:"name"`
	Seconds float64 `json:"seconds"`
}

// The names of phases, in the order of a waterfall.
const (
	phaseConnect = "connect"
	phaseTLS     = "tls"
	phaseWait    = "wait"
	phaseFirst   = "first"
	phaseEvents  = "events"
	phasePerson  = "person"
	phaseHeld    = "held"
	phaseRead    = "read"
)

var phaseOrder = []string{phaseConnect, phaseTLS, phaseWait, phaseFirst, phaseEvents, phasePerson, phaseHeld, phaseRead}

// A period is a named period of an exchange.
type period struct {
	name     string
	from, to time.Time
}

// phasesOf returns the phases of an exchange, computed from the times of its frames. end is the end
// of an exchange without a response. Returns nil if the request was not recorded.
func phasesOf(x *wire.Exchange, end time.Time) []Phase {
	from := x.Request.Time
	// Over HTTP the exchange begins with the head.
	for _, h := range x.Heads {
		if h.Dir == wire.Sent && h.Stream == x.Request.Stream && h.Time.Before(from) {
			from = h.Time
		}
	}
	if from.IsZero() {
		return nil
	}
	if x.Response.Raw != nil {
		end = x.Response.Time
	}
	return sumPhases(findPeriods(x, from, end), findSpecialPeriods(x, end))
}

// findPeriods returns the periods of an exchange in their order, as HTTP or a pipe defines them.
func findPeriods(x *wire.Exchange, from, end time.Time) []period {
	start := from
	var all []period
	add := func(name string, to time.Time) {
		if to.After(end) {
			to = end
		}
		if to.After(start) {
			all = append(all, period{name, start, to})
			start = to
		}
	}
	head := firstHead(x)
	message := firstMessage(x)
	if head != nil {
		// Recorders measure these with another clock: ignore them if they do not fit.
		if t := head.HTTP.Timing; t != nil && start.Add(t.DNS+t.Connect+t.TLS).Before(head.Time) {
			add(phaseConnect, start.Add(t.DNS+t.Connect))
			add(phaseTLS, start.Add(t.TLS))
		}
		add(phaseWait, head.Time)
	}
	switch {
	case message == nil && head == nil:
		add(phaseWait, end)
	case message == nil:
		add(phaseRead, end)
	case head == nil:
		add(phaseWait, message.Time)
	case message.Kind == wire.Body:
		add(phaseRead, message.Time)
	default:
		add(phaseFirst, message.Time)
	}
	// What is left until the end.
	add(phaseEvents, end)
	return all
}

// firstHead returns the head of the first response other than 202, or nil.
func firstHead(x *wire.Exchange) *wire.Frame {
	for i, h := range x.Heads {
		if h.Dir == wire.Received && h.HTTP != nil && h.HTTP.Status != http.StatusAccepted {
			return &x.Heads[i]
		}
	}
	return nil
}

// firstMessage returns the first message received for the request, or nil.
func firstMessage(x *wire.Exchange) *wire.Frame {
	for i, f := range x.OtherMessages {
		if f.Dir != x.Request.Dir && f.Raw != nil && !x.IsGuess(f) {
			return &x.OtherMessages[i]
		}
	}
	if x.Response.Raw != nil {
		return &x.Response
	}
	return nil
}

// findSpecialPeriods returns the periods when messages were held, and the periods when the server
// waited for a response to its own request or for the next round. Such a period lasts until end if
// no response came.
func findSpecialPeriods(x *wire.Exchange, end time.Time) []period {
	var all []period
	for _, f := range x.NonMessages {
		if f.Held != nil && f.Held.Milliseconds > 0 {
			all = append(all, period{phaseHeld, f.Time.Add(-time.Duration(f.Held.Milliseconds) * time.Millisecond), f.Time})
		}
	}
	questions := map[string]int{}
	round := -1
	for _, f := range x.OtherMessages {
		t := wire.ParseMessage(f.Raw).Traits()
		switch {
		case f.Dir != x.Request.Dir && t.Kind == wire.Request:
			questions[t.ID] = len(all)
			all = append(all, period{phasePerson, f.Time, end})
		case f.Dir != x.Request.Dir && t.IsReply && t.RequiresInput:
			round = len(all)
			all = append(all, period{phasePerson, f.Time, end})
		case f.Dir == x.Request.Dir && t.IsReply:
			if i, asked := questions[t.ID]; asked {
				all[i].to = f.Time
			}
		case f.Dir == x.Request.Dir && t.Kind == wire.Request && round >= 0:
			all[round].to = f.Time
			round = -1
		}
	}
	return all
}

// sumPhases adds up the periods of each name. The part of a period that overlaps a special period
// counts as the special period.
func sumPhases(parts, special []period) []Phase {
	sums := map[string]time.Duration{}
	for _, p := range parts {
		remaining := []period{p}
		for _, s := range special {
			var rest []period
			for _, l := range remaining {
				from := later(l.from, s.from)
				to := earlier(l.to, s.to)
				if !to.After(from) {
					rest = append(rest, l)
					continue
				}
				sums[s.name] += to.Sub(from)
				// The parts before and after the overlap may be empty.
				rest = append(rest, period{l.name, l.from, from}, period{l.name, to, l.to})
			}
			remaining = rest
		}
		for _, l := range remaining {
			sums[l.name] += l.to.Sub(l.from)
		}
	}
	var phases []Phase
	for _, name := range phaseOrder {
		if sums[name] > 0 {
			phases = append(phases, Phase{name, sums[name].Seconds()})
		}
	}
	return phases
}

// later returns the later of two times.
func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

// earlier returns the earlier of two times.
func earlier(a, b time.Time) time.Time {
	if a.Before(b) {
		return a
	}
	return b
}

// minExplained is the smallest duration in seconds that whyItTook explains.
const minExplained = 0.001

// whyItTook explains in one sentence what took most of the time. It returns "" if the exchange took
// less than minExplained.
func whyItTook(phases []Phase, x *wire.Exchange) string {
	var largest Phase
	sum := 0.0
	for _, p := range phases {
		sum += p.Seconds
		if p.Seconds > largest.Seconds {
			largest = p
		}
	}
	if sum < minExplained {
		return ""
	}
	text := term.Duration(seconds(largest.Seconds)) + " of " + term.Duration(seconds(sum)) + " "
	pipe := len(x.Heads) == 0
	switch largest.Name {
	case phaseConnect:
		return text + "connecting to the server"
	case phaseTLS:
		return text + "in the TLS handshake"
	case phaseWait:
		if x.Request.Dir == wire.Received {
			return text + "waiting for the client's answer"
		}
		if pipe {
			return text + "waiting for the server's first message"
		}
		return text + "waiting for the server's first byte"
	case phaseFirst:
		return text + "between the server's first byte and its first event"
	case phaseEvents:
		n := 0 // the messages for the request before its answer
		for _, f := range x.OtherMessages {
			if f.Dir != x.Request.Dir {
				n++
			}
		}
		if n > 0 && x.Response.Raw != nil {
			return text + "after the server's first message, while " + english.Plural(n, "message") + " came before the response"
		}
		return text + "after the server's first message"
	case phasePerson:
		return text + "waiting for a response to the server's request"
	case phaseHeld:
		return "held by mcpc for " + term.Duration(seconds(largest.Seconds))
	}
	if x.Response.Raw == nil {
		return text + "after the server's first byte"
	}
	return text + "reading the answer of " + term.Size(x.Response.Bytes())
}
