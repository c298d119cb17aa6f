package connect

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"

	"mcpc/internal/client"
	"mcpc/internal/connect/host"
	"mcpc/internal/shellwords"
	"mcpc/internal/sliceutil"
	"mcpc/internal/state"
	"mcpc/internal/target"
	"mcpc/internal/usage"
	"mcpc/internal/wire"
)

// consented asks, where that is needed, whether the server may be used.
func (c *Conn) consented(ctx context.Context) wire.Outcome {
	s := *c.Origin
	if s.Problem != "" {
		return usage.Outcome(
			usage.New(
				fmt.Sprintf("%s cannot be used: %s", s.ID(), s.Problem),
				wire.Run("servers "+shellwords.Quote(s.ID()))+" shows its entry",
			),
		)
	}
	now := host.StandingOf(c.Env.Trusts(c.Store), s)
	c.Trusted = now == host.Confirmed || c.card != nil && c.card.Approved
	if c.Trusted || !host.AsksFirst(s, now) {
		return wire.Outcome{}
	}
	what := "is not trusted yet"
	if now == host.Changed {
		what = "changed since it was approved"
	}
	refused := wire.Outcome{
		Kind:  wire.Refused,
		Where: s.ID(),
		Phase: "arguments",
		Text:  fmt.Sprintf("server %q from %s %s", s.Name, c.Env.Tilde(s.File), what),
		Hint:  wire.Run("trust "+shellwords.Quote(s.ID())) + " shows and approves it",
	}
	if s.Client.Name == target.CardClient.Name {
		refused.Hint = "--yes approves it without asking"
		if c.card == nil {
			refused.Hint = wire.Run("init --experimental --card "+shellwords.Quote(s.File)) + " shows and approves it"
		}
	}
	c.Env.UI.ShowServer(fmt.Sprintf("server %q from %s %s:", s.Name, s.Client.Title, what), s)
	if !c.Env.UI.Interactive() {
		return refused
	}
	question := "Connect to it?"
	if s.Kind == target.Stdio {
		question = "Run it?"
	}
	switch c.Env.UI.AskAlways(ctx, question, "/always for exactly this") {
	case "always":
		c.Trusted = true
		if err := c.Env.Trust(ctx, c.Store, s); err != nil {
			c.Env.WarnOfState("it could not be stored: " + err.Error())
		}
	case "yes":
	default:
		if ctx.Err() != nil {
			return wire.Outcome{Kind: wire.Signal, Text: "interrupted"}
		}
		refused.Text = "the server was not approved"
		refused.Hint = ""
		return refused
	}
	return wire.Outcome{}
}

// An origin is a server that another program's configuration names, on its way to be
// used: its variables get their values here, and nowhere before.

// FindOrigin reads where a session's server stands, each time anew.
func (c *Conn) FindOrigin(from *state.Origin) wire.Outcome {
	gone := usage.Outcome(usage.New(fmt.Sprintf("%s is no longer in %s", from.Name, c.Env.Tilde(from.File)),
		wire.Run("close")+" removes the session; "+wire.Run("servers")+" lists configured servers"))
	if from.Entry != "" {
		servers := target.Servers(target.CardClient, from.File, from.Folder, json.RawMessage(from.Entry))
		if len(servers) != 1 {
			return gone
		}
		c.Origin = &servers[0]
		return wire.Outcome{}
	}
	owner, ok := target.ClientNamed(from.Client)
	if !ok {
		return gone
	}
	f := host.ConfigFile{Client: owner, Path: from.File}
	f.Read(from.Folder)
	if f.Err != nil {
		return usage.LocalIO("reading "+c.Env.Tilde(from.File), f.Err)
	}
	i := slices.IndexFunc(f.Servers, func(s target.Server) bool { return s.Name == from.Name })
	if i < 0 {
		return gone
	}
	c.Origin = &f.Servers[i]
	return wire.Outcome{}
}

// originOf is what a session remembers of it.
func (c *Conn) originOf() *state.Origin {
	s := c.Origin
	if s == nil {
		return nil
	}
	from := &state.Origin{Client: s.Client.Name, File: s.File, Folder: s.Folder, Name: s.Name}
	if c.card != nil {
		from.Entry = string(c.card.Entry)
	}
	return from
}

// A CardServer is the server of a card, for Options.
type CardServer struct {
	// Entry is its configuration, as JSON, and File the card that it was made of; Folder is
	// where a command runs.
	Entry        json.RawMessage
	File, Folder string
	// Given are the values of secret inputs that were given on the command line.
	Given map[string]string
	// Approved is set where the user approved it on the command line.
	Approved bool
}

