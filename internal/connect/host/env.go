// Package host has what a program needs before it connects to a server: the settings of a
// connection, the user interface (UI), the servers in configuration files of other programs, the
// user's consent to them, credentials, the network, the state directory, and the recording of the
// traffic. An Env holds all of it for one invocation of a command; package connect dials with it.
// The name is from the specification: a host is the program that creates clients and asks for the
// user's consent.
package host

import (
	"context"
	"encoding/json"
	"io"
	"os"
	"strings"
	"sync/atomic"
	"time"

	"mcpc/internal/client"
	"mcpc/internal/client/auth"
	"mcpc/internal/diff"
	"mcpc/internal/jsonraw"
	"mcpc/internal/question"
	"mcpc/internal/redact"
	"mcpc/internal/state"
	"mcpc/internal/target"
	"mcpc/internal/telemetry"
	"mcpc/internal/wire"
)

// An Env has what one invocation of a command connects with: its settings, its access to the
// system, and the state that the invocations of a process share. A copy has its own settings.
type Env struct {
	// Server and the following fields are the flags of all commands.
	Server string
	// ServerGiven is set if -s is given, even if its value is empty.
	ServerGiven bool
	Protocol    string
	Headers     []string
	HeaderFiles []string
	State       string
	Verbose     int
	LogLevel    string
	RecordTo    string
	NoRecord    bool
	Limits      client.Limits
	Auth        AuthFlags
	// AccountTyped is set if --account is on the command line. Hints then repeat it.
	AccountTyped bool
	NoInput      bool
	Confirm      string
	// Fresh is set if no list of an earlier command may be used.
	Fresh   bool
	Answers Answers
	Network NetworkFlags
	Index   int
	Strict  bool

	// UI is the user interface.
	UI      UI
	Getenv  func(string) string
	Environ func() []string
	// Mark is an environment variable NAME=VALUE for the processes of all servers, or "".
	Mark    string
	Now     func() time.Time
	Version string
	// Program is the executable of mcpc. If it is "", it is the executable of this process.
	Program string
	// Args are the words of the command line, without the program's name.
	Args []string
	// Asker returns what answers the server's requests. person is set if the user can be asked. If
	// Asker is nil, mcpc declares no client capabilities.
	Asker func(env *Env, server Server, flags Answers, person bool) (client.Asker, error)
	*Shared

	// LearnsAtOnce is set if the command writes what the server says to a file or a report. The
	// secrets in a frame are then learned before anything reads it, not when it is recorded.
	LearnsAtOnce bool
}

// Shared has what the invocations of a process share: secrets, recording, and what was learned
// while connecting. The zero value is ready to use.
type Shared struct {
	// Secrets are the values that no frame and no recording may show.
	Secrets redact.Secrets
	Record  Recording
	// IsConnected is set while a connection is open that must be closed.
	IsConnected atomic.Bool
	// Watch receives every frame live, without secrets. It may be nil.
	Watch atomic.Pointer[wire.Tap]
	// Trace is the distributed trace that the process takes part in.
	Trace Tracing
	// Ballast is memory that TuneGC has allocated. It is nil before.
	Ballast []byte
	// Known are the configuration files of other programs. It is nil before they are read.
	Known *[]ConfigFile

	// Guard adds credentials to HTTP requests. Other transports have nil.
	Guard *auth.Transport
	// Held is the session of the command if its server process is kept. HeldUsed is when it was
	// last used.
	Held     *state.Session
	HeldUsed time.Time
	// Route is how the server of the command is reached. It is nil before the first connection.
	Route *Network
	// FromFile is the id of the configured server that the command uses, or "".
	FromFile string
}

// Tracing is how a process takes part in a distributed trace. The zero value passes on the context
// of its environment.
type Tracing struct {
	// Meta returns the members of _meta for one request. It is nil if the process makes no spans.
	Meta func() []jsonraw.Member
	// Trace and Span are the hexadecimal ids of the command's span, or "".
	Trace, Span string
	// Tap receives every frame live, with its secrets. It may be nil. Lost reports that frames are
	// missing, and Fail the outcome of a request without a response. Both are set if Tap is.
	Tap  wire.Tap
	Lost func()
	Fail func(wire.Outcome)
}

// A Server is a server whose requests an Asker answers.
type Server interface {
	// Label names it for the user: title, name, version and address.
	Label() string
	// AddTyped records what the user typed into a form, for a call that is saved.
	AddTyped(content json.RawMessage)
}

