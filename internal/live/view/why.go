package view

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"mcpc/internal/english"
	"mcpc/internal/render/term"
	"mcpc/internal/wire"
)

// fewOthers is how many others a duration is compared with at least.
const fewOthers = 4

// groupText says how a duration stands among others: "slower than 97 % of tools/call echo (p50
// 44 ms)".
func groupText(one asked, others []time.Duration) string {
	if len(others) < fewOthers {
		return ""
	}
	slices.Sort(others)
	quicker, _ := slices.BinarySearch(others, one.took)
	what := strings.TrimSpace(one.method + " " + one.name)
	middle := term.Duration(others[(len(others)-1)/2])
	if percent := quicker * 100 / len(others); percent >= 50 {
		return fmt.Sprintf("slower than %d %% of %s (p50 %s)", percent, what, middle)
	}
	slower := len(others) - quicker
	return fmt.Sprintf("no slower than %d %% of %s (p50 %s)", slower*100/len(others), what, middle)
}

// leastExplained is how long an exchange takes whose time is worth a sentence.
const leastExplained = time.Millisecond

// why says in one sentence where most of the time went, or since when nothing came.
func why(r Row, x *wire.Exchange) string {
	switch r.State {
	case stateOpen:
		return "open for " + term.Duration(seconds(r.Seconds)) + "; the last message came or went " + term.Duration(seconds(r.Quiet)) + " ago"
	case stateAsking:
		return "open for " + term.Duration(seconds(r.Seconds)) + "; the server waits for an answer to what it asked"
	}
	var largest Phase
	sum := 0.0
	for _, p := range r.Phases {
		sum += p.Seconds
		if p.Seconds > largest.Seconds {
			largest = p
		}
	}
	if seconds(sum) < leastExplained {
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
		if n := messagesOnTheWay(x); n > 0 {
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
	return text + "reading the answer of " + term.Size(r.Received)
}

// messagesOnTheWay counts what came for a request before its answer.
func messagesOnTheWay(x *wire.Exchange) (n int) {
	for _, f := range x.Between {
		if f.Dir != x.Request.Dir {
			n++
		}
	}
	return n
}

func seconds(s float64) time.Duration { return time.Duration(s * float64(time.Second)) }
