package web

import (
	"encoding/json"
	"errors"
	"net/http"
	"strconv"

	"mcpc/internal/capture/filter"
	"mcpc/internal/live/view"
)

// pieceBytes is the number of bytes written under one write deadline.
const pieceBytes = 256 << 10

// jsonResponder returns a function that writes the result of a Reader or an Actor as JSON, or returns its
// error.
func (s *Server) jsonResponder(w http.ResponseWriter) func(v any, err error) error {
	return func(v any, err error) error {
		if err != nil {
			return err
		}
		return s.writeJSON(w, v)
	}
}

// writeJSON writes v as JSON.
func (s *Server) writeJSON(w http.ResponseWriter, v any) error {
	raw, err := json.Marshal(v)
	if err != nil {
		return err
	}
	return s.write(w, "application/json", raw)
}

// write writes a body. It drops the connection of a page that does not read. The error is always
// nil, so that handlers can return it.
func (s *Server) write(w http.ResponseWriter, kind string, data []byte) error {
	w.Header().Set("Content-Type", kind)
	w.Header().Set("Content-Length", strconv.Itoa(len(data)))
	s.writePieces(w, data)
	return nil
}

// writePieces writes data in pieces with a write deadline for each. It aborts the connection after an
// error, by a panic that net/http expects.
func (s *Server) writePieces(w http.ResponseWriter, data []byte) {
	control := http.NewResponseController(w)
	for len(data) > 0 {
		part := data[:min(pieceBytes, len(data))]
		data = data[len(part):]
		_ = control.SetWriteDeadline(s.Now().Add(s.Stuck))
		if _, err := w.Write(part); err != nil {
			panic(http.ErrAbortHandler) // the body is shorter than its Content-Length
		}
	}
}

// writeError writes an error with its HTTP status.
func (s *Server) writeError(w http.ResponseWriter, err error) {
	body := struct {
		Error  string `json:"error"`
		Column int    `json:"column,omitempty"`
		// Allow is the power that the page can ask for at the terminal.
		Allow string `json:"allow,omitempty"`
	}{Error: err.Error()}
	status := http.StatusInternalServerError
	var refused refusal
	var wrong *filter.Error
	var notAllowed view.NotAllowed
	switch {
	case errors.As(err, &refused):
		status = refused.status
	case errors.As(err, &notAllowed):
		status = http.StatusForbidden
		if s.Ask != nil {
			body.Allow = notAllowed.Power
		}
	case errors.As(err, &wrong):
		status = http.StatusBadRequest
		body.Column = wrong.Column()
	case errors.Is(err, view.ErrSort):
		status = http.StatusBadRequest
	case errors.Is(err, view.ErrGone):
		status = http.StatusNotFound
	}
	raw, _ := json.Marshal(body)
	head := w.Header()
	head.Del("Content-Disposition") // the error is no file to save
	head.Set("Content-Type", "application/json")
	head.Set("Content-Length", strconv.Itoa(len(raw)))
	w.WriteHeader(status)
	s.writePieces(w, raw)
}
