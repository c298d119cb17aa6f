package web

import (
	"context"
	"encoding/json"
	"net/http"
	"time"

	"mcpc/internal/live/view"
	"mcpc/internal/pause"
)

// A pageStatus is the status of the views, and what the page may do.
type pageStatus struct {
	view.Status
	Powers view.Powers `json:"powers"`
}

// status returns the status for the page.
func (s *Server) status() pageStatus { return pageStatus{s.Reader.Status(), s.powers()} }

// serveEvents streams the status after each change, and a comment after a quiet interval, until the
// page leaves. It waits Status.Gap between two events. It returns an error only before the stream
// begins.
func (s *Server) serveEvents(w http.ResponseWriter, r *http.Request, key string) error {
	ctx := r.Context()
	done, err := s.door.openStream(key)
	if err != nil {
		return refusal{http.StatusTooManyRequests, err.Error()}
	}
	defer done()
	defer s.recordActivity()
	control := http.NewResponseController(w)
	_ = control.SetReadDeadline(time.Time{}) // no deadline: the stream has no end
	w.Header().Set("Content-Type", "text/event-stream")
	send := func(text string) bool {
		_ = control.SetWriteDeadline(s.Now().Add(s.Stuck))
		if _, err := w.Write([]byte(text)); err != nil {
			return false
		}
		return control.Flush() == nil
	}
	status := pageStatus{}
	sentSeq := uint64(0) // the newest change that the page knows
	hasChanged := true   // a new page needs the status at once
	for {
		event := ":\n\n" // a comment, which shows that the page still reads
		if hasChanged {
			status = s.status()
			raw, err := json.Marshal(status)
			if err != nil {
				return nil
			}
			event = "data: " + string(raw) + "\n\n"
			sentSeq = max(sentSeq, status.Seq)
		}
		if !send(event) || pause.For(ctx, status.Gap()) != nil {
			return nil
		}
		waitContext, cancel := context.WithTimeout(ctx, s.Beat)
		seq := s.Reader.Wait(waitContext, sentSeq)
		cancel()
		if ctx.Err() != nil {
			return nil
		}
		hasChanged = seq > sentSeq
		sentSeq = max(sentSeq, seq)
	}
}
