package mock

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"sync"
	"time"

	"mcpc/internal/wire"
)

// Process is what a stdio server may do to itself. cmd/mcpc fills it in.
type Process struct {
	In       io.Reader
	Out, Err io.Writer
	// Exit ends the process with a status, Kill by a signal's name.
	Exit func(code int)
	Kill func(signal string)
	// IgnoreTerm makes SIGTERM do nothing; Fork leaves a process behind that
	// holds the standard streams for a while.
	IgnoreTerm func()
	Fork       func(time.Duration)
}

// Stdio plays a script over standard input and output until the input ends.
func (s *Script) Stdio(ctx context.Context, p Process) error {
	server := &stdioServer{script: s, p: p, counts: count{}}
	server.happen(ctx, "start")
	in := bufio.NewReaderSize(p.In, 64<<10)
	for {
		line, err := in.ReadBytes('\n')
		if len(bytes.TrimSpace(line)) > 0 {
			server.take(ctx, wire.ParseMessage(bytes.TrimSpace(line)))
		}
		if err != nil {
			server.happen(ctx, "eof")
			if server.ignoreEOF {
				<-ctx.Done()
			}
			if errors.Is(err, io.EOF) {
				return nil
			}
			return fmt.Errorf("reading standard input: %w", err)
		}
	}
}

type stdioServer struct {
	script    *Script
	p         Process
	counts    count
	ignoreEOF bool
	writing   sync.Mutex
}

// happen plays the rule for something that is not a message.
func (s *stdioServer) happen(ctx context.Context, what string) {
	if r := s.rule(what); r != nil {
		s.play(ctx, r, &wire.Message{})
	}
}

func (s *stdioServer) rule(what string) *rule {
	for _, r := range s.script.rules {
		if r.on == what {
			return r
		}
	}
	return nil
}

// take answers one message. A rule may wait while other messages come.
func (s *stdioServer) take(ctx context.Context, m *wire.Message) {
	r := s.script.ruleFor(s.counts, m.Method)
	if r != nil {
		s.play(ctx, r, m)
		return
	}
	s.behave(m)
}

func (s *stdioServer) behave(m *wire.Message) {
	if a := s.script.wellBehaved(m); a.message != nil {
		s.write(string(a.message) + "\n")
	}
}

func (s *stdioServer) write(text string) {
	s.writing.Lock()
	defer s.writing.Unlock()
	_, _ = io.WriteString(s.p.Out, text)
}

func (s *stdioServer) play(ctx context.Context, r *rule, m *wire.Message) {
	for _, a := range r.actions {
		if a.word == "pass" {
			s.behave(m)
			continue
		}
		s.act(ctx, a, m)
	}
}

func (s *stdioServer) act(ctx context.Context, a action, m *wire.Message) {
	rest := expand(a.rest, m, nil)
	switch a.word {
	case "result":
		s.write(string(wire.ComposeResult(m.ID, []byte(rest))) + "\n")
	case "error":
		s.write(composeError(m, rest) + "\n")
	case "json", "event":
		s.write(rest + "\n")
	case "line":
		s.write(unescape(rest) + "\n")
	case "send":
		s.write(unescape(rest))
	case "repeat":
		times, text, _ := strings.Cut(rest, " ")
		n, _ := strconv.Atoi(times)
		s.write(strings.Repeat(unescape(text), n))
	case "nest":
		n, _ := strconv.Atoi(rest)
		s.write(strings.Repeat("[", n) + strings.Repeat("]", n))
	case "stderr":
		_, _ = io.WriteString(s.p.Err, unescape(rest)+"\n")
	case "wait":
		select {
		case <-time.After(duration(rest)):
		case <-ctx.Done():
		}
	case "hang":
		<-ctx.Done()
	default:
		s.process(a.word, rest)
	}
}

func (s *stdioServer) process(word, rest string) {
	switch word {
	case "exit":
		code, _ := strconv.Atoi(rest)
		s.p.Exit(code)
	case "kill":
		s.p.Kill(rest)
	case "fork":
		s.p.Fork(duration(rest))
	case "ignore":
		if rest == "eof" {
			s.ignoreEOF = true
		} else {
			s.p.IgnoreTerm()
		}
	}
}
