package liveview

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	neturl "net/url"
	"strconv"
	"sync"
	"time"

	"mcpc/internal/cli/cmdutil"
	"mcpc/internal/cli/console"
	"mcpc/internal/live/view"
	"mcpc/internal/proxy"
	"mcpc/internal/render/term"
	"mcpc/internal/tty"
	"mcpc/internal/tui"
	"mcpc/internal/usage"
	"mcpc/internal/web"
	"mcpc/internal/wire"
)

// A Page configures the web page.
type Page struct {
	Port   int    // 0 selects a free port
	NoOpen bool   // start no browser
	Filter string // the initial filter
	Try    bool   // begin with what the view's own server offers
}

// A pageReader is the view.Reader of the page: a View that adds to tools how they are called.
type pageReader struct{ *View }

// Tools returns the tools of a query. If the page may call tools, each has the command that calls it.
func (p pageReader) Tools(ctx context.Context, q view.Query) ([]view.Tool, error) {
	tools, err := p.View.Tools(ctx, q)
	if p.Actor.Powers().Call {
		p.Actor.Describe(tools)
	}
	return tools, err
}

// Web serves the page until ctx ends, or until no page was open for half an hour. It returns nil
// only in the second case; a ctx that ended is a signal to the command.
func Web(ctx context.Context, f *cmdutil.Factory, v *View, p Page) error {
	listener, err := net.Listen("tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(p.Port)))
	if err != nil {
		return cmdutil.Exit(
			wire.Outcome{
				Kind: wire.LocalIO,
				Text: "listening for the page: " + err.Error(),
				Err:  err,
				Hint: "--port 0 takes a free port",
			},
		)
	}
	sandbox, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		listener.Close()
		return cmdutil.Exit(usage.LocalIO("listening for the frames of apps", err))
	}
	defer sandbox.Close()
	o := web.Options{
		Reader:   pageReader{v},
		Actor:    v.Actor,
		Listener: listener,
		Sandbox:  sandbox,
		Now:      f.Now,
		MaxHold:  proxy.MaxHold,
	}
	var consent *consentDesk
	if f.Interactive() {
		consent = newConsentDesk(f, v)
		o.Ask = consent.Ask
	}
	s, err := web.New(o)
	if err == nil {
		err = p.serve(ctx, f, s, consent)
	}
	if errors.Is(err, web.ErrIdle) {
		f.Note("no page was open for half an hour")
		return nil
	}
	if err != nil {
		return cmdutil.Exit(usage.LocalIO("serving the page", err))
	}
	return cmdutil.Exit(wire.Outcome{Kind: wire.Signal})
}

// newConsentDesk returns the desk that asks at the terminal for powers of the view. The caller sets
// printURL.
func newConsentDesk(f *cmdutil.Factory, v *View) *consentDesk {
	return &consentDesk{
		say:     f.Note,
		now:     f.Now,
		refused: map[string]time.Time{},
		grant:   v.Actor.grant,
		has:     v.Actor.hasPower,
		never: func(power string) error {
			if v.Status().File && power != "call" {
				return errors.New("the requests of a bundle or an HTTP archive are never sent")
			}
			return nil
		},
	}
}

// serve prints an address that admits one page. At a terminal, consent reads what the user types: Enter
// prints a new address.
func (p Page) serve(ctx context.Context, f *cmdutil.Factory, s *web.Server, consent *consentDesk) error {
	// When Serve returns, stop ends the goroutine that reads the terminal, and Wait waits for its end.
	ctx, stop := context.WithCancel(ctx)
	var keyReader sync.WaitGroup
	defer keyReader.Wait()
	defer stop()
	url := p.printURL(f, s)
	const note = "this address works for one page, within a minute; "
	if consent != nil {
		f.Note(note + "Enter prints a new address, Ctrl-C ends")
		consent.printURL = func() { p.printURL(f, s) }
		keyReader.Go(func() { consent.ReadLines(func() (string, error) { return f.Typist.Line(ctx) }) })
	} else {
		f.Note(note + "Ctrl-C ends")
	}
	if !p.NoOpen {
		p.openBrowser(f, url)
	}
	return s.Serve(ctx)
}

// printURL prints a new address of the page and returns it. The previous address becomes invalid.
func (p Page) printURL(f *cmdutil.Factory, s *web.Server) string {
	url := s.URL()
	state := neturl.Values{}
	if p.Filter != "" {
		state.Set("f", p.Filter)
	}
	if p.Try {
		state.Set("v", "try")
	}
	if len(state) > 0 {
		url += "&" + state.Encode()
	}
	fmt.Fprintln(f.Stdout(), url)
	return url
}

// openBrowser opens the page in a browser. If that fails, it asks the user to open it.
func (p Page) openBrowser(f *cmdutil.Factory, url string) {
	report := func(err error) { f.Note("cannot start a browser (" + err.Error() + "): open the address yourself") }
	if err := console.Browse(&f.Console, url, report); err != nil {
		report(err)
	}
}

// Terminal shows the view at the terminal until the user quits, which returns nil, or ctx ends,
// which counts as a signal. With try, the view begins with what its own server offers.
func Terminal(ctx context.Context, f *cmdutil.Factory, v *View, filter string, try bool) error {
	o := tui.Options{
		Reader:  v,
		Actor:   v.Actor,
		In:      f.In,
		Out:     tty.File(f.Out),
		NoColor: !f.OutStyle.Color,
		Now:     f.Now,
		MaxHold: proxy.MaxHold,
		Filter:  filter,
		Try:     try,
	}
	if f.HasEditor() {
		o.Edit = func(text string) (string, error) { return f.EditText(ctx, text) }
	}
	if f.Environ != nil {
		o.Env = f.Environ()
	}
	err := tui.Run(ctx, o)
	if ctx.Err() != nil || errors.Is(err, context.Canceled) {
		return cmdutil.Exit(wire.Outcome{Kind: wire.Signal})
	}
	if err != nil {
		return cmdutil.Exit(usage.LocalIO("showing the view", err))
	}
	return nil
}

// Quieten keeps the output of f from the screen until restore is called. restore prints the last
// part of it. No other goroutine may be using f.
func Quieten(f *cmdutil.Factory) (restore func()) {
	progress := f.Progress
	output := &lastBytes{}
	f.Progress = term.NewProgress(output, f.ErrStyle, f.Now)
	return func() {
		f.Progress = progress
		_, _ = f.Stderr().Write(output.text)
	}
}

// A lastBytes is a writer that keeps the last lines.
type lastBytes struct{ text []byte }

// maxLastBytes limits the bytes that a lastBytes keeps.
const maxLastBytes = 64 << 10

func (l *lastBytes) Write(text []byte) (int, error) {
	l.text = append(l.text, text...)
	if over := len(l.text) - maxLastBytes; over > 0 {
		l.text = l.text[over:]
		// The first line may have lost its beginning: drop the rest of it.
		l.text = l.text[bytes.IndexByte(l.text, '\n')+1:]
	}
	return len(text), nil
}
