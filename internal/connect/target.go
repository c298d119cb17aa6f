package connect

import (
	"cmp"
	"context"
	"errors"
	"io"
	"strings"

	"mcpc/internal/client"
	"mcpc/internal/client/transport"
	"mcpc/internal/connect/host"
	"mcpc/internal/demo"
	"mcpc/internal/redact"
	"mcpc/internal/shellwords"
	"mcpc/internal/sliceutil"
	"mcpc/internal/state"
	"mcpc/internal/suggest"
	"mcpc/internal/target"
	"mcpc/internal/usage"
	"mcpc/internal/wire"
)

// Find settles which server is meant.
func (c *Conn) Find(argv []string) wire.Outcome {
	store, err := state.Open(c.Env.State)
	var remembered state.State
	if err == nil {
		c.Store = store
		remembered, err = store.Load()
		c.names = remembered.Names()
	}
	if c.Env.ServerGiven && argv != nil {
		return usage.Outcome(usage.New("two servers are given: one with -s, one after --", "use only one of them"))
	}
	t, failed := target.Parse(target.Input{
		Command: argv, Flag: c.Env.Server, FlagGiven: c.Env.ServerGiven, Environment: c.Env.Getenv(host.EnvName("server")),
		Sessions: c.names, Current: remembered.Current(), Known: func() (names []string) { return c.Env.ConfiguredNames() },
	})
	if failed != nil {
		return unknownTarget(c.Env, failed)
	}
	// Without state a URL or a command still works; a session does not.
	if err != nil && (t.Kind == target.Session || t.Source == target.FromDefault) {
		return StateFailed(err)
	}
	if t.Kind == target.Session {
		saved, _ := remembered.Session(t.Name)
		c.Saved = &saved
		c.childDir = saved.Folder
		c.Env.Auth.Account = cmp.Or(c.Env.Auth.Account, saved.Account)
		if saved.From != nil {
			if out := c.FindOrigin(saved.From); !out.Good() {
				return out
			}
		}
	}
	if t.Kind == target.Known {
		s, out := c.Env.ServerNamed(t.Name)
		if !out.Good() {
			return out
		}
		c.Origin = &s
	}
	c.setTarget(t)
	return wire.Outcome{}
}

// setTarget notes how the target is called and under which key its revision is
// remembered.
func (c *Conn) setTarget(t target.Target) {
	c.Target = t
	switch t.Kind {
	case target.URL:
		c.Where, c.verdictKey = redact.RedactURL(t.URL), t.Key()
	case target.Command:
		c.Where, c.verdictKey = CommandLine(t.Command), t.Key()
	case target.Demo:
		c.Where = DemoEndpoint
	case target.Known:
		c.Where, c.verdictKey = t.Name, "known:"+c.Origin.ID()+"\n"+c.Origin.Fingerprint()
	default:
		c.Where = t.Name
	}
	if c.Saved == nil {
		c.OneOff = &state.Session{Endpoint: t.URL, Command: t.Command, Account: c.Env.Auth.Account, From: c.originOf()}
		if t.Kind == target.Demo {
			c.OneOff.Endpoint = DemoEndpoint
		}
	} else if c.Saved.Endpoint != "" && c.Saved.Endpoint != DemoEndpoint {
		c.Where = t.Name + ", " + redact.RedactURL(c.Saved.Endpoint)
	}
	c.Where = c.Env.Secrets.Text(c.Where)
}

// CommandLine is a command as it may be shown.
func CommandLine(argv []string) string {
	return strings.Join(QuotedWords(redact.RedactCommand(argv)), " ")
}

// DemoEndpoint names the built-in demo server in place of a URL.
const DemoEndpoint = "demo"

func (c *Conn) SetServer(opt *client.Options) {
	place := cmp.Or(c.Saved, c.OneOff)
	opt.Server = client.Server{Name: c.Where, Command: place.Command, Transport: transport.Name(place.Transport)}
	if place.Endpoint == DemoEndpoint {
		opt.Server.Pipe = DemoPipe
	} else if place.Endpoint != "" {
		opt.Server.URL = place.Endpoint
	}
	c.serverIn(opt)
}

// DemoPipe runs the built-in demo server inside this process.
func DemoPipe() (io.Reader, io.WriteCloser) {
	serverIn, clientOut := io.Pipe()
	clientIn, serverOut := io.Pipe()
	go func() {
		err := demo.Serve(context.Background(), serverIn, serverOut, demo.Options{})
		serverOut.CloseWithError(err)
	}()
	return clientIn, clientOut
}

// unknownTarget is the ending of a command whose target is unknown. It may be defined in
// a file that could not be read.
func unknownTarget(e *host.Env, err error) wire.Outcome {
	o := usage.Outcome(err)
	unknown, ok := errors.AsType[*target.UnknownError](err)
	from := ""
	text := e.Server
	if !e.ServerGiven {
		from, text = host.EnvName("server")+": ", e.Getenv(host.EnvName("server"))
	}
	what, hint := e.UI.MeantByPath(text)
	if what != "" {
		o.Text = from + "the server is neither a URL nor a name, but " + what
		o.Hint = hint
	}
	if !ok || what != "" {
		return o
	}
	var hints []string
	if hint != "" {
		hints = append(hints, string(hint))
	}
	if near := suggest.Nearest(unknown.Name, unknown.Known); near != "" {
		hints = append(hints, "did you mean "+near+"?")
	}
	if unknown.Source != target.FromSession {
		hints = append(hints, e.UnreadableFiles()...)
	}
	if len(hints) > 0 {
		o.Hint = wire.Hint(strings.Join(hints, "; "))
	}
	return o
}

func QuotedWords(words []string) []string { return sliceutil.Map(words, shellwords.Quote) }

// SetNetwork settles the way of a conversation by HTTP.
func (c *Conn) SetNetwork(opt *client.Options) error {
	if opt.Server.URL == "" {
		return nil
	}
	w, err := c.Env.NetworkFor(opt.Server.URL, cmp.Or(c.Saved, c.OneOff).Reach)
	if err != nil {
		return err
	}
	opt.TLS = w.TLS
	opt.Pins = w.Pins
	opt.Proxy = w.ProxyFunc
	return nil
}
