package hold

import (
	"bytes"

	"mcpc/internal/capture"
	"mcpc/internal/wire"
)

// An Introduction learns what the two sides of a conversation call themselves while nothing is
// held, so that filters know it when something is.
type Introduction struct{ asked *capture.Row }

// longestIntroduction is how long a message may be to be looked at.
const longestIntroduction = 64 << 10

// Learn looks at a frame. Target and session name the conversation.
func (i *Introduction) Learn(d *Desk, target func() string, session string, f wire.Frame) {
	if d == nil || f.Kind != wire.Body && f.Kind != wire.Event || len(f.Raw) > longestIntroduction {
		return
	}
	switch {
	case f.Dir == wire.Sent && bytes.Contains(f.Raw, []byte("lientInfo")):
		if m := wire.ParseMessage(f.Raw); m.Method != "" {
			i.asked = d.Live.Row(target(), session, wire.Sent, nil, m)
		}
	case f.Dir == wire.Received && i.asked != nil && bytes.Contains(f.Raw, []byte("erverInfo")):
		d.Live.Answered(i.asked, session, wire.ParseMessage(f.Raw))
	}
}
