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

// askConsent asks the user whether the configured server may be used, unless it is trusted. Returns
// a failure if the user refuses or cannot be asked.
func (c *Conn) askConsent(ctx context.Context) wire.Outcome {
	s := *c.Origin
	if s.Problem != "" {
		return usage.Outcome(usage.New(fmt.Sprintf("%s cannot be used: %s", s.ID(), s.Problem),
			wire.Run("servers "+shellwords.Quote(s.ID()))+" shows its entry"))
	}
	standing := host.StandingOf(c.Env.Trusts(c.Store), s)
	isApprovedCard := c.card != nil && c.card.Approved
	c.Trusted = standing == host.Confirmed || isApprovedCard
	if c.Trusted || !host.AsksFirst(s, standing) {
		return wire.Outcome{}
	}
	what := "is not trusted yet"
	if standing == host.Changed {
		what = "changed since it was approved"
	}
	refused := wire.Outcome{
		Kind:       wire.Refused,
		ServerName: s.ID(),
		Phase:      "arguments",
		Text:       fmt.Sprintf("server %q from %s %s", s.Name, c.Env.Tilde(s.File), what),
		Hint:       wire.Run("servers trust "+shellwords.Quote(s.ID())) + " shows and approves it",
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
	case "yes":
		return wire.Outcome{}
	case "always":
		c.Trusted = true
		if err := c.Env.Trust(ctx, c.Store, s); err != nil {
			c.Env.WarnOfState("it could not be stored: " + err.Error())
		}
		return wire.Outcome{}
	}
	if ctx.Err() != nil { // Ctrl-C at the question is no answer
		return wire.Outcome{Kind: wire.Signal, Text: "interrupted"}
	}
	refused.Text = "the server was not approved"
	refused.Hint = "" // the user has just decided
	return refused
}

// FindOrigin sets c.Origin to the configured server of a session, which it reads from its file each
// time the session is used. It does not replace the variables in it. It fails if the file cannot be
// read or has no such server any more.
func (c *Conn) FindOrigin(from *state.Origin) wire.Outcome {
	missing := usage.Outcome(usage.New(fmt.Sprintf("%s is no longer in %s", from.Name, c.Env.Tilde(from.File)),
		wire.Run("close")+" removes the session; "+wire.Run("servers")+" lists configured servers"))
	if from.Entry != "" { // the server of a card: the session has its configuration
		servers := target.Servers(target.CardClient, from.File, from.Folder, json.RawMessage(from.Entry))
		if len(servers) != 1 { // an entry is one server, unless the state file was edited
			return missing
		}
		c.Origin = &servers[0]
		return wire.Outcome{}
	}
	owner, ok := target.ClientNamed(from.Client)
	if !ok {
		return missing
	}
	config := host.ConfigFile{Client: owner, Path: from.File}
	config.Read(from.Folder)
	if config.Err != nil {
		return usage.LocalIO("reading "+c.Env.Tilde(from.File), config.Err)
	}
	i := slices.IndexFunc(config.Servers, func(s target.Server) bool { return s.Name == from.Name })
	if i < 0 {
		return missing
	}
	c.Origin = &config.Servers[i]
	return wire.Outcome{}
}

