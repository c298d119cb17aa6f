package mock

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"mcpc/internal/wire"
)

// FuzzPlay plays any recording to clients that send any messages: a line that begins with "<" is
// the recorded server's, all others are the client's. Nothing panics, and what is written to a pipe
// are messages.
func FuzzPlay(f *testing.F) {
	for _, lines := range []string{asking, rounds, aTask} {
		var seed []string
		for _, frame := range talk(lines) {
			mark := ">"
			if frame.Dir == wire.Received {
				mark = "<"
			}
			seed = append(seed, mark+string(frame.Raw))
		}
		f.Add(strings.Join(seed, "\n"))
	}
	f.Add("<{}\n>[]\n><\n>{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/call\",\"params\":{\"requestState\":\"mcpc-mock:0:99\"}}")
	f.Fuzz(func(t *testing.T, text string) {
		var frames []wire.Frame
		var client bytes.Buffer
		for i, line := range strings.Split(text, "\n") {
			raw, server := strings.CutPrefix(line, "<")
			frame := wire.Frame{Seq: uint64(i + 1), Dir: wire.Sent, Raw: []byte(strings.TrimPrefix(raw, ">"))}
			if server {
				frame.Dir = wire.Received
			} else {
				client.Write(append(frame.Raw, '\n'))
			}
			frames = append(frames, frame)
		}
		p, _ := player(t, recordingOf(frames), func(o *PlayerOptions) { o.Nearest = len(text)%2 == 0 })
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
		defer cancel()
		var out bytes.Buffer
		input := client.Bytes()
		if err := p.Stdio(ctx, bytes.NewReader(input), &out); err != nil {
			t.Fatal(err)
		}
		for line := range bytes.Lines(out.Bytes()) {
			if m := wire.ParseMessage(bytes.TrimSpace(line)); m.Kind == wire.Invalid && m.ID != nil && !bytes.Contains(line, []byte(`"id":null`)) {
				t.Errorf("%s: %s", m.Problem(), line)
			}
		}
		handler := p.Handler(ctx)
		for line := range bytes.Lines(input) {
			ended, stop := context.WithCancel(ctx)
			stop() // a client that has disconnected
			r := httptest.NewRequestWithContext(ended, http.MethodPost, "http://localhost/mcp", bytes.NewReader(line))
			r.Header.Set("Content-Type", "application/json")
			r.Header.Set("Accept", "*/*")
			w := httptest.NewRecorder()
			handler.ServeHTTP(w, r)
			_, _ = io.Copy(io.Discard, w.Body)
		}
	})
}
