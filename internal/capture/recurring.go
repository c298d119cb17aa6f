package capture

import (
	"bytes"
	"strconv"
	"time"

	"mcpc/internal/jsonraw"
	"mcpc/internal/redact"
	"mcpc/internal/sse"
	"mcpc/internal/wire"
)

// A server that reports progress sends the same event again and again with another number in it.
// The line of such a frame is that of the one before with other digits, and has no secret where
// that had none.

// recurring is the latest event, and what the lines of those that follow have in common with it.
type recurring struct {
	// place is where the event crossed; raw is a copy of its bytes.
	place place
	raw   []byte
	// known is set where a frame was found to differ from the one before in digits alone, which
	// stand at from, and have so many bytes behind them.
	known        bool
	from, behind int
	// head is the line between time and digits, tail what is behind these.
	head, tail []byte
}

// recurs reports an event like the one before, without secrets.
func (r *recurring) recurs(f wire.Frame, s *redact.Secrets) bool {
	to := len(f.Raw) - r.behind
	return r.known && to > r.from && isCommon(f) && placeOf(f) == r.place &&
		bytes.Equal(f.Raw[:r.from], r.raw[:r.from]) && bytes.Equal(f.Raw[to:], r.raw[len(r.raw)-r.behind:]) &&
		isDigits(f.Raw[r.from:to]) && redact.StaysPlain(s, f.Raw, r.from, to)
}

// appendLine appends the line of an event that recurs.
func (r *recurring) appendLine(b []byte, f wire.Frame) []byte {
	b = strconv.AppendUint(append(b, `{"seq":`...), f.Seq, 10)
	b = append(appendTime(b, "time", f.Time), r.head...)
	return append(append(b, f.Raw[r.from:len(f.Raw)-r.behind]...), r.tail...)
}

// keep remembers an event that is not like the one before, and looks whether it could be.
func (r *recurring) keep(f wire.Frame, s *redact.Secrets) {
	r.known = false
	if !isCommon(f) {
		return
	}
	if placeOf(f) == r.place && len(r.raw) > 0 && r.compare(f.Raw) && redact.IsPlain(s, f.Raw) && jsonraw.ValidUTF8(f.Raw) {
		r.known = true
		f.Seq, f.Time = 0, time.Time{}
		line, digits := AppendFrame(nil, f), len(f.Raw)-r.from-r.behind
		tail := len(line) - len(jsonraw.AppendEscaped(nil, f.Raw[len(f.Raw)-r.behind:])) - len("\"}\n")
		r.head, r.tail = line[len(`{"seq":0`):tail-digits], line[tail:]
	}
	r.place, r.raw = placeOf(f), append(r.raw[:0], f.Raw...)
}

// compare finds where raw has other digits than the event before; false where more differs.
func (r *recurring) compare(raw []byte) bool {
	least := min(len(raw), len(r.raw))
	for r.from = 0; r.from < least && raw[r.from] == r.raw[r.from]; r.from++ {
	}
	for r.from > 0 && isDigits(raw[r.from-1:r.from]) {
		r.from--
	}
	for r.behind = 0; r.behind < least-r.from && raw[len(raw)-1-r.behind] == r.raw[len(r.raw)-1-r.behind]; r.behind++ {
	}
	for r.behind > 0 && isDigits(raw[len(raw)-r.behind:][:1]) {
		r.behind--
	}
	return isDigits(raw[r.from:len(raw)-r.behind]) && isDigits(r.raw[r.from:len(r.raw)-r.behind])
}

func isDigits(b []byte) bool {
	for _, c := range b {
		if c < '0' || c > '9' {
			return false
		}
	}
	return len(b) > 0
}

// isCommon reports an event that is nothing but its data.
func isCommon(f wire.Frame) bool {
	return f.Kind == wire.Event && f.SSE != nil && *f.SSE == sse.Facts{} && len(f.Raw) <= MostCopied &&
		f.HTTP == nil && f.Close == nil && f.Fault == nil && f.Held == nil && f.Hidden == 0 && f.Size == 0
}

// A place is the conversation and the stream of a frame, and its direction.
type place struct {
	dir          wire.Direction
	conn, stream int
}

func placeOf(f wire.Frame) place { return place{f.Dir, f.Conn, f.Stream} }
