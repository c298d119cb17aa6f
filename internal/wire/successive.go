package wire

import (
	"bytes"

	"mcpc/internal/jsonraw"
)

// Successive parses the messages of one stream. A server that reports progress sends the same
// notification again and again with another number in it: such a message is compared with the
// one before, and not parsed.
type Successive struct {
	// free is a message that is not used any more, nil where there is none.
	free *Message
	// text is a copy of a notification of progress, nil where there is none; in it, progress is
	// where the number stands, params and members are where those of the message do.
	text             []byte
	progress, params span
	members          []span
	// missed counts the texts that no message followed.
	missed int
}

type span struct{ from, to int }

const (
	longestSuccessive = 4 << 10
	// mostMissed is after how many texts without a successor none is kept any more.
	mostMissed = 16
	// mostDigits is how many a number has that every reader reads exactly.
	mostDigits = 15
)

// Parse is ParseMessage.
func (s *Successive) Parse(raw []byte) *Message {
	m := s.free
	if s.free = nil; m == nil {
		m = &Message{}
	} else if s.text != nil && s.follows(raw) {
		s.missed = 0
		s.move(m, raw)
		return m
	}
	s.text = nil
	m.Parse(raw)
	return m
}

// Free takes back a notification that Parse gave, which the caller does not use any more.
func (s *Successive) Free(m *Message) {
	if s.free = m; s.text == nil && s.missed < mostMissed && m.Method == "notifications/progress" && len(m.Raw) <= longestSuccessive {
		s.missed++
		s.keep(m)
	}
}

// keep notes where the parts of a notification stand.
func (s *Successive) keep(m *Message) {
	at, found := span{}, 0
	_ = jsonraw.EachMember(m.Raw, func(_ int, name string, from, to int) bool {
		if name == "params" {
			at = span{from, to}
		}
		return true
	})
	s.members = s.members[:0]
	_ = jsonraw.EachMember(m.Params, func(_ int, name string, from, to int) bool {
		if s.members = append(s.members, span{at.from + from, at.from + to}); name == "progress" {
			s.progress = s.members[len(s.members)-1]
			found++
		}
		return true
	})
	known := m.Kind == Notification && m.noted.Known && len(m.noted.At) == 0 && len(m.noted.Members) == len(s.members) && len(m.Problems) == 0
	if known && found == 1 && isCount(m.Raw[s.progress.from:s.progress.to]) {
		s.text, s.params = append(s.text, m.Raw...), at
	}
}

// follows reports that raw is the text but for the digits of its progress.
func (s *Successive) follows(raw []byte) bool {
	behind := s.text[s.progress.to:]
	to := len(raw) - len(behind)
	return to > s.progress.from && bytes.Equal(raw[:s.progress.from], s.text[:s.progress.from]) &&
		isCount(raw[s.progress.from:to]) && bytes.Equal(raw[to:], behind)
}

// isCount reports a JSON number of nothing but a few digits.
func isCount(number []byte) bool {
	for _, c := range number {
		if c < '0' || c > '9' {
			return false
		}
	}
	return len(number) == 1 || len(number) > 1 && len(number) <= mostDigits && number[0] != '0'
}

// move makes m, which was parsed from the text or follows it, the message in raw.
func (s *Successive) move(m *Message, raw []byte) {
	more := len(raw) - len(s.text)
	moved := func(at span) []byte {
		if at.from > s.progress.from {
			at.from += more
		}
		if at.to >= s.progress.to {
			at.to += more
		}
		return raw[at.from:at.to:at.to]
	}
	m.Raw, m.Params, m.Recurs = raw, moved(s.params), true
	for i, at := range s.members {
		m.noted.Members[i].Value = moved(at)
	}
}
