package connect

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
	"mcpc/internal/sliceutil"
	"mcpc/internal/state"
	"mcpc/internal/target"
	"mcpc/internal/usage"
	"mcpc/internal/wire"
)

func Without(fields []wire.Field, names ...string) []wire.Field {
	return slices.DeleteFunc(slices.Clone(fields), func(f wire.Field) bool {
		return slices.ContainsFunc(names, func(name string) bool { return strings.EqualFold(name, f.Name) })
	})
}

// An origin is a server that another program's configuration names, on its way to be
// used: its variables get their values here, and nowhere before.

// FindOrigin reads where a session's server stands, each time anew.
func FindOrigin(c *Conn, from *state.Origin) wire.Outcome {
	gone := usage.Outcome(usage.New(fmt.Sprintf("%s is no longer in %s", from.Name, Tilde(c.Env, from.File)),
		wire.Run("close")+" removes the session; "+wire.Run("servers")+" lists configured servers"))
	owner, ok := target.ClientNamed(from.Client)
	if !ok {
		return gone
	}
	f := ConfigFile{Client: owner, Path: from.File}
	f.read(from.Folder)
	if f.Err != nil {
		return usage.LocalIO("reading "+Tilde(c.Env, from.File), f.Err)
	}
	i := slices.IndexFunc(f.Servers, func(s target.Server) bool { return s.Name == from.Name })
	if i < 0 {
		return gone
	}
	c.Origin = &f.Servers[i]
	return wire.Outcome{}
}

// originOf is what a session remembers of it.
func originOf(s *target.Server) *state.Origin {
	if s == nil {
		return nil
	}
	return &state.Origin{Client: s.Client.Name, File: s.File, Folder: s.Folder, Name: s.Name}
}

// SettleOrigin asks for consent and fills in what the file says. A draft of a request
// is made of it as it stands, without any value.
func SettleOrigin(ctx context.Context, c *Conn, draft bool) wire.Outcome {
	if c.Origin == nil || c.settled {
		return wire.Outcome{}
	}
	s := *c.Origin
	c.Env.fromFile = s.ID()
	learnServer(c.Env, s) // before anything of it is shown
	if !draft {
		if out := consented(ctx, c); !out.Good() {
			return out
		}
		var err error
		if s, err = resolved(ctx, c); err != nil {
			return unresolved(ctx, c, err)
		}
		c.settled = true
		learnServer(c.Env, s)
	}
	place := *cmp.Or(c.Saved, c.OneOff)
	place.Endpoint, place.Command = s.URL, s.Command
	if s.URL != "" && !draft {
		t, err := target.Parse(target.Input{Flag: s.URL})
		if err != nil {
			return usage.Outcome(usage.New(s.ID()+": "+err.Error(), wire.Hint("the file is "+Tilde(c.Env, s.File))))
		}
		place.Endpoint = t.URL
	}
	if c.Saved != nil {
		c.Saved = &place
	} else {
		c.OneOff = &place
	}
	c.child.dir = s.Cwd
	for _, h := range s.Headers {
		c.headers = append(c.headers, wire.Field{Name: h.Name, Value: h.Value})
	}
	if s.Kind != target.Stdio || draft {
		return wire.Outcome{}
	}
	environ, err := environment(c.Env, s)
	if err != nil {
		return usage.LocalIO("reading "+Tilde(c.Env, s.EnvFile), usage.Bare(err))
	}
	c.child.env = environ
	return wire.Outcome{}
}

// resolved gives the variables of the server their values. Each that comes from
// elsewhere is a secret from here on.
func resolved(ctx context.Context, c *Conn) (target.Server, error) {
	typed := map[string]string{}
	s, err := c.Origin.Resolved(target.Lookup{
		Home: cmp.Or(c.Env.Getenv("HOME"), c.Env.Getenv("USERPROFILE")),
		Env: func(name string) (string, bool) {
			value := c.Env.Getenv(name)
			learnValue(c.Env, value)
			return value, value != ""
		},
		Input: func(in target.Asked) (string, error) {
			if value, ok := typed[in.ID]; ok {
				return value, nil
			}
			value, err := inputValue(ctx, c.Env, in)
			typed[in.ID] = value
			return value, err
		},
	})
	return s, err
}

// learnServer hides what a server's entry holds, wherever it turns up.
func learnServer(a *Env, s target.Server) {
	for _, e := range s.Env {
		a.Secrets.LearnEnvironment([]string{e.Name + "=" + e.Value})
		learnValue(a, e.Value)
	}
	for _, h := range s.Headers {
		a.Secrets.LearnField(wire.Field{Name: h.Name, Value: h.Value})
		a.Secrets.Learn(h.Value)
	}
	a.Secrets.LearnURL(s.URL)
	a.Secrets.LearnCommand(s.Command)
}

