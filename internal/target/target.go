package target

import (
	"encoding/json"
	"slices"
	"strings"

	"mcpc/internal/shellwords"
	"mcpc/internal/wire"
)

// Default is the server that is used when no source names one.
const Default = "http://localhost:3001/mcp"

// demoName is the TARGET that means the built-in demo server.
const demoName = "demo"

// A Kind says what sort of thing a Target is.
type Kind int

// The kinds of target.
const (
	// URL is an http or https endpoint.
	URL Kind = iota + 1
	// Session is a stored session, by its name.
	Session
	// Demo is the built-in demo server.
	Demo
	// Command is a program to speak stdio with.
	Command
	// Known is a server that another program's configuration names.
	Known
)

func (k Kind) String() string {
	return [...]string{"none", "url", "session", "demo", "command", "known"}[k]
}

// A Source says who chose the target.
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

// String is the target as one would type it. A command is quoted for a POSIX
// shell; like a URL's query, its arguments may hold secrets.
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

// Key names the server for remembering things about it: the same for each
// spelling of a URL that normalises alike, different for each argument vector.
func (t Target) Key() string {
	if t.Kind == Command {
		argv, _ := json.Marshal(t.Command) // strings always marshal
		return "command:" + string(argv)
	}
	return t.Kind.String() + ":" + t.String()
}

// An Input is everything that a target is chosen from.
type Input struct {
	// Command is what stands after "--": nil if there is no "--".
	Command []string
	// Flag is the value of --server; FlagGiven tells an empty value from none.
	Flag      string
	FlagGiven bool
	// Environment is MCPC_SERVER; empty means not set.
	Environment string
	// Sessions are the names of the stored sessions, Current the one that is
	// meant when nothing else is said, or "".
	Sessions []string
	Current  string
	// Known gives the names of the servers that other programs' configurations have.
	// It is asked only where nothing else has the name; nil knows none.
	Known func() []string
}

// Parse chooses the target: the command after "--", else the flag, else the
// environment, else the current session, else [Default]. The error is an
// [*Error] or an [*UnknownError]; both are usage errors.
func Parse(in Input) (Target, error) {
	switch {
	case in.Command != nil:
		return parseCommand(in.Command)
	case in.FlagGiven || in.Flag != "":
		return parseText(in.Flag, FromFlag, in)
	case in.Environment != "":
		return parseText(in.Environment, FromEnvironment, in)
	case in.Current != "":
		if !slices.Contains(in.Sessions, in.Current) {
			return Target{}, newUnknownError(in.Current, FromSession, in.Sessions)
		}
		return Target{Kind: Session, Name: in.Current, Source: FromSession}, nil
	default:
		return Target{Kind: URL, URL: Default, Source: FromDefault}, nil
	}
}

// parseText reads one TARGET: the built-in demo server, then a session, which is what
// the user made with mcpc itself, then a name in a configuration, then a URL.
func parseText(text string, from Source, in Input) (Target, error) {
	sessions := in.Sessions
	known := []string(nil)
	if in.Known != nil && text != demoName && !strings.Contains(text, "://") && !slices.Contains(sessions, text) {
		known = in.Known()
	}
	client, _, qualified := strings.Cut(text, ":")
	_, ofClient := ClientNamed(client)
	switch {
	case text == "":
		return Target{}, newError(
			"target",
			from,
			"the server is empty",
			"name a URL, a session, a server that "+wire.Run("servers")+" shows, or "+demoName,
		)
	case text == demoName:
		return Target{Kind: Demo, Source: from}, nil
	case slices.Contains(sessions, text):
		return Target{Kind: Session, Name: text, Source: from}, nil
	case slices.Contains(known, text):
		return Target{Kind: Known, Name: text, Source: from}, nil
	case qualified && ofClient:
		return Target{}, newUnknownError(text, from, slices.Concat(sessions, known))
	case strings.ContainsAny(text, " \t\n") && !strings.Contains(text, "://"):
		// Not quoted: a command line may hold a secret.
		return Target{}, newError("target", from, "the server is neither a URL nor a name: it has a space in it",
			"for a stdio server: "+wire.Run("list -- COMMAND ARGUMENT..."))
	case !looksLikeURL(text):
		return Target{}, newUnknownError(text, from, slices.Concat(sessions, known))
	}
	u, err := parseURL(text)
	if err != nil {
		err.Source = from
		return Target{}, err
	}
	return Target{Kind: URL, URL: u, Source: from}, nil
}

// parseCommand checks an argument vector; its words are taken as they are.
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

// looksLikeURL tells what was meant as a URL, or as one without its scheme,
// from what was meant as a name: a name has none of these, see [ValidName].
func looksLikeURL(text string) bool {
	return strings.ContainsAny(text, ".:/@?#[]\\%")
}
