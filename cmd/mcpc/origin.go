package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"unicode"

	"mcpc/internal/client"
	"mcpc/internal/state"
	"mcpc/internal/target"
	"mcpc/internal/tty"
	"mcpc/internal/wire"
)

// An origin is a server that another program's configuration names, on its way to be
// used: its variables get their values here, and nowhere before.

// findOrigin reads where a session's server stands, each time anew.
func (c *conversation) findOrigin(from *state.Origin) wire.Outcome {
	gone := usage(hinted(fmt.Sprintf("%s is no longer in %s", from.Name, c.a.tilde(from.File)),
		wire.Run("close")+" removes the session; "+wire.Run("servers")+" lists configured servers"))
	owner, ok := target.ClientNamed(from.Client)
	if !ok {
		return gone
	}
	f := knownFile{client: owner, path: from.File}
	f.read(from.Folder)
	if f.err != nil {
		return localIO("reading "+c.a.tilde(from.File), f.err)
	}
	i := slices.IndexFunc(f.servers, func(s target.Server) bool { return s.Name == from.Name })
	if i < 0 {
		return gone
	}
	c.origin = &f.servers[i]
	return wire.Outcome{}
}

// originOf is what a session remembers of it.
func originOf(s *target.Server) *state.Origin {
	if s == nil {
		return nil
	}
	return &state.Origin{Client: s.Client.Name, File: s.File, Folder: s.Folder, Name: s.Name}
}

// settleOrigin asks for consent and fills in what the file says. A draft of a request
// is made of it as it stands, without any value.
func (c *conversation) settleOrigin(ctx context.Context, draft bool) wire.Outcome {
	if c.origin == nil || c.settled {
		return wire.Outcome{}
	}
	s := *c.origin
	c.a.fromFile = s.ID()
	c.a.learnServer(s) // before anything of it is shown
	if !draft {
		if out := c.consented(ctx); !out.Good() {
			return out
		}
		var err error
		if s, err = c.resolved(ctx); err != nil {
			return c.unresolved(ctx, err)
		}
		c.settled = true
		c.a.learnServer(s)
	}
	place := *cmp.Or(c.saved, c.oneOff)
	place.Endpoint, place.Command = s.URL, s.Command
	if s.URL != "" && !draft {
		t, err := target.Parse(target.Input{Flag: s.URL})
		if err != nil {
			return usage(hinted(s.ID()+": "+err.Error(), wire.Hint("the file is "+c.a.tilde(s.File))))
		}
		place.Endpoint = t.URL
	}
	if c.saved != nil {
		c.saved = &place
	} else {
		c.oneOff = &place
	}
	c.child.dir = s.Cwd
	for _, h := range s.Headers {
		c.headers = append(c.headers, wire.Field{Name: h.Name, Value: h.Value})
	}
	if s.Kind != target.Stdio || draft {
		return wire.Outcome{}
	}
	environ, err := c.a.environment(s)
	if err != nil {
		return localIO("reading "+c.a.tilde(s.EnvFile), bare(err))
	}
	c.child.env = environ
	return wire.Outcome{}
}

// resolved gives the variables of the server their values. Each that comes from
// elsewhere is a secret from here on.
func (c *conversation) resolved(ctx context.Context) (target.Server, error) {
	typed := map[string]string{}
	s, err := c.origin.Resolved(target.Lookup{
		Home: cmp.Or(c.a.getenv("HOME"), c.a.getenv("USERPROFILE")),
		Env: func(name string) (string, bool) {
			value := c.a.getenv(name)
			c.a.learnValue(value)
			return value, value != ""
		},
		Input: func(in target.Asked) (string, error) {
			if value, ok := typed[in.ID]; ok {
				return value, nil
			}
			value, err := c.a.inputValue(ctx, in)
			typed[in.ID] = value
			return value, err
		},
	})
	return s, err
}

// learnServer hides what a server's entry holds, wherever it turns up.
func (a *env) learnServer(s target.Server) {
	for _, e := range s.Env {
		a.secrets.LearnEnvironment([]string{e.Name + "=" + e.Value})
		a.learnValue(e.Value)
	}
	for _, h := range s.Headers {
		a.secrets.LearnField(wire.Field{Name: h.Name, Value: h.Value})
		a.secrets.Learn(h.Value)
	}
	a.secrets.LearnURL(s.URL)
	a.secrets.LearnCommand(s.Command)
}

// learnValue hides a value everywhere, unless it is plainly none to hide.
func (a *env) learnValue(value string) {
	plain := strings.IndexFunc(value, func(r rune) bool { return !unicode.IsLower(r) }) < 0 ||
		strings.Trim(value, "0123456789.:") == "" || filepath.IsAbs(value) || strings.HasPrefix(value, "~/")
	switch {
	case plain:
	case strings.Contains(value, "://"):
		a.secrets.LearnURL(value)
	default:
		a.secrets.Learn(value)
	}
}

// inputEnv is the variable that stands for an input where nobody can be asked.
func inputEnv(id string) string {
	return envName("input-" + strings.Map(func(r rune) rune {
		if unicode.IsLetter(r) || unicode.IsDigit(r) {
			return r
		}
		return '_'
	}, id))
}

