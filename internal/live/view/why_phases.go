package view

import (
	"mcpc/internal/english"
	"mcpc/internal/render/term"
	"mcpc/internal/wire"
)

// leastExplained is how many seconds an exchange takes whose time is worth a sentence.
const leastExplained = 0.001

// whyItTook says in one sentence where most of the time went.
func whyItTook(phases []Phase, x *wire.Exchange) string {
	var largest Phase
	sum := 0.0
	for _, p := range phases {
		sum += p.Seconds
		if p.Seconds > largest.Seconds {
			largest = p
		}
	}
	if sum < leastExplained {
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
		switch {
		case x.Request.Dir == wire.Received:
			return text + "waiting for the client's answer"
		case pipe:
			return text + "waiting for the server's first message"
		}
		return text + "waiting for the server's first byte"
	case phaseFirst:
		return text + "between the server's first byte and its first event"
	case phaseEvents:
		n := 0 // the messages for the request before its answer
		for _, f := range x.Between {
			if f.Dir != x.Request.Dir {
				n++
			}
		}
		if n > 0 && x.Response.Raw != nil {
			return text + "after the server's first message, while " + english.Plural(n, "message") + " came before the answer"
		}
		return text + "after the server's first message"
	case phasePerson:
		return text + "waiting for an answer to what the server asked"
	case phaseHeld:
		return text + "held by mcpc"
	}
	if x.Response.Raw == nil {
		return text + "after the server's first byte"
	}
	return text + "reading the answer of " + term.Size(x.Response.Bytes())
}
