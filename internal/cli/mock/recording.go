package mock

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"strings"

	"mcpc/internal/capture"
	"mcpc/internal/capture/rows"
	"mcpc/internal/cli/recorded"
	"mcpc/internal/exchange"
	"mcpc/internal/match/hidden"
	"mcpc/internal/mcp"
	"mcpc/internal/mock"
	"mcpc/internal/redact"
	"mcpc/internal/sliceutil"
	"mcpc/internal/usage"
	"mcpc/internal/wire"
)

// maxUnrequested limits the bytes of server messages that belong to no request.
const maxUnrequested = 16 << 20

// listen is the method of subscriptions, which the mock answers itself.
const listen = "subscriptions/listen"

// recordingOf returns the rows of a capture as a recording to play. omittedCount is the number of
// messages outside of requests that exceed maxUnrequested.
func recordingOf(rows []*rows.Row) (rec mock.Recording, omittedCount int, err error) {
	var unrequested []unrequestedMessage
	for _, row := range rows {
		if row.IsSeparate || row.Dir == wire.Received || row.Method == listen {
			more, err := unrequestedMessages(row)
			if err != nil {
				return rec, 0, err
			}
			unrequested = append(unrequested, more...)
		} else if row.ID != "" { // without an id, it is an HTTP request without a message
			rec.Exchanges = append(rec.Exchanges, exchangeOf(row))
		}
	}
	sliceutil.Sort(unrequested, func(a, b unrequestedMessage) int {
		return cmp.Or(cmp.Compare(a.run, b.run), a.frame.Time.Compare(b.frame.Time))
	})
	remaining := maxUnrequested
	after := -1
	for _, a := range unrequested {
		remaining -= len(a.message.Raw)
		if remaining < 0 {
			omittedCount++
			continue
		}
		for after+1 < len(rec.Exchanges) && a.follows(rec.Exchanges[after+1]) {
			after++
		}
		rec.Unrequested = append(rec.Unrequested,
			mock.Unrequested{After: after, Time: a.frame.Time, Message: a.message, Answer: a.answer})
	}
	return rec, omittedCount, nil
}

// errFound ends EachFrame.
var errFound = errors.New("found")

// exchangeOf returns a row as a recorded exchange.
func exchangeOf(row *rows.Row) mock.Recorded {
	open := row.IsOpen() || row.Channel == exchange.ChannelCancelled
	return mock.Recorded{
		Number:    row.Number(),
		Method:    row.Method,
		Name:      row.Name,
		Revision:  row.Revision,
		Run:       row.RunIndex(),
		Time:      row.Time,
		Cancelled: row.Channel == exchange.ChannelCancelled,
		Answered:  !open,
		Load:      row.Exchange,
		Request:   func() (*wire.Message, error) { return requestOf(row) },
	}
}

// requestOf reads the request of a row: its first message, or one message of a batch.
func requestOf(row *rows.Row) (m *wire.Message, err error) {
	err = row.EachFrame(func(f wire.Frame) error {
		if f.Dir != wire.Sent || f.Kind != wire.Body {
			return nil
		}
		m = wire.ParseMessage(f.Raw)
		return errFound
	})
	if errors.Is(err, errFound) && m.Kind == wire.Request {
		return m, nil
	}
	x, err := row.Exchange()
	if err != nil || x == nil {
		return &wire.Message{Method: row.Method}, err
	}
	return wire.ParseMessage(x.Request.Raw), nil
}

// An unrequestedMessage is a message that the server sent outside of requests.
type unrequestedMessage struct {
	run     int
	frame   wire.Frame
	message *wire.Message
	answer  *wire.Message
}

// follows reports whether the message followed the request of an exchange.
func (a unrequestedMessage) follows(x mock.Recorded) bool {
	return x.Run < a.run || x.Run == a.run && x.Time.Before(a.frame.Time)
}

