// Package connecttest has helpers for the tests of internal/connect: a user with prepared answers
// that records the shown texts, an Env with a fixed clock, and servers in the process of the test.
package connecttest

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"net"
	"net/http/httptest"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"mcpc/internal/client"
	"mcpc/internal/connect/host"
	"mcpc/internal/demo"
	"mcpc/internal/diff"
	"mcpc/internal/jsonraw"
	"mcpc/internal/mock"
	"mcpc/internal/question"
	"mcpc/internal/target"
	"mcpc/internal/wire"
)

// A User is the user of a test. The fields are set before a connection uses them.
type User struct {
	host.Quiet
	// AtTerminal is set if the user can answer questions.
	AtTerminal bool
	// Says are the answers to AskAlways, in order. Later answers are "no".
	Says []string
	// Lines are the answers to TypedLine, in order. Later calls return an error.
	Lines []string
	// Stdin is the text that Input returns for "-".
	Stdin string
	// Arguments are the values that the user types into a form for arguments.
	Arguments map[string]json.RawMessage
	// Form is the answer to a form of the server.
	Form client.Answer

	mu    sync.Mutex
	shown []string
}

func (u *User) record(text string) {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.shown = append(u.shown, text)
}

// Shown returns the texts shown to the user since its last call. Each line begins with its kind:
// note, warn, ask, log and others.
func (u *User) Shown() []string {
	u.mu.Lock()
	defer u.mu.Unlock()
	shown := u.shown
	u.shown = nil
	return shown
}

// Note records a note.
func (u *User) Note(text string) { u.record("note: " + text) }

// Warn records a warning.
func (u *User) Warn(text string) { u.record("warn: " + text) }

// Interactive returns AtTerminal.
func (u *User) Interactive() bool { return u.AtTerminal }

// CanAsk returns AtTerminal.
func (u *User) CanAsk() bool { return u.AtTerminal }

// ShowsProgress returns true.
func (u *User) ShowsProgress() bool { return true }

// ShowProgress records the message of a progress notification.
func (u *User) ShowProgress(params jsonraw.Members) { u.record("progress: " + params.Text("message")) }

// ShowLog records a log message.
func (u *User) ShowLog(level, logger string, data json.RawMessage) {
	u.record("log: " + level + " " + logger + " " + string(data))
}

// Waiting records the state of a task and the effect of Ctrl-C.
func (u *User) Waiting(text, ctrlC string) { u.record("waiting: " + text + "; Ctrl-C " + ctrlC) }

// AskAlways records a question and returns the next answer.
func (u *User) AskAlways(_ context.Context, question, always string) string {
	u.record(strings.TrimSpace("ask: " + question + " " + always))
	if len(u.Says) == 0 {
		return "no"
	}
	answer := u.Says[0]
	u.Says = u.Says[1:]
	return answer
}

// TypedLine records a prompt and returns the next line.
func (u *User) TypedLine(_ context.Context, prompt string, secret bool) (string, error) {
	if secret {
		prompt = "(secret) " + prompt
	}
	u.record("type: " + prompt)
	if len(u.Lines) == 0 {
		return "", errors.New("the input has ended")
	}
	line := u.Lines[0]
	u.Lines = u.Lines[1:]
	return line, nil
}

// Input returns the argument itself, the contents of @FILE, or Stdin for "-".
func (u *User) Input(arg string) (raw []byte, from string, err error) {
	if arg == "-" || arg == "@-" {
		return []byte(u.Stdin), "stdin", nil
	}
	if name, isFile := strings.CutPrefix(arg, "@"); isFile {
		raw, err = os.ReadFile(name)
		return raw, name, err
	}
	return []byte(arg), "the argument", nil
}

// ShowServer records the headline of a server that the user must confirm.
func (u *User) ShowServer(headline string, _ target.Server) { u.record("server: " + headline) }

// ShowChanges records a headline and the rules of the changes.
func (u *User) ShowChanges(level wire.Severity, headline string, changes []diff.Change) {
	var rules []string
	for _, c := range changes {
		rules = append(rules, c.Rule)
	}
	u.record(strings.TrimSpace("changes " + level.String() + ": " + headline + " " + strings.Join(rules, " ")))
}

// FillArguments records the names of the requested arguments and returns the prepared values.
func (u *User) FillArguments(
	_ context.Context, tool string, form question.Form, _ host.FormCheck,
) map[string]json.RawMessage {
	var names []string
	for _, f := range form.Fields {
		names = append(names, f.Name)
	}
	u.record("fill: " + tool + " " + strings.Join(names, " "))
	return u.Arguments
}

// FillForm records the server that sent the form and returns the prepared answer.
func (u *User) FillForm(_ context.Context, _ client.InputRequest, from string, _ host.FormCheck) client.Answer {
	u.record("form of " + from)
	return u.Form
}

// VisitPage records the server that sent the page and returns the prepared answer.
func (u *User) VisitPage(_ context.Context, _ client.InputRequest, from string) client.Answer {
	u.record("page of " + from)
	return u.Form
}

// WriteMessage records the server that requests a message and returns the prepared answer.
func (u *User) WriteMessage(_ context.Context, _ client.InputRequest, from string) client.Answer {
	u.record("message for " + from)
	return u.Form
}

// Start is the time of the fixed clock.
var Start = time.Date(2030, time.January, 2, 3, 4, 5, 0, time.UTC)

// Env returns an Env for a server, with an empty state and an empty environment, and its user.
func Env(t testing.TB, server string) (*host.Env, *User) {
	t.Helper()
	user := new(User)
	return &host.Env{
		UI: user, Getenv: func(string) string { return "" }, Environ: func() []string { return nil },
		Now: func() time.Time { return Start }, Version: "1.2.3", Shared: new(host.Shared),
		Server: server, ServerGiven: server != "", State: t.TempDir(), NoRecord: true,
	}, user
}

// Getenv returns a function that reads variables of the form NAME=VALUE.
func Getenv(variables ...string) func(string) string {
	return func(name string) string {
		for _, v := range variables {
			if value, ok := strings.CutPrefix(v, name+"="); ok {
				return value
			}
		}
		return ""
	}
}

// A Server plays a script of package mock.
type Server struct {
	URL string

	mu       sync.Mutex
	received []mock.Request
}

// Play plays a script on the loopback until the test ends.
func Play(t testing.TB, script string) *Server {
	t.Helper()
	parsed, err := mock.Parse(script)
	if err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s := &Server{URL: "http://" + l.Addr().String() + "/mcp"}
	ctx, stop := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() {
		done <- parsed.HTTP(ctx, l, func(r mock.Request) {
			s.mu.Lock()
			defer s.mu.Unlock()
			s.received = append(s.received, r)
		})
	}()
	t.Cleanup(func() {
		stop()
		<-done
	})
	return s
}

// Requests returns the received requests with the method.
func (s *Server) Requests(method string) []mock.Request {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.DeleteFunc(slices.Clone(s.received), func(r mock.Request) bool {
		return r.Message == nil || r.Message.Method != method
	})
}

// Params returns the params of each received request with the method, without their _meta.
func (s *Server) Params(method string) []string {
	var all []string
	for _, r := range s.Requests(method) {
		all = append(all, string(bytes.TrimSpace(jsonraw.Without(jsonraw.OrEmpty(r.Message.Params), "_meta"))))
	}
	return all
}

// Demo serves the demo server on the loopback until the test ends, and returns its URL.
func Demo(t testing.TB, o demo.Options) string {
	t.Helper()
	server := httptest.NewServer(demo.Handler(o))
	t.Cleanup(server.Close)
	return server.URL + "/mcp"
}
