package connect

import (
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

// Find sets the target that argv, -s, the environment or the current session names. It opens the
// state directory, and reads a saved session or a configured server. It fails if the target is
// unknown, or if it is a session and the state directory cannot be read.
func (c *Conn) Find(argv []string) wire.Outcome {
	store, err := state.Open(c.Env.State)
	var remembered state.State
	if err == nil {
		c.Store = store
		remembered, err = store.Load()
		c.sessionNames = remembered.Names()
	}
	if c.Env.ServerGiven && argv != nil {
		return usage.Outcome(usage.New("two servers are given: one with -s, one after --", "use only one of them"))
	}
	t, failed := target.Parse(target.Input{
		Command:     argv,
		Flag:        c.Env.Server,
		FlagGiven:   c.Env.ServerGiven,
		Environment: c.Env.Getenv(host.EnvName("server")),
		Sessions:    c.sessionNames,
		Current:     remembered.Current(),
		Known:       c.Env.ConfiguredNames,
	})
	if failed != nil {
		return unknownTarget(c.Env, failed)
	}
	// URLs and commands work without the state directory, sessions do not. Without it, the default may
	// hide a current session.
	needsState := t.Kind == target.Session || t.Source == target.FromDefault
	if err != nil && needsState {
		return StateFailed(err)
	}
	if t.Kind == target.Session {
		saved, _ := remembered.Session(t.Name)
		c.Saved = &saved
		c.childDir = saved.Folder
		if c.Env.Auth.Account == "" {
			c.Env.Auth.Account = saved.Account
		}
		if saved.From != nil {
			if out := c.FindOrigin(saved.From); !out.OK() {
				return out
			}
		}
	}
	if t.Kind == target.Known {
		s, out := c.Env.ServerNamed(t.Name)
		if !out.OK() {
			return out
		}
		c.Origin = &s
	}
	c.setTarget(t)
	return wire.Outcome{}
}

// setTarget sets the target, its name for the user and the key that its revision is cached under.
// For a target other than a session it also sets c.OneOff.
func (c *Conn) setTarget(t target.Target) {
	c.Target = t
	switch t.Kind {
	case target.URL:
		c.Where = redact.RedactURL(t.URL)
		c.negotiatedKey = t.Key()
	case target.Command:
		c.Where = CommandLine(t.Command)
		c.negotiatedKey = t.Key()
	case target.Demo:
		c.Where = DemoEndpoint
	case target.Known:
		c.Where = t.Name
		c.negotiatedKey = "known:" + c.Origin.ID() + "\n" + c.Origin.Fingerprint()
	default:
		c.Where = t.Name
	}
	if c.Saved == nil {
		c.OneOff = &state.Session{Endpoint: t.URL, Command: t.Command, Account: c.Env.Auth.Account, From: c.storedOrigin()}
		if t.Kind == target.Demo {
			c.OneOff.Endpoint = DemoEndpoint
		}
	} else if c.Saved.Endpoint != "" && c.Saved.Endpoint != DemoEndpoint {
		c.Where = t.Name + ", " + redact.RedactURL(c.Saved.Endpoint)
	}
	c.Where = c.Env.Secrets.Text(c.Where)
}

// CommandLine returns a command as a line without secrets and the values of header fields.
func CommandLine(argv []string) string {
	return strings.Join(QuotedWords(redact.ShownCommand(argv)), " ")
}

// DemoEndpoint names the built-in demo server in place of a URL.
const DemoEndpoint = "demo"

// SetServer sets the server in opt.
func (c *Conn) SetServer(opt *client.Options) {
	session := c.ServerSession()
	opt.Server = client.Server{Name: c.Where, Command: session.Command, Transport: transport.Name(session.Transport)}
	if session.Endpoint == DemoEndpoint {
		opt.Server.Pipe = DemoPipe
	} else if session.Endpoint != "" {
		opt.Server.URL = session.Endpoint
	}
	c.setProcess(opt)
}

// DemoPipe starts the built-in demo server inside this process.
func DemoPipe() (io.Reader, io.WriteCloser) {
	serverIn, clientOut := io.Pipe()
	clientIn, serverOut := io.Pipe()
	go func() {
		err := demo.Serve(context.Background(), serverIn, serverOut, demo.Options{})
		serverOut.CloseWithError(err)
	}()
	return clientIn, clientOut
}

// unknownTarget returns the outcome of a command whose target is unknown. The hint names
// configuration files that could not be read: a file among them may define the target.
func unknownTarget(e *host.Env, err error) wire.Outcome {
	o := usage.Outcome(err)
	unknown, isUnknown := errors.AsType[*target.UnknownError](err)
	source := ""
	text := e.Server
	if !e.ServerGiven {
		source = host.EnvName("server") + ": "
		text = e.Getenv(host.EnvName("server"))
	}
	what, hint := e.UI.MeantByPath(text) // what is "" unless the text is a path or a command line
	if what != "" {
		o.Text = source + "the server is neither a URL nor a name, but " + what
		o.Hint = hint
		return o
	}
	if !isUnknown {
		return o
	}
	var hints []string
	if hint != "" { // the text is the name of a program, but could have been the name of a server
		hints = append(hints, string(hint))
	}
	if near := suggest.Nearest(unknown.Name, unknown.Known); near != "" {
		hints = append(hints, "did you mean "+near+"?")
	}
	if unknown.Source != target.FromSession { // sessions are in no configuration file
		hints = append(hints, e.UnreadableFiles()...)
	}
	if len(hints) > 0 {
		o.Hint = wire.Hint(strings.Join(hints, "; "))
	}
	return o
}

// QuotedWords quotes each word for a shell.
func QuotedWords(words []string) []string { return sliceutil.Map(words, shellwords.Quote) }

// SetNetwork sets TLS, pinned addresses and proxy for a server with a URL.
func (c *Conn) SetNetwork(opt *client.Options) error {
	if opt.Server.URL == "" {
		return nil
	}
	route, err := c.Env.NetworkFor(opt.Server.URL, c.ServerSession().Reach)
	if err != nil {
		return err
	}
	opt.TLS = route.TLS
	opt.Pins = route.Pins
	opt.Proxy = route.ProxyFunc
	return nil
}