// A UI informs the user while a command runs, and asks the user questions.
type UI interface {
	Note(text string)
	Warn(text string)
	// NameServer sets how commands in hints name the server. It is called once the server's secrets
	// are known. HintText returns a hint as it is shown.
	NameServer(argv []string)
	HintText(hint wire.Hint) string

	// ShowProgress shows a notifications/progress if ShowsProgress returns true. ShowLog shows a
	// notifications/message. Waiting shows what a task is doing and what Ctrl-C does.
	ShowsProgress() bool
	ShowProgress(params jsonraw.Members)
	ShowLog(level, logger string, data json.RawMessage)
	Waiting(text, ctrlC string)
	// Stderr returns the standard error for programs that mcpc starts.
	Stderr() io.Writer

	// Interactive reports whether the user can be asked. CanAsk reports whether the user can be
	// asked while a request runs.
	Interactive() bool
	CanAsk() bool
	// AskAlways asks a question, and returns "yes", "no" or "always".
	AskAlways(ctx context.Context, question, always string) string
	// TypedLine asks for a line. A secret line is not echoed.
	TypedLine(ctx context.Context, prompt string, secret bool) (string, error)
	// Input returns the text that an argument denotes: itself, @FILE, or - for standard input.
	Input(arg string) (raw []byte, from string, err error)
	// MeantByPath describes a file or folder that was given instead of a server, and returns a hint
	// for it.
	MeantByPath(text string) (what string, hint wire.Hint)
	// ShowServer shows what the user has to confirm about a configured server.
	ShowServer(headline string, s target.Server)
	// ShowChanges shows how the definition of an approved tool changed: as a note (wire.Info), or
	// before the user is asked (wire.Warning).
	ShowChanges(level wire.Severity, headline string, changes []diff.Change)
	// OfferLogin offers to log in to a server that requires it, and reports whether the login
	// succeeded.
	OfferLogin(ctx context.Context, r auth.Refusal) (bool, error)
	// FillArguments asks for the arguments of a tool. It returns nil if the user enters no
	// argument.
	FillArguments(ctx context.Context, tool string, form question.Form, check FormCheck) map[string]json.RawMessage
	// FillForm, VisitPage and WriteMessage let the user answer a request of the server.
	FillForm(ctx context.Context, q client.InputRequest, from string, check FormCheck) client.Answer
	VisitPage(ctx context.Context, q client.InputRequest, from string) client.Answer
	WriteMessage(ctx context.Context, q client.InputRequest, from string) client.Answer
}

// A FormCheck checks a value against the schema of a form.
type FormCheck func(schema, value json.RawMessage) []wire.Finding

// Executable returns the executable of mcpc, to start another process.
func (e *Env) Executable() (string, error) {
	if e.Program != "" {
		return e.Program, nil
	}
	return os.Executable()
}

// TraceMeta returns a function that returns the trace context of each request: a new span if the
// process makes spans, otherwise the context in TRACEPARENT, TRACESTATE and BAGGAGE. Returns nil
// without a context.
func TraceMeta(e *Env) func() []jsonraw.Member {
	if e.Trace.Meta != nil || e.Getenv == nil { // without an environment only spans have a context
		return e.Trace.Meta
	}
	parent, ok := telemetry.ParseContext(e.Getenv("TRACEPARENT"), e.Getenv("TRACESTATE"))
	if !ok {
		return nil
	}
	members := parent.Meta(e.Getenv("BAGGAGE"))
	return func() []jsonraw.Member { return members }
}

// LoadState opens the state directory and reads the sessions. The store is nil if the directory
// cannot be opened.
func (e *Env) LoadState() (*state.Store, state.State, error) {
	store, err := state.Open(e.State)
	if err != nil {
		return nil, state.State{}, err
	}
	st, err := store.Load()
	return store, st, err
}

// TokensName is the file of the tokens in the state directory.
const TokensName = "auth.json"

// Tokens opens the store of tokens. The login decides whether new tokens go to the keyring.
func (e *Env) Tokens() (*auth.Store, error) {
	store, err := state.Open(e.State)
	if err != nil {
		return nil, err
	}
	return &auth.Store{File: store.Private(TokensName), Keyring: &auth.Keyring{Getenv: e.Getenv}}, nil
}

// EnvName returns the environment variable of a flag: MCPC_MAX_TIME for max-time.
func EnvName(flag string) string {
	return "MCPC_" + strings.ToUpper(strings.ReplaceAll(flag, "-", "_"))
}
