package target

import (
	"encoding/json"
	"slices"
	"strings"

	"mcpc/internal/shellwords"
	"mcpc/internal/wire"
)

// Default is the server if no source names one.
const Default = "http://localhost:3001/mcp"

// demoName is the TARGET of the built-in demo server.
const demoName = "demo"

// A Kind is the kind of a Target.
type Kind int

// The kinds of target.
const (
	// URL is an http or https endpoint.
	URL Kind = iota + 1
	// Session is a stored session, by its name.
	Session
	// Demo is the built-in demo server.
	Demo
	// Command is a program that speaks MCP over stdio.
	Command
	// Known is a server that another program's configuration names.
	Known
)

func (k Kind) String() string {
	return [...]string{"none", "url", "session", "demo", "command", "known"}[k]
}

// A Source is what chose the target.
type Source int

// The sources, the strongest first.
const (
	FromCommand     Source = iota + 1 // the words after "--"
	FromFlag                          // -s, --server
	FromEnvironment                   // MCPC_SERVER
	FromSession                       // the session that mcpc init made current
	FromDefault                       // no source named one: it is Default
)

func (s Source) String() string {
	return [...]string{"none", "command", "flag", "environment", "session", "default"}[s]
}

// A Target is one server, named but not yet looked for.
type Target struct {
	Kind Kind
	// URL is the normalised URL when Kind is URL.
	URL string
	// Name is the session's name when Kind is Session, and what the server is called
	// when it is Known.
	Name string
	// Command is the argument vector when Kind is Command; it is never empty.
	Command []string
	Source  Source
}

// String returns the target as a user types it. A command is quoted for a POSIX shell. Its
// arguments, and the query of a URL, may have secrets.
func (t Target) String() string {
	switch t.Kind {
	case URL:
		return t.URL
	case Session, Known:
		return t.Name
	case Demo:
		return demoName
	case Command:
		words := make([]string, len(t.Command))
		for i, w := range t.Command {
			words[i] = shellwords.Quote(w)
		}
		return strings.Join(words, " ")
	default:
		return ""
	}
}

// Key identifies the server in stored data: the same for each spelling of a URL with the same
// normal form, different for each argument vector.
func (t Target) Key() string {
	if t.Kind == Command {
		argv, _ := json.Marshal(t.Command) // strings always marshal
		return "command:" + string(argv)
	}
	return t.Kind.String() + ":" + t.String()
}

// An Input has all sources of a target.
type Input struct {
	// Command are the words after "--"; nil if there is no "--".
	Command []string
	// Flag is the value of --server. FlagGiven is true if the flag was set, even to "".
	Flag      string
	FlagGiven bool
	// Environment is MCPC_SERVER, or "".
	Environment string
	// Sessions are the names of the stored sessions, Current is the current session or "".
	Sessions []string
	Current  string
	// Known returns the names of the servers in other programs' configurations. It is called only
	// if no session has the name. It may be nil.
	Known func() []string
}

// Parse chooses the target: the command after "--", else the flag, else the environment, else the
// current session, else [Default]. The error is an [*Error] or an [*UnknownError]; both are usage
// errors.
func Parse(in Input) (Target, error) {
	if in.Command != nil {
		return parseCommand(in.Command)
	}
	if in.FlagGiven || in.Flag != "" {
		return parseText(in.Flag, FromFlag, in)
	}
	if in.Environment != "" {
		return parseText(in.Environment, FromEnvironment, in)
	}
	if in.Current != "" {
		if !slices.Contains(in.Sessions, in.Current) {
			return Target{}, newUnknownError(in.Current, FromSession, in.Sessions)
		}
		return Target{Kind: Session, Name: in.Current, Source: FromSession}, nil
	}
	return Target{Kind: URL, URL: Default, Source: FromDefault}, nil
}

// parseText parses one TARGET: the built-in demo server, else a session, else a name in a
// configuration, else a URL. It looks up names before URLs, because the names in configurations may
// contain any characters.
func parseText(text string, source Source, in Input) (Target, error) {
	sessions := in.Sessions
	var known []string
	hasScheme := strings.Contains(text, "://")
	isNotConfigured := text == demoName || hasScheme || slices.Contains(sessions, text)
	if !isNotConfigured && in.Known != nil { // reading all configurations takes time
		known = in.Known()
	}
	client, _, hasPrefix := strings.Cut(text, ":")
	_, isClient := ClientNamed(client)
	if text == "" {
		return Target{}, newError(
			"target",
			source,
			"the server is empty",
			"name a URL, a session, a server that "+wire.Run("servers")+" shows, or "+demoName,
		)
	}
	if text == demoName {
		return Target{Kind: Demo, Source: source}, nil
	}
	if slices.Contains(sessions, text) {
		return Target{Kind: Session, Name: text, Source: source}, nil
	}
	if slices.Contains(known, text) {
		return Target{Kind: Known, Name: text, Source: source}, nil
	}
	if hasPrefix && isClient { // such as cursor:NAME, and the client has no such server
		return Target{}, newUnknownError(text, source, slices.Concat(sessions, known))
	}
	if strings.ContainsAny(text, " \t\n") && !hasScheme {
		// The error does not quote the text: a command line may have a secret.
		return Target{}, newError("target", source, "the server is neither a URL nor a name: it has a space in it",
			"for a stdio server: "+wire.Run("list -- COMMAND ARGUMENT..."))
	}
	if !looksLikeURL(text) {
		return Target{}, newUnknownError(text, source, slices.Concat(sessions, known))
	}
	u, err := parseURL(text)
	if err != nil {
		err.Source = source
		return Target{}, err
	}
	return Target{Kind: URL, URL: u, Source: source}, nil
}

// parseCommand checks an argument vector. It does not change its words.
func parseCommand(argv []string) (Target, error) {
	if len(argv) == 0 {
		return Target{}, newError(
			"command",
			FromCommand,
			`there is no command after "--"`,
			wire.Run("list -- COMMAND ARGUMENT..."),
		)
	}
	if argv[0] == "" {
		return Target{}, newError("command", FromCommand, `the command after "--" is empty`, "name a program")
	}
	for _, word := range argv {
		if strings.ContainsRune(word, 0) {
			return Target{}, newError("command", FromCommand, `the command after "--" has a NUL byte in it`, "remove it")
		}
	}
	return Target{Kind: Command, Command: slices.Clone(argv), Source: FromCommand}, nil
}

// looksLikeURL reports whether text has characters of a URL that no valid name has, see
// [ValidName].
func looksLikeURL(text string) bool {
	return strings.ContainsAny(text, ".:/@?#[]\\%")
}
