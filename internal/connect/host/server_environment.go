package host

import (
	"context"
	"fmt"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"unicode"

	"mcpc/internal/target"
	"mcpc/internal/usage"
	"mcpc/internal/wire"
)

// WithoutFields returns the fields whose name is not in names. Case does not matter.
func WithoutFields(fields []wire.Field, names ...string) []wire.Field {
	return slices.DeleteFunc(slices.Clone(fields), func(f wire.Field) bool {
		return slices.ContainsFunc(names, func(name string) bool { return strings.EqualFold(name, f.Name) })
	})
}

// LearnServer makes the secrets in a configured server known.
func (e *Env) LearnServer(s target.Server) {
	for _, setting := range s.Env {
		e.Secrets.LearnEnvironment([]string{setting.Name + "=" + setting.Value})
		e.LearnValue(setting.Value)
	}
	for _, h := range s.Headers {
		e.Secrets.LearnField(wire.Field{Name: h.Name, Value: h.Value})
		e.Secrets.Learn(h.Value)
	}
	e.Secrets.LearnURL(s.URL)
	e.Secrets.LearnCommand(s.Command)
}

// LearnValue makes a value known as a secret, unless it is plainly not secret: a word in lower
// case, a number or a path. Of a URL it learns only the secret parts.
func (e *Env) LearnValue(value string) {
	isWord := strings.IndexFunc(value, func(r rune) bool { return !unicode.IsLower(r) }) < 0
	isNumber := strings.Trim(value, "0123456789.:") == ""
	isPath := filepath.IsAbs(value) || strings.HasPrefix(value, "~/")
	if isWord || isNumber || isPath {
		return
	}
	if strings.Contains(value, "://") {
		e.Secrets.LearnURL(value)
	} else {
		e.Secrets.Learn(value)
	}
}

// InputEnv returns the environment variable that gives the value of an input without a prompt.
func InputEnv(id string) string {
	return EnvName("input-" + strings.Map(func(r rune) rune {
		if unicode.IsLetter(r) || unicode.IsDigit(r) {
			return r
		}
		return '_'
	}, id))
}

// InputValue returns the value of an input: from its environment variable, or as the user types it.
// It returns an error if neither gives a value, or if the value is not among the input's options.
func (e *Env) InputValue(ctx context.Context, in target.ClientInput) (string, error) {
	value := e.Getenv(InputEnv(in.ID))
	if value == "" {
		if !e.UI.Interactive() {
			return "", usage.New(
				fmt.Sprintf("%s must be entered when the server starts, and there is no terminal", in.ID),
				wire.Hint("set the variable "+InputEnv(in.ID)),
			)
		}
		prompt := in.ID // always shown: the description may be misleading
		if in.Description != "" {
			prompt += ": " + in.Description
		}
		if len(in.Options) > 0 {
			prompt += " (" + strings.Join(in.Options, ", ") + ")"
		}
		if in.Default != "" {
			prompt += " [" + in.Default + "]"
		}
		var err error
		value, err = e.UI.TypedLine(ctx, prompt, in.Secret)
		if err != nil {
			return "", err
		}
		if value == "" {
			value = in.Default
		}
	}
	if in.Secret {
		e.Secrets.Learn(value)
	}
	if len(in.Options) > 0 && !slices.Contains(in.Options, value) {
		return "", usage.New(in.ID+" is not one of its values", wire.Hint("it is one of "+strings.Join(in.Options, ", ")))
	}
	return value, nil
}

// inherited are the variables of mcpc's environment that a configured server gets besides its own:
// what programs need to run, but no tokens.
var inherited = []string{
	"PATH", "HOME", "USER", "LOGNAME", "SHELL", "LANG", "LANGUAGE", "TERM", "TMPDIR", "TZ",
	"XDG_CACHE_HOME", "XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_STATE_HOME", "XDG_RUNTIME_DIR",
	"HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY", "http_proxy", "https_proxy", "all_proxy", "no_proxy",
	"SSL_CERT_FILE", "SSL_CERT_DIR", "NODE_EXTRA_CA_CERTS", "REQUESTS_CA_BUNDLE",
}

// inheritedOnWindows are further variables on Windows.
var inheritedOnWindows = []string{
	"APPDATA",
	"LOCALAPPDATA",
	"HOMEDRIVE",
	"HOMEPATH",
	"USERPROFILE",
	"USERNAME",
	"PROGRAMFILES",
	"PROGRAMDATA",
	"SYSTEMROOT",
	"SYSTEMDRIVE",
	"WINDIR",
	"COMSPEC",
	"PATHEXT",
	"TEMP",
	"TMP",
	"PROCESSOR_ARCHITECTURE",
}

// ServerEnvironment returns the environment of a configured server's process: what programs need to
// run, the variables that the entry names, the variables of its env file, and the entry's own. A
// later variable replaces an earlier one. It warns about named variables that are not set. An error
// is about the env file.
func (e *Env) ServerEnvironment(s target.Server) ([]string, error) {
	var all []string
	put := func(name, value string) { all = append(all, name+"="+value) }
	names := slices.Concat(inherited, s.Passed)
	if runtime.GOOS == "windows" {
		names = append(names, inheritedOnWindows...)
	}
	for _, name := range names {
		if value := e.Getenv(name); value != "" {
			put(name, value)
		}
	}
	for _, entry := range e.Environ() {
		if strings.HasPrefix(entry, "LC_") { // LC_ALL, LC_CTYPE and other parts of the locale
			all = append(all, entry)
		}
	}
	for _, name := range s.Passed {
		value := e.Getenv(name)
		e.LearnValue(value)
		if value != "" {
			continue
		}
		if s.Client.Keyring {
			const text = "%s stores %s in a keyring or another place that mcpc does not read; set the variable instead"
			e.UI.Warn(fmt.Sprintf(text, s.Client.Title, name))
		} else {
			e.UI.Warn(fmt.Sprintf("the variable %s, which %s passes to the server, is not set", name, s.Client.Title))
		}
	}
	if s.EnvFile != "" {
		raw, err := readRegular(s.EnvFile)
		if err != nil {
			return nil, err
		}
		for _, setting := range Dotenv(string(raw)) {
			e.LearnValue(setting.Value)
			put(setting.Name, setting.Value)
		}
	}
	for _, setting := range s.Env {
		put(setting.Name, setting.Value)
	}
	return all, nil
}

// Dotenv parses lines of NAME=VALUE as editors do. It removes quotes and a leading "export", and
// expands no variables. It skips comments and lines without a name.
func Dotenv(text string) []target.Setting {
	var all []target.Setting
	for _, line := range strings.Split(text, "\n") {
		line = strings.TrimSpace(line)
		name, value, ok := strings.Cut(strings.TrimPrefix(line, "export "), "=")
		name = strings.TrimSpace(name)
		value = strings.TrimSpace(value)
		if !ok || name == "" || strings.HasPrefix(line, "#") {
			continue
		}
		if n := len(value); n > 1 {
			isQuote := value[0] == '"' || value[0] == '\''
			if isQuote && value[n-1] == value[0] {
				value = value[1 : n-1]
			}
		}
		all = append(all, target.Setting{Name: name, Value: value})
	}
	return all
}
