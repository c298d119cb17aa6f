package mock

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"

	"mcpc/internal/wire"
)

// Process is the access of a stdio server to its own process. cmd/mcpc fills it in.
type Process struct {
	In       io.Reader
	Out, Err io.Writer
	// Exit ends the process with a status. Kill ends it with the named signal.
	Exit func(code int)
	Kill func(signal string)
	// IgnoreTerm ignores SIGTERM. Fork leaves a child process that holds the standard streams for
	// the duration.
	IgnoreTerm func()
	Fork       func(time.Duration)
}

// Stdio plays a script over standard input and output until the input ends. It returns the error of
// reading.
func (s *Script) Stdio(ctx context.Context, p Process) error {
	server := &stdioServer{script: s, p: p, counts: eventCounts{}}
	server.playEvent(ctx, "start")
	in := bufio.NewReaderSize(p.In, 64<<10)
	for {
		line, err := in.ReadBytes('\n')
		if len(bytes.TrimSpace(line)) > 0 {
			server.handle(ctx, wire.ParseMessage(bytes.TrimSpace(line)))
		}
		if err != nil {
			server.playEvent(ctx, "eof")
			if server.ignoreEOF { // an action "ignore eof"
				<-ctx.Done()
			}
			if errors.Is(err, io.EOF) {
				return nil
			}
			return fmt.Errorf("reading standard input: %w", err)
		}
	}
}

// A stdioServer plays one script over stdio.
type stdioServer struct {
	script    *Script
	p         Process
	counts    eventCounts
	ignoreEOF bool
	writing   sync.Mutex
}

// playEvent plays the rule for an event that is not a message, if there is a rule.
func (s *stdioServer) playEvent(ctx context.Context, event string) {
	if r := s.rule(event); r != nil {
		s.play(ctx, r, &wire.Message{})
	}
}

// rule returns the first rule for the event, or nil.
func (s *stdioServer) rule(event string) *rule {
	for _, r := range s.script.rules {
		if r.event == event {
			return r
		}
	}
	return nil
}

// handle answers one message. It may block while a rule waits.
func (s *stdioServer) handle(ctx context.Context, m *wire.Message) {
	r := s.script.countEvent(s.counts, m.Method)
	if r != nil {
		s.play(ctx, r, m)
		return
	}
	s.answerCorrectly(m)
}

// answerCorrectly answers a message like a correct server.
func (s *stdioServer) answerCorrectly(m *wire.Message) {
	if a := s.script.answerCorrectly(m); a.message != nil {
		s.write(string(a.message) + "\n")
	}
}

func (s *stdioServer) write(text string) {
	s.writing.Lock()
	defer s.writing.Unlock()
	_, _ = io.WriteString(s.p.Out, text)
}

// play executes the actions of a rule for a message.
func (s *stdioServer) play(ctx context.Context, r *rule, m *wire.Message) {
	for _, a := range r.actions {
		if a.name == "pass" {
			s.answerCorrectly(m)
			continue
		}
		s.playAction(ctx, a, m)
	}
}

// playAction executes one action for a message. It does nothing for an action that works over HTTP only.
func (s *stdioServer) playAction(ctx context.Context, a action, m *wire.Message) {
	noHeader := http.Header(nil)
	text := expandVariables(a.text, m, noHeader)
	switch a.name {
	case "result":
		s.write(string(wire.ComposeResult(m.ID, []byte(text))) + "\n")
	case "error":
		s.write(composeError(m, text) + "\n")
	case "json", "event":
		s.write(text + "\n")
	case "line":
		s.write(unescape(text) + "\n")
	case "send":
		s.write(unescape(text))
	case "repeat":
		times, text, _ := strings.Cut(text, " ")
		n, _ := strconv.Atoi(times)
		s.write(strings.Repeat(unescape(text), n))
	case "nest":
		n, _ := strconv.Atoi(text)
		s.write(strings.Repeat("[", n) + strings.Repeat("]", n))
	case "stderr":
		_, _ = io.WriteString(s.p.Err, unescape(text)+"\n")
	case "wait":
		select {
		case <-time.After(parseDuration(text)):
		case <-ctx.Done():
		}
	case "hang":
		<-ctx.Done()
	default:
		s.actOnProcess(a.name, text)
	}
}

// actOnProcess executes an action on the process itself.
func (s *stdioServer) actOnProcess(word, rest string) {
	switch word {
	case "exit":
		code, _ := strconv.Atoi(rest)
		s.p.Exit(code)
	case "kill":
		s.p.Kill(rest)
	case "fork":
		s.p.Fork(parseDuration(rest))
	case "ignore":
		if rest == "eof" {
			s.ignoreEOF = true
		} else {
			s.p.IgnoreTerm()
		}
	}
}