// inputValue is what the variable or the person says.
func (a *env) inputValue(ctx context.Context, in target.Asked) (string, error) {
	value := a.getenv(inputEnv(in.ID))
	if value == "" {
		if !a.ui.interactive() {
			return "", hinted(fmt.Sprintf("%s must be entered when the server starts, and there is no terminal", in.ID), wire.Hint(inputEnv(in.ID)+"=VALUE sets it"))
		}
		prompt := cmp.Or(in.Description, in.ID)
		if len(in.Options) > 0 {
			prompt += " (" + strings.Join(in.Options, ", ") + ")"
		}
		if in.Default != "" {
			prompt += " [" + in.Default + "]"
		}
		var err error
		if value, err = a.ui.typedLine(ctx, prompt, in.Secret); err != nil {
			return "", err
		}
		value = cmp.Or(value, in.Default)
	}
	if in.Secret {
		a.secrets.Learn(value)
	}
	if len(in.Options) > 0 && !slices.Contains(in.Options, value) {
		return "", hinted(in.ID+" is none of its values", wire.Hint("it is one of "+strings.Join(in.Options, ", ")))
	}
	return value, nil
}

// typedLine asks the person for a line, which is not seen where it is secret.
func (a *app) typedLine(ctx context.Context, prompt string, secret bool) (string, error) {
	if secret {
		a.hidden.Store(true)
		defer a.hidden.Store(false)
		show, err := tty.Hide(a.in)
		if err != nil {
			return "", err
		}
		defer show()
	}
	fmt.Fprintf(a.stderr(), "%s: ", a.errStyle.Line(prompt))
	line, err := a.typist.line(ctx)
	if secret {
		fmt.Fprintln(a.stderr()) // the terminal's own was hidden, too
	}
	a.progress.Newline()
	return line, err
}

// unresolved is the ending where a variable has no value.
func (c *conversation) unresolved(ctx context.Context, err error) wire.Outcome {
	if ctx.Err() != nil || errors.Is(err, context.Canceled) {
		return wire.Outcome{Kind: wire.Signal, Text: "interrupted"}
	}
	out := usage(err)
	if missing, ok := errors.AsType[*target.VariableError](err); ok {
		out.Text = missing.Error() + ", and " + c.a.tilde(c.origin.File) + " is the server's value"
		if missing.Env != "" {
			out.Hint = wire.Hint("set " + missing.Env + " in the environment")
		}
	}
	out.Where = c.origin.ID()
	return out
}

// inherited are the variables that a server of a file is given of mcpc's own
// environment, beside what the file says: what programs need to run, and no token
// that happens to lie there.
var inherited = []string{"PATH", "HOME", "USER", "LOGNAME", "SHELL", "LANG", "LANGUAGE", "TERM", "TMPDIR", "TZ",
	"XDG_CACHE_HOME", "XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_STATE_HOME", "XDG_RUNTIME_DIR",
	"HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY", "http_proxy", "https_proxy", "all_proxy", "no_proxy",
	"SSL_CERT_FILE", "SSL_CERT_DIR", "NODE_EXTRA_CA_CERTS", "REQUESTS_CA_BUNDLE"}

var inheritedOnWindows = []string{"APPDATA", "LOCALAPPDATA", "HOMEDRIVE", "HOMEPATH", "USERPROFILE", "USERNAME", "PROGRAMFILES",
	"PROGRAMDATA", "SYSTEMROOT", "SYSTEMDRIVE", "WINDIR", "COMSPEC", "PATHEXT", "TEMP", "TMP", "PROCESSOR_ARCHITECTURE"}

// environment is what a server's process gets.
func (a *env) environment(s target.Server) ([]string, error) {
	var all []string
	put := func(name, value string) { all = append(all, name+"="+value) }
	names := slices.Concat(inherited, s.Passed)
	if runtime.GOOS == "windows" {
		names = append(names, inheritedOnWindows...)
	}
	for _, name := range names {
		if value := a.getenv(name); value != "" {
			put(name, value)
		}
	}
	for _, entry := range a.environ() {
		if strings.HasPrefix(entry, "LC_") {
			all = append(all, entry)
		}
	}
	for _, name := range s.Passed {
		if value := a.getenv(name); value == "" {
			a.ui.warn(fmt.Sprintf("%s stores %s in a keyring or another place that mcpc does not read; set the variable instead", s.Client.Title, name))
		} else {
			a.learnValue(value)
		}
	}
	if s.EnvFile != "" {
		raw, err := readRegular(s.EnvFile)
		if err != nil {
			return nil, err
		}
		for _, e := range dotenv(string(raw)) {
			a.learnValue(e.Value)
			put(e.Name, e.Value)
		}
	}
	for _, e := range s.Env {
		put(e.Name, e.Value)
	}
	return all, nil
}

// dotenv reads lines of NAME=VALUE, as editors do: quotes and an "export" before
// them are taken away, and nothing in a value is a variable.
func dotenv(text string) (all []target.Setting) {
	for _, line := range strings.Split(text, "\n") {
		line = strings.TrimSpace(line)
		name, value, ok := strings.Cut(strings.TrimPrefix(line, "export "), "=")
		name, value = strings.TrimSpace(name), strings.TrimSpace(value)
		if !ok || name == "" || strings.HasPrefix(line, "#") {
			continue
		}
		if n := len(value); n > 1 && (value[0] == '"' || value[0] == '\'') && value[n-1] == value[0] {
			value = value[1 : n-1]
		}
		all = append(all, target.Setting{Name: name, Value: value})
	}
	return all
}

// serverIn puts the server of a file into the client's options.
func (c *conversation) serverIn(opt *client.Options) {
	if len(opt.Server.Command) > 0 {
		opt.Server.Env, opt.Server.Dir = c.child.env, c.child.dir
	}
}

// withFields are the header fields of the file, and the user's own, which win.
func (c *conversation) withFields(own []wire.Field) []wire.Field {
	names := mapped(own, func(f wire.Field) string { return f.Name })
	return append(without(c.headers, names...), own...)
}
