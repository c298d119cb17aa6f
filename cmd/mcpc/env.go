package main

import (
	"context"
	"encoding/json"
	"io"
	"sync/atomic"
	"time"

	"mcpc/internal/client"
	"mcpc/internal/client/auth"
	"mcpc/internal/question"
	"mcpc/internal/state"
	"mcpc/internal/target"
	"mcpc/internal/wire"
)

// env is what the connections of one command have in common: the settings, the outside
// world, and what was found out while connecting.
type env struct {
	settings
	// ui tells and asks the user.
	ui      ui
	getenv  func(string) string
	environ func() []string
	now     func() time.Time
	version string
	// args are those of the program, without its name.
	args []string
	// secrets are what no frame and no recording may show.
	secrets wire.Secrets
	record  record
	// talking is set while there is a connection that must be closed in order.
	talking atomic.Bool
	// asker makes what answers the requests of a server; person is set where the user can
	// be asked.
	asker func(c *conversation, flags answering, person bool) (client.Asker, error)
	// watch is shown every frame as it crosses; nil shows none.
	watch atomic.Pointer[wire.Tap]
	// ballast is what spareCollections has put on the heap, nil before.
	ballast []byte
	// accountTyped is set where --account stands on the command line, whose hints carry it.
	accountTyped bool
	// known are the configurations of other programs, nil before they are read.
	known *[]knownFile
	dialState
}

// dialState is what is known of the server of a command while it is being connected to.
type dialState struct {
	// guard adds credentials to requests; nil where the connection is not by HTTP.
	guard *auth.Guard
	// held is the session of the command where its server lives on between commands,
	// and heldUsed when it was used last.
	held     *state.Session
	heldUsed time.Time
	// way leads to the server of the command; nil before one is settled.
	way *way
	// fromFile is the server of one of the known configurations that the command went
	// to, or "".
	fromFile string
}

// ui tells the user what happens while a command runs, and asks what only the user knows.
type ui interface {
	note(text string)
	warn(text string)
	// nameServer settles how the commands in hints name the server, once its secrets are
	// known; hintText is a hint as it is shown.
	nameServer(argv []string)
	hintText(hint wire.Hint) string

	// showProgress shows a notifications/progress, showLog a notifications/message, and
	// waiting what a task is doing and what Ctrl-C does.
	showProgress(params wire.Members)
	showLog(level, logger string, data json.RawMessage)
	waiting(text, ctrlC string)
	// stderr is the standard error of programs that are started for the user.
	stderr() io.Writer

	// interactive reports whether the user can be asked, canAsk whether also while a
	// request runs.
	interactive() bool
	canAsk() bool
	// ask puts a question to which the answer is no unless it is yes; askAlways one
	// that may be answered for good, with "yes", "no" or "always".
	ask(ctx context.Context, question string) bool
	askAlways(ctx context.Context, question, always string) string
	// typedLine asks for a line, which is not shown where it is secret.
	typedLine(ctx context.Context, prompt string, secret bool) (string, error)
	// input is the text that an argument stands for: itself, @FILE, or - for standard
	// input.
	input(arg string) (raw []byte, from string, err error)
	// meantByPath is what a text is that names no server but something on this machine, and
	// a hint for it.
	meantByPath(text string) (what string, hint wire.Hint)
	// showServer shows what a configuration says of a server that has to be confirmed.
	showServer(headline string, s target.Server)
	// offerLogin offers to log in where a server asks for it, and reports whether that
	// was done.
	offerLogin(ctx context.Context, r auth.Refusal) (bool, error)
	// fillArguments asks for arguments of a tool; nil is nothing.
	fillArguments(ctx context.Context, tool string, form question.Form, check formCheck) map[string]json.RawMessage
	// fillForm, visitPage and writeMessage have the user answer a request of the server.
	fillForm(ctx context.Context, q client.Asking, from string, check formCheck) client.Answer
	visitPage(ctx context.Context, q client.Asking, from string) client.Answer
	writeMessage(ctx context.Context, q client.Asking, from string) client.Answer
}

// formCheck holds a value against the schema of a form.
type formCheck func(schema, value json.RawMessage) []wire.Finding