// storedOrigin returns what a session stores about its configured server, or nil.
func (c *Conn) storedOrigin() *state.Origin {
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

// A CardServer is the server of a server card.
type CardServer struct {
	// Entry is the server's configuration as JSON, File the card, and Folder the folder that a
	// command runs in.
	Entry        json.RawMessage
	File, Folder string
	// Given are the values of secret inputs from the command line, by input id.
	Given map[string]string
	// Approved is set if the user approved the server on the command line.
	Approved bool
}

// findCard makes the server of a card the target. It works without the state directory: the server
// is then not remembered. It fails if the card's entry is not one server.
func (c *Conn) findCard(s *CardServer) wire.Outcome {
	if store, err := state.Open(c.Env.State); err == nil {
		c.Store = store
		if remembered, err := store.Load(); err == nil {
			c.sessionNames = remembered.Names()
		}
	}
	from := &state.Origin{Client: target.CardClient.Name, File: s.File, Folder: s.Folder, Entry: string(s.Entry)}
	out := c.FindOrigin(from)
	if out.OK() {
		c.card = s
		c.setTarget(target.Target{Kind: target.Known, Name: c.Origin.Name, Source: target.FromFlag})
	}
	return out
}

// SettleOrigin asks for consent to use the configured server, replaces its variables, and sets
// address, command and header fields. For a draft it does not ask and replaces no variable.
func (c *Conn) SettleOrigin(ctx context.Context, draft bool) wire.Outcome {
	if c.Origin == nil || c.originResolved {
		return wire.Outcome{}
	}
	s := *c.Origin
	if s.Client.Name != target.CardClient.Name { // the id of a card's server is not a value of -s
		c.Env.FromFile = s.ID()
	}
	c.Env.LearnServer(s) // before anything of it is shown
	if !draft {
		if out := c.askConsent(ctx); !out.OK() {
			return out
		}
		var err error
		s, err = c.resolveVariables(ctx)
		if err != nil {
			return c.explainUnresolved(ctx, err)
		}
		c.originResolved = true
		c.Env.LearnServer(s)
	}
	session := *c.ServerSession() // a copy: the stored session keeps no resolved variables
	session.Endpoint = s.URL
	session.Command = s.Command
	if s.URL != "" && !draft { // the URL of a draft may still have variables
		t, err := target.Parse(target.Input{Flag: s.URL})
		if err != nil {
			return usage.Outcome(usage.New(s.ID()+": "+err.Error(), wire.Hint("the file is "+c.Env.Tilde(s.File))))
		}
		session.Endpoint = t.URL
	}
	if c.Saved != nil {
		c.Saved = &session
	} else {
		c.OneOff = &session
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

// resolveVariables returns the configured server with the values of its variables. Values from the
// environment, the user or the command line are secrets from then on.
func (c *Conn) resolveVariables(ctx context.Context) (target.Server, error) {
	inputs := map[string]string{} // by id: an input that occurs twice is asked for once
	if c.card != nil {
		maps.Copy(inputs, c.card.Given)
		c.Env.Secrets.Learn(slices.Collect(maps.Values(inputs))...)
	}
	s, err := c.Origin.Resolved(target.Lookup{
		Home: cmp.Or(c.Env.Getenv("HOME"), c.Env.Getenv("USERPROFILE")),
		Env: func(name string) (string, bool) {
			value := c.Env.Getenv(name)
			c.Env.LearnValue(value)
			return value, value != ""
		},
		Input: func(in target.ClientInput) (string, error) {
			if value, ok := inputs[in.ID]; ok {
				return value, nil
			}
			value, err := c.Env.InputValue(ctx, in)
			inputs[in.ID] = value
			return value, err
		},
	})
	return s, err
}

// explainUnresolved returns the outcome if a variable of the configured server has no value: which
// variable is missing, or that the user interrupted the question for it.
func (c *Conn) explainUnresolved(ctx context.Context, err error) wire.Outcome {
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
	out.ServerName = c.Origin.ID()
	return out
}

// setProcess sets the environment and the folder of a server that is a command. A command that is
// not a configured server gets the environment of mcpc.
func (c *Conn) setProcess(opt *client.Options) {
	if len(opt.Server.Command) == 0 {
		return
	}
	environ := c.childEnv
	if environ == nil && c.Env.Environ != nil {
		environ = c.Env.Environ()
	}
	if c.Env.Mark != "" {
		environ = append(slices.Clip(environ), c.Env.Mark) // Clip: a copy, childEnv stays as it is
	}
	opt.Server.Env = c.Env.ChildEnviron(environ, opt.Server.Command)
	opt.Server.Dir = c.childDir
}

// WithFields returns the header fields of the configured server, followed by own. Fields in own
// replace the server's fields of the same name.
func (c *Conn) WithFields(own []wire.Field) []wire.Field {
	names := sliceutil.Map(own, func(f wire.Field) string { return f.Name })
	return append(host.WithoutFields(c.originHeaders, names...), own...)
}