// unrequestedMessages returns the server's messages in a row that is not a client's request: a
// stream, a pipe, a subscription, or a request of the server. It omits messages that may belong to
// a request, because those are played with the request.
func unrequestedMessages(row *rows.Row) (all []unrequestedMessage, err error) {
	if row.Dir == wire.Received && !row.IsSeparate {
		if row.Within != nil {
			return nil, nil
		}
		x, err := row.Exchange()
		if err != nil || x == nil || x.Request.Raw == nil {
			return nil, err
		}
		a := unrequestedMessage{run: row.RunIndex(), frame: x.Request, message: wire.ParseMessage(x.Request.Raw)}
		if x.Response.Raw != nil {
			a.answer = wire.ParseMessage(x.Response.Raw)
		}
		return []unrequestedMessage{a}, nil
	}
	guessed := map[uint64]bool{}
	for _, g := range row.Guesses {
		x, err := g.Exchange()
		if err != nil || x == nil {
			return nil, err
		}
		for _, f := range x.OtherMessages {
			guessed[f.Seq] = guessed[f.Seq] || x.IsGuess(f)
		}
	}
	err = row.EachFrame(func(f wire.Frame) error {
		if f.Dir != wire.Received || f.Kind != wire.Body && f.Kind != wire.Event || guessed[f.Seq] {
			return nil
		}
		m := wire.ParseMessage(f.Raw)
		if m.Kind == wire.Notification && m.Method != "notifications/subscriptions/acknowledged" &&
			m.Method != "notifications/cancelled" {
			all = append(all, unrequestedMessage{run: row.RunIndex(), frame: f, message: m})
		}
		return nil
	})
	return all, err
}

// findHidden returns the number of messages with hidden values that a client would get, and the first
// place in each exchange. It ignores notifications, because clients only show them.
func findHidden(rows []*rows.Row) (count int, places []string, err error) {
	for _, row := range rows {
		mayHold, err := row.AnyLine(mayHoldHidden)
		if err != nil {
			return 0, nil, err
		}
		if !mayHold {
			continue
		}
		inRow := 0
		firstPlace := ""
		err = row.EachFrame(func(f wire.Frame) error {
			isMessage := f.Dir == wire.Received && (f.Kind == wire.Body || f.Kind == wire.Event)
			if !isMessage || !redact.HasHiddenParts(string(f.Raw)) || wire.ParseMessage(f.Raw).Kind == wire.Notification {
				return nil
			}
			if found := hidden.Places(f.Raw); inRow == 0 && len(found) > 0 {
				firstPlace = " at " + found[0]
			}
			inRow++
			return nil
		})
		if err != nil {
			return 0, nil, err
		}
		count += inRow
		if inRow > 0 {
			places = append(places, "#"+row.Number()+firstPlace)
		}
	}
	return count, places, nil
}

// mayHoldHidden reports whether a line of a capture may contain a placeholder of a hidden value. It
// is a fast check that saves reading the messages of most rows.
func mayHoldHidden(line []byte) bool {
	return bytes.Contains(line, []byte("••••(len")) || bytes.Contains(line, []byte("//redacted@")) ||
		capture.HasOtherEscapes(line)
}

// selectRows returns the rows to play: the rows that match the recording's argument and matches, and
// the handshakes. matches may be nil: all rows match.
func selectRows(r recorded.Recording, matches func(*rows.Row) bool) ([]*rows.Row, wire.Outcome) {
	if r.HasSelection() {
		only, out := r.Row()
		if !out.OK() {
			return nil, out
		}
		matchesFilter := matches
		matches = func(row *rows.Row) bool { return row == only && (matchesFilter == nil || matchesFilter(row)) }
	}
	if matches == nil {
		return r.Rows(), wire.Outcome{}
	}
	var selected []*rows.Row
	hasMatch := false
	for _, row := range r.Rows() {
		isMatch := matches(row)
		hasMatch = hasMatch || isMatch
		if isMatch || mcp.IsOpening(row.Method) {
			selected = append(selected, row)
		}
	}
	if !hasMatch {
		return selected, usage.Outcome(
			usage.New("nothing to play: no recorded exchange matches", wire.Run("log")+" lists recorded exchanges"),
		)
	}
	return selected, wire.Outcome{}
}

// joinFirst joins the first five words of a list, and counts the others.
func joinFirst(words []string) string {
	const maxJoined = 5
	if len(words) > maxJoined {
		return strings.Join(words[:maxJoined], ", ") + fmt.Sprintf(" and %d more", len(words)-maxJoined)
	}
	return strings.Join(words, ", ")
}
