package main

import (
	"context"
	"fmt"
	"net"
	"os/exec"
	"os/signal"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"mcpc/internal/client"
	"mcpc/internal/serve"
	"mcpc/internal/wire"
)

// mockOptions are what `mcpc mock` was asked.
type mockOptions struct {
	script string
	listen string
	stdio  bool
}

func newMock(a *app) *cobra.Command {
	var o mockOptions
	cmd := &cobra.Command{
		Use:   "mock --script FILE",
		Short: "run a scripted mock server (fault injection)",
		Long: `Run a mock server from a script, to test how a client handles faults. Without
rules the mock behaves like a correct server; the script lists the differences.
This is fault.txt of the examples below:

    speaks ` + client.Revisions()[1] + `
    tool echo {"type":"object"}

    on tools/call #2
        error -32000 out of order

It supports that revision, has one tool, and responds to the second call with an
error. An action that the transport does not support, such as status with
--stdio, is an error at the start. mcpc help mock-scripts describes all of it.`,
		Example: `  mcpc mock --script fault.txt --listen 127.0.0.1:3001
  mcpc list -- mcpc mock --script fault.txt --stdio
  mcpc info -vv -- mcpc mock --script fault.txt --stdio`,
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := a.noArguments(cmd, args); err != nil {
				return err
			}
			return a.mock(cmd.Context(), o)
		},
	}
	f := cmd.Flags()
	f.StringVar(&o.script, "script", "", "script `file`, or - for stdin")
	f.StringVar(&o.listen, "listen", "127.0.0.1:3001", "HTTP listen `addr`ess, loopback only; port 0: a free one")
	f.BoolVar(&o.stdio, "stdio", false, "use stdio")
	return cmd
}

func mockWords() string {
	var b strings.Builder
	for _, w := range serve.Words {
		does := w[2]
		if w[1] != "" {
			does = w[1] + ": " + does
		}
		helpRow(&b, fmt.Sprintf("    %-28s ", w[0]), does)
	}
	return b.String()
}

func (a *app) mock(ctx context.Context, o mockOptions) error {
	if o.script == "" {
		return hinted("mock needs a script", "use --script FILE; "+wire.Run("help mock-scripts")+" describes it")
	}
	text, _, err := a.input("@" + o.script) // - is standard input
	if err != nil {
		return err
	}
	script, err := serve.Parse(string(text))
	if err != nil {
		return hinted(o.script+": "+err.Error(), "see "+wire.Run("help mock-scripts"))
	}
	if err := a.fitting(script, o); err != nil {
		return err
	}
	if o.stdio {
		// It waits for its input, which no signal interrupts: it just dies of one.
		a.mockStdio(ctx, script)
		return nil
	}
	a.talking.Store(true)
	a.mockHTTP(ctx, script, o.listen)
	return nil
}

// fitting refuses a script that the transport cannot play, and says what of it will not
// come about.
func (a *app) fitting(script *serve.Script, o mockOptions) error {
	over, hint := serve.OverHTTP, wire.Hint("use --stdio for stdio")
	if o.stdio {
		over, hint = serve.OverStdio, "use --listen instead of --stdio for HTTP"
	}
	idle, err := script.Fits(over)
	for _, rule := range idle {
		a.warn(o.script + ": " + rule.Error())
	}
	if err != nil {
		return hinted(o.script+": "+err.Error(), hint)
	}
	return nil
}

func (a *app) mockStdio(ctx context.Context, script *serve.Script) {
	err := script.Stdio(ctx, serve.Process{
		In: a.in, Out: a.out, Err: a.err, Exit: a.leave,
		Kill:       func(name string) { raise(killedBy[name]) },
		IgnoreTerm: func() { signal.Ignore(syscall.SIGTERM) },
		Fork:       a.leaveBehind,
	})
	if err != nil {
		a.end(localIO("the mock", err))
	}
}

var killedBy = map[string]syscall.Signal{
	"TERM": syscall.SIGTERM, "KILL": syscall.SIGKILL, "SEGV": syscall.SIGSEGV, "ABRT": syscall.SIGABRT,
}

// leaveBehind starts a process that holds this one's standard streams.
func (a *app) leaveBehind(d time.Duration) {
	sleep := exec.Command("sleep", fmt.Sprint(d.Seconds()))
	sleep.Stdin, sleep.Stdout, sleep.Stderr = a.in, a.out, a.err
	if err := sleep.Start(); err != nil {
		a.warn("fork: " + err.Error())
	}
}

func (a *app) mockHTTP(ctx context.Context, script *serve.Script, address string) {
	listener, out := listenLoopback(address)
	if !out.Good() {
		a.end(out)
		return
	}
	scheme := "http"
	if script.TLS != "" {
		scheme = "https"
	}
	a.note(fmt.Sprintf("listening on %s://%s/mcp; Ctrl-C stops", scheme, listener.Addr()))
	if err := script.HTTP(ctx, listener, nil); err != nil {
		a.end(localIO("serving", err))
		return
	}
	a.end(wire.Outcome{Kind: wire.Signal})
}

// listenLoopback opens a port for a server that asks nobody who they are.
func listenLoopback(address string) (net.Listener, wire.Outcome) {
	host, port, err := net.SplitHostPort(address)
	if err != nil {
		hint := "--listen 127.0.0.1:3001"
		if _, err := strconv.ParseUint(address, 10, 16); err == nil {
			hint = "--listen 127.0.0.1:" + address
		}
		return nil, usage(hinted(fmt.Sprintf("--listen must be HOST:PORT, not %q", address), wire.Hint(hint)))
	}
	if ip := net.ParseIP(host); host != "localhost" && (ip == nil || !ip.IsLoopback()) {
		return nil, wire.Outcome{Kind: wire.Refused, Text: fmt.Sprintf("the listen address must be loopback, not %q", host),
			Hint: wire.Hint("--listen 127.0.0.1:" + port)}
	}
	listener, err := net.Listen("tcp", address)
	if err != nil {
		return nil, wire.Outcome{Kind: wire.LocalIO, Text: "listening on " + address + ": " + err.Error(), Err: err,
			Hint: "--listen 127.0.0.1:0 takes a free port"}
	}
	return listener, wire.Outcome{}
}
