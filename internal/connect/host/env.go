// Package host has what a program needs of the world before it connects to a server: the
// settings of a connection, how the user is told and asked (UI), the servers that
// the configurations of other programs name, the user's consent to them, credentials, the
// network, the state directory, and the recording of the traffic. Env holds all of it for one
// invocation of a command; package connect dials with it. The name is the specification's: a
// host is the program that creates clients and asks for the user's consent.
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

// Env is what one invocation of a command connects with: its settings, the outside world,
// and what the invocations of a process have in common. A copy has settings of its own.
type Env struct {
	// The settings of a connection, as the flags of all commands give them.
	Server string
	// ServerGiven tells an empty -s from none.
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
	// AccountTyped is set where --account stands on the command line, whose hints carry it.
	AccountTyped bool
	NoInput      bool
	Confirm      string
	// Fresh is set if no list that an earlier command fetched is used.
	Fresh   bool
	Answers Answers
	Network NetworkFlags
	Index   int
	Strict  bool

	// UI tells and asks the user.
	UI      UI
	Getenv  func(string) string
	Environ func() []string
	// Mark is a variable, NAME=VALUE, that the processes of all servers get; "" is none.
	Mark    string
	Now     func() time.Time
	Version string
	// Program is the file of mcpc; "" is that of the process.
	Program string
	// Args are those of the command, without the name of the program.
	Args []string
	// Asker returns what answers the requests of server; person is set where the user can be
	// asked. Without an Asker, the server is offered nothing.
	Asker func(env *Env, server Server, flags Answers, person bool) (client.Asker, error)
	*Shared

	// LearnsAtOnce is set where what the command says of the server goes to a file or a report: the secrets
	// in a frame are known before anything reads it, and not only once it is recorded.
	LearnsAtOnce bool
}

// Shared is what the invocations of a process have in common: secrets, recording, and what
// was found out while connecting. The zero value is ready to use.
type Shared struct {
	// Secrets are what no frame and no recording may show.
	Secrets redact.Secrets
	Record  Recording
	// Talking is set while there is a connection that must be closed in order.
	Talking atomic.Bool
	// Watch is shown every frame as it crosses; nil shows none.
	Watch atomic.Pointer[wire.Tap]
	// Trace is how the process takes part in a distributed trace.
	Trace Tracing
	// Ballast is what spareCollections has put on the heap, nil before.
	Ballast []byte
	// Known are the configurations of other programs, nil before they are read.
	Known *[]ConfigFile

	// Guard adds credentials to requests; nil where the connection is not by HTTP.
	Guard *auth.Transport
	// Held is the session of the command where its server lives on between commands,
	// and heldUsed when it was used last.
	Held     *state.Session
	HeldUsed time.Time
	// Route leads to the server of the command; nil before one is settled.
	Route *Network
	// FromFile is the server of one of the known configurations that the command went
	// to, or "".
	FromFile string
}

// Tracing is how a process takes part in a distributed trace. The zero value passes on the
// context of its environment.
type Tracing struct {
	// Meta returns the members of _meta for one request; nil where the process makes no spans.
	Meta func() []jsonraw.Member
	// Trace and Span are the hexadecimal ids of the span of the command, "" where it has none.
	Trace, Span string
	// Tap is shown every frame as it crosses, with its secrets; nil shows none. Lost says that
	// frames were left out, Fail how a request ended that got no answer; they are there if Tap is.
	Tap  wire.Tap
	Lost func()
	Fail func(wire.Outcome)
}

// A Server is the one whose requests an Asker answers.
type Server interface {
	// Label names it for the user: its title, name and version, and where it is.
	Label() string
	// AddTyped notes what the user typed into a form, for a call that is saved.
	AddTyped(content json.RawMessage)
}