// findCard settles that the server of a card is meant.
func (c *Conn) findCard(s *CardServer) wire.Outcome {
	if store, err := state.Open(c.Env.State); err == nil {
		c.Store = store
		if remembered, err := store.Load(); err == nil {
			c.names = remembered.Names()
		}
	}
	out := c.FindOrigin(
		&state.Origin{Client: target.CardClient.Name, File: s.File, Folder: s.Folder, Entry: string(s.Entry)},
	)
	if out.Good() {
		c.card = s
		c.setTarget(target.Target{Kind: target.Known, Name: c.Origin.Name, Source: target.FromFlag})
	}
	return out
}

// SettleOrigin asks for consent and fills in what the file says. A draft of a request
// is made of it as it stands, without any value.
func (c *Conn) SettleOrigin(ctx context.Context, draft bool) wire.Outcome {
	if c.Origin == nil || c.originSettled {
		return wire.Outcome{}
	}
	s := *c.Origin
	if s.Client.Name != target.CardClient.Name {
		c.Env.FromFile = s.ID()
	}
	c.Env.LearnServer(s) // before anything of it is shown
	if !draft {
		if out := c.consented(ctx); !out.Good() {
			return out
		}
		var err error
		s, err = c.resolved(ctx)
		if err != nil {
			return c.unresolved(ctx, err)
		}
		c.originSettled = true
		c.Env.LearnServer(s)
	}
	place := *cmp.Or(c.Saved, c.OneOff)
	place.Endpoint = s.URL
	place.Command = s.Command
	if s.URL != "" && !draft {
		t, err := target.Parse(target.Input{Flag: s.URL})
		if err != nil {
			return usage.Outcome(usage.New(s.ID()+": "+err.Error(), wire.Hint("the file is "+c.Env.Tilde(s.File))))
		}
		place.Endpoint = t.URL
	}
	if c.Saved != nil {
		c.Saved = &place
	} else {
		c.OneOff = &place
	}
	c.childDir = s.Cwd
	if s.Helper != "" && !draft {
		c.Env.UI.Warn(
			s.ID() + " has " + s.Helper + ", a command that mcpc does not run: its header fields are missing; -H adds them",
		)
	}
	for _, h := range s.Headers {
		c.originHeaders = append(c.originHeaders, wire.Field{Name: h.Name, Value: h.Value})
	}
	if s.Kind != target.Stdio || draft {
		return wire.Outcome{}
	}
	environ, err := c.Env.ServerEnvironment(s)
	if err != nil {
		return usage.LocalIO("reading "+c.Env.Tilde(s.EnvFile), usage.Bare(err))
	}
	c.childEnv = environ
	return wire.Outcome{}
}

// resolved gives the variables of the server their values. Each that comes from
// elsewhere is a secret from here on.
func (c *Conn) resolved(ctx context.Context) (target.Server, error) {
	typed := map[string]string{}
	if c.card != nil {
		maps.Copy(typed, c.card.Given)
		c.Env.Secrets.Learn(slices.Collect(maps.Values(typed))...)
	}
	s, err := c.Origin.Resolved(target.Lookup{
		Home: cmp.Or(c.Env.Getenv("HOME"), c.Env.Getenv("USERPROFILE")),
		Env: func(name string) (string, bool) {
			value := c.Env.Getenv(name)
			c.Env.LearnValue(value)
			return value, value != ""
		},
		Input: func(in target.ClientInput) (string, error) {
			if value, ok := typed[in.ID]; ok {
				return value, nil
			}
			value, err := c.Env.InputValue(ctx, in)
			typed[in.ID] = value
			return value, err
		},
	})
	return s, err
}

// unresolved is the ending where a variable has no value.
func (c *Conn) unresolved(ctx context.Context, err error) wire.Outcome {
	if ctx.Err() != nil || errors.Is(err, context.Canceled) {
		return wire.Outcome{Kind: wire.Signal, Text: "interrupted"}
	}
	out := usage.Outcome(err)
	if missing, ok := errors.AsType[*target.VariableError](err); ok {
		out.Text = missing.Error() + "; the entry in " + c.Env.Tilde(c.Origin.File) + " uses it"
		if missing.Env != "" {
			out.Hint = wire.Hint("set " + missing.Env + " in the environment")
		}
	}
	out.Where = c.Origin.ID()
	return out
}

// serverIn puts the server of a file into the client's options.
func (c *Conn) serverIn(opt *client.Options) {
	if len(opt.Server.Command) > 0 {
		environ := c.childEnv
		if environ == nil && c.Env.Environ != nil {
			environ = c.Env.Environ() // the server gets the environment of the command
		}
		if c.Env.Mark != "" {
			environ = append(slices.Clip(environ), c.Env.Mark)
		}
		opt.Server.Env = environ
		opt.Server.Dir = c.childDir
	}
}

// WithFields are the header fields of the file, and the user's own, which win.
func (c *Conn) WithFields(own []wire.Field) []wire.Field {
	names := sliceutil.Map(own, func(f wire.Field) string { return f.Name })
	return append(host.WithoutFields(c.originHeaders, names...), own...)
}