// learnValue hides a value everywhere, unless it is plainly none to hide.
func learnValue(a *Env, value string) {
	plain := strings.IndexFunc(value, func(r rune) bool { return !unicode.IsLower(r) }) < 0 ||
		strings.Trim(value, "0123456789.:") == "" || filepath.IsAbs(value) || strings.HasPrefix(value, "~/")
	switch {
	case plain:
	case strings.Contains(value, "://"):
		a.Secrets.LearnURL(value)
	default:
		a.Secrets.Learn(value)
	}
}

// inputEnv is the variable that gives the value of an input without a prompt.
func inputEnv(id string) string {
	return EnvName("input-" + strings.Map(func(r rune) rune {
		if unicode.IsLetter(r) || unicode.IsDigit(r) {
			return r
		}
		return '_'
	}, id))
}

// inputValue is what the variable or the person says.
func inputValue(ctx context.Context, a *Env, in target.Asked) (string, error) {
	value := a.Getenv(inputEnv(in.ID))
	if value == "" {
		if !a.UI.Interactive() {
			return "", usage.New(fmt.Sprintf("%s must be entered when the server starts, and there is no terminal", in.ID), wire.Hint(inputEnv(in.ID)+"=VALUE sets it"))
		}
		prompt := cmp.Or(in.Description, in.ID)
		if len(in.Options) > 0 {
			prompt += " (" + strings.Join(in.Options, ", ") + ")"
		}
		if in.Default != "" {
			prompt += " [" + in.Default + "]"
		}
		var err error
		if value, err = a.UI.TypedLine(ctx, prompt, in.Secret); err != nil {
			return "", err
		}
		value = cmp.Or(value, in.Default)
	}
	if in.Secret {
		a.Secrets.Learn(value)
	}
	if len(in.Options) > 0 && !slices.Contains(in.Options, value) {
		return "", usage.New(in.ID+" is none of its values", wire.Hint("it is one of "+strings.Join(in.Options, ", ")))
	}
	return value, nil
}

// unresolved is the ending where a variable has no value.
func unresolved(ctx context.Context, c *Conn, err error) wire.Outcome {
	if ctx.Err() != nil || errors.Is(err, context.Canceled) {
		return wire.Outcome{Kind: wire.Signal, Text: "interrupted"}
	}
	out := usage.Outcome(err)
	if missing, ok := errors.AsType[*target.VariableError](err); ok {
		out.Text = missing.Error() + ", and " + Tilde(c.Env, c.Origin.File) + " is the server's value"
		if missing.Env != "" {
			out.Hint = wire.Hint("set " + missing.Env + " in the environment")
		}
	}
	out.Where = c.Origin.ID()
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
func environment(a *Env, s target.Server) ([]string, error) {
	var all []string
	put := func(name, value string) { all = append(all, name+"="+value) }
	names := slices.Concat(inherited, s.Passed)
	if runtime.GOOS == "windows" {
		names = append(names, inheritedOnWindows...)
	}
	for _, name := range names {
		if value := a.Getenv(name); value != "" {
			put(name, value)
		}
	}
	for _, entry := range a.Environ() {
		if strings.HasPrefix(entry, "LC_") {
			all = append(all, entry)
		}
	}
	for _, name := range s.Passed {
		if value := a.Getenv(name); value == "" {
			a.UI.Warn(fmt.Sprintf("%s stores %s in a keyring or another place that mcpc does not read; set the variable instead", s.Client.Title, name))
		} else {
			learnValue(a, value)
		}
	}
	if s.EnvFile != "" {
		raw, err := readRegular(s.EnvFile)
		if err != nil {
			return nil, err
		}
		for _, e := range Dotenv(string(raw)) {
			learnValue(a, e.Value)
			put(e.Name, e.Value)
		}
	}
	for _, e := range s.Env {
		put(e.Name, e.Value)
	}
	return all, nil
}

// Dotenv reads lines of NAME=VALUE, as editors do: quotes and an "export" before
// them are taken away, and nothing in a value is a variable.
func Dotenv(text string) (all []target.Setting) {
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
func serverIn(c *Conn, opt *client.Options) {
	if len(opt.Server.Command) > 0 {
		opt.Server.Env, opt.Server.Dir = c.child.env, c.child.dir
	}
}

// WithFields are the header fields of the file, and the user's own, which win.
func WithFields(c *Conn, own []wire.Field) []wire.Field {
	names := sliceutil.Map(own, func(f wire.Field) string { return f.Name })
	return append(Without(c.headers, names...), own...)
}