// UI tells the user what happens while a command runs, and asks what only the user knows.
type UI interface {
	Note(text string)
	Warn(text string)
	// NameServer settles how the commands in hints name the server, once its secrets are
	// known; HintText is a hint as it is shown.
	NameServer(argv []string)
	HintText(hint wire.Hint) string

	// ShowProgress shows a notifications/progress, if ShowsProgress reports true; ShowLog
	// shows a notifications/message, and Waiting what a task is doing and what Ctrl-C does.
	ShowsProgress() bool
	ShowProgress(params jsonraw.Members)
	ShowLog(level, logger string, data json.RawMessage)
	Waiting(text, ctrlC string)
	// Stderr is the standard error of programs that are started for the user.
	Stderr() io.Writer

	// Interactive reports whether the user can be asked, CanAsk whether also while a
	// request runs.
	Interactive() bool
	CanAsk() bool
	// AskAlways puts a question that may be answered for good, with "yes", "no" or "always".
	AskAlways(ctx context.Context, question, always string) string
	// TypedLine asks for a line, which is not shown where it is secret.
	TypedLine(ctx context.Context, prompt string, secret bool) (string, error)
	// Input returns the text that an argument denotes: itself, @FILE, or - for standard
	// input.
	Input(arg string) (raw []byte, from string, err error)
	// MeantByPath is what a text is that names no server but something on this machine, and
	// a hint for it.
	MeantByPath(text string) (what string, hint wire.Hint)
	// ShowServer shows what a configuration says of a server that has to be confirmed.
	ShowServer(headline string, s target.Server)
	// ShowChanges shows what changed in the definition of a tool that was approved: as a note
	// (wire.Info), or before the user is asked (wire.Warning).
	ShowChanges(level wire.Level, headline string, changes []diff.Change)
	// OfferLogin offers to log in where a server asks for it, and reports whether that
	// was done.
	OfferLogin(ctx context.Context, r auth.Refusal) (bool, error)
	// FillArguments asks for arguments of a tool; nil is nothing.
	FillArguments(ctx context.Context, tool string, form question.Form, check FormCheck) map[string]json.RawMessage
	// FillForm, VisitPage and WriteMessage have the user answer a request of the server.
	FillForm(ctx context.Context, q client.Asking, from string, check FormCheck) client.Answer
	VisitPage(ctx context.Context, q client.Asking, from string) client.Answer
	WriteMessage(ctx context.Context, q client.Asking, from string) client.Answer
}

// FormCheck holds a value against the schema of a form.
type FormCheck func(schema, value json.RawMessage) []wire.Finding

// Executable returns the file of mcpc, for a process of its own.
func (e *Env) Executable() (string, error) {
	if e.Program != "" {
		return e.Program, nil
	}
	return os.Executable()
}

// TraceMeta returns what puts each request into a distributed trace: a span of its own where the
// process makes spans, otherwise the context in TRACEPARENT, TRACESTATE and BAGGAGE; nil where
// there is none.
func TraceMeta(e *Env) func() []jsonraw.Member {
	if e.Trace.Meta != nil || e.Getenv == nil {
		return e.Trace.Meta
	}
	parent, ok := telemetry.ParseContext(e.Getenv("TRACEPARENT"), e.Getenv("TRACESTATE"))
	if !ok {
		return nil
	}
	members := parent.Meta(e.Getenv("BAGGAGE"))
	return func() []jsonraw.Member { return members }
}

func (e *Env) LoadState() (*state.Store, state.State, error) {
	store, err := state.Open(e.State)
	if err != nil {
		return nil, state.State{}, err
	}
	st, err := store.Load()
	return store, st, err
}

// TokensName is the file of the tokens within the state's directory.
const TokensName = "auth.json"

// Tokens opens the store of the tokens. The login settles where new ones are kept.
func (e *Env) Tokens() (*auth.Store, error) {
	store, err := state.Open(e.State)
	if err != nil {
		return nil, err
	}
	return &auth.Store{File: store.Private(TokensName), Keyring: &auth.Keyring{Getenv: e.Getenv}}, nil
}

func EnvName(flag string) string {
	return "MCPC_" + strings.ToUpper(strings.ReplaceAll(flag, "-", "_"))
}
