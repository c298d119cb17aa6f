package client

import (
	"fmt"
	"time"

	"mcpc/internal/wire"
)

// linger waits for what a server makes of a cancellation, where somebody wants
// to know.
func (s *Session) linger(answered <-chan struct{}) {
	if s.opt.Linger <= 0 {
		return
	}
	timer := time.NewTimer(s.opt.Linger)
	defer timer.Stop()
	select {
	case <-answered:
	case <-timer.C:
	case <-s.life.Done():
	}
}

// aftermath says what the server made of a cancellation that it was told of. It
// "SHOULD ... not send a response" (basic/utilities/cancellation).
func (t *talk) aftermath(r reply, late int) {
	text := fmt.Sprintf("the server said nothing more to the cancelled request within %s, as it should", t.s.opt.Linger)
	switch m := r.message; {
	case m != nil && m.Error != nil:
		text = fmt.Sprintf("the server answered the cancelled request with the error %d, where it should say nothing", m.Error.Code)
	case m != nil && string(wire.First(m.Result, "isError")) == "true":
		text = "the server answered the cancelled request with isError, where it should say nothing"
	case m != nil:
		text = "the server did not heed the cancellation: the result came all the same"
	case late > 0:
		text = fmt.Sprintf("the server did not heed the cancellation: %d more notifications of progress came within %s", late, t.s.opt.Linger)
	}
	t.finding(wire.Finding{Rule: "cancelled", Level: wire.Info, Text: text})
}
