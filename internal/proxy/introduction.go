package proxy

import (
	"bytes"

	"mcpc/internal/capture"
	"mcpc/internal/wire"
)

// An Introduction learns what the two sides of a conversation call themselves while nothing is
// held, so that filters know it when something is. What is known is not read again: in 2026-07-28
// each request names its client, and each result may name the server.
type Introduction struct {
	// named is set where a request named the client; asked is that request where it was read.
	named bool
	asked *capture.Row
}

// longestIntroduction is how long a message may be to be looked at.
const longestIntroduction = 64 << 10

// Learn looks at a frame. Target and session name the conversation.
func (i *Introduction) Learn(d *Desk, target, session string, f wire.Frame) {
	if f.Kind != wire.Body && f.Kind != wire.Event || len(f.Raw) > longestIntroduction {
		return
	}
	switch {
	case f.Dir == wire.Sent && bytes.Contains(f.Raw, []byte("lientInfo")):
		i.named = true
		if known, _ := d.Live.Knows(target, session); known && !bytes.Contains(f.Raw, []byte("initialize")) {
			return
		}
		if m := wire.ParseMessage(f.Raw); m.Method != "" {
			i.asked = d.Live.Row(target, session, wire.Sent, nil, m)
		}
	case f.Dir == wire.Received && i.named && bytes.Contains(f.Raw, []byte("erverInfo")):
		if i.asked == nil {
			if _, known := d.Live.Knows(target, session); known {
				return
			}
			i.asked = d.Live.Row(target, session, wire.Sent, nil, nil)
		}
		d.Live.Answered(i.asked, session, wire.ParseMessage(f.Raw))
	}
}
