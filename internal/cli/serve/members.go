package serve

import (
	"bytes"
	"fmt"
	"io"
	"net/url"
	"slices"
	"strings"
	"sync"

	"mcpc/internal/capture/filter"
	"mcpc/internal/cli/cmdutil"
	"mcpc/internal/cli/meant"
	"mcpc/internal/connect"
	"mcpc/internal/connect/gateway"
	"mcpc/internal/connect/host"
	"mcpc/internal/diff"
	"mcpc/internal/target"
	"mcpc/internal/usage"
	"mcpc/internal/wire"
)

// A namedServer is a server as -s takes it, and the name that mcpc serve offers it under.
type namedServer struct{ name, id string }

// membersOf returns the servers to serve: the servers in args, and with --all the known servers. It
// connects to no server. It fails for an unknown server and for two servers with the same name.
func membersOf(f *cmdutil.Factory, o options, args []string) ([]gateway.Member, error) {
	isSingle := o.isSingle(args)
	if o.command != nil {
		const name = "server" // in the names of the tools that mcpc offers itself
		command, err := o.watch.TapCommand(f, o.command)
		if err != nil {
			return nil, err
		}
		return []gateway.Member{{
			Name: name, Given: name, ID: name, Command: command, Shown: o.command,
			Env: func() (*host.Env, func()) { return invocation(f, o, name, "", isSingle) },
		}}, nil
	}
	servers := knownServers(f, o.all)
	for _, word := range args {
		s := parseServer(word)
		lookup := f.Invocation() // only to find the server: it opens no connection
		lookup.Server = s.id
		lookup.ServerGiven = true
		conn := &connect.Conn{Env: &lookup.Env}
		if out := conn.Find(nil); !out.OK() {
			if hint := meant.Synonym(f, "serve", args...); hint != "" { // such as serve uninstall
				return nil, usage.New("unknown command \""+word+"\"", hint)
			}
			if isCommand(f, s.id) {
				out.Hint = commandHint
			}
			return nil, cmdutil.Exit(out)
		}
		servers = append(servers, s)
	}
	names := make([]string, len(servers))
	seen := map[string]bool{}
	for i, s := range servers {
		names[i] = s.name
		if seen[strings.ToLower(s.name)] { // patterns ignore case
			return nil, usage.New(fmt.Sprintf("two servers are named %q", s.name), "NAME=SERVER gives another name")
		}
		seen[strings.ToLower(s.name)] = true
	}
	members := make([]gateway.Member, len(servers))
	for i, prefix := range gateway.Prefixes(names) {
		if prefix != names[i] && !o.keepsNames(args) {
			f.Note(f.ErrStyle.Line(fmt.Sprintf("%s is served as %s", names[i], prefix)))
		}
		members[i] = gateway.Member{
			Name:  prefix,
			Given: names[i],
			ID:    servers[i].id,
			Env:   func() (*host.Env, func()) { return invocation(f, o, prefix, servers[i].id, isSingle) },
		}
	}
	return members, nil
}

// keepsNames reports whether tools and prompts keep the names that their server gives them: with --no-prefix,
// and if a single server has no NAME=.
func (o *options) keepsNames(args []string) bool {
	isUnnamed := len(args) == 1 && parseServer(args[0]).id == args[0]
	return o.noPrefix || isUnnamed || o.command != nil
}

// checkPatterns returns a usage error for a pattern of --allow or --deny that cannot match a tool
// of the members. With --all it only requires the form NAME/TOOL, because the known servers change.
func (o *options) checkPatterns(members []gateway.Member) error {
	for _, flag := range []struct {
		name     string
		patterns []string
	}{{"--allow", o.allow}, {"--deny", o.deny}} {
		for _, pattern := range flag.patterns {
			server, _, hasTool := strings.Cut(pattern, "/")
			fits := func(m gateway.Member) bool {
				return filter.MatchGlob(server, m.Name) || filter.MatchGlob(server, m.Given)
			}
			fitsMember := o.all || slices.ContainsFunc(members, fits)
			if hasTool && fitsMember {
				continue
			}
			example := "NAME"
			if len(members) > 0 {
				example = members[0].Given
			}
			return usage.New(
				fmt.Sprintf("%s %q matches no server", flag.name, pattern),
				wire.Hint("a pattern is compared with NAME/TOOL, as in "+example+"/*"),
			)
		}
	}
	return nil
}

// knownServers returns all known servers that need no approval, or nil if all is false. A server
// has its own name if no other server has the name, else its id. It reports the servers that need
// approval.
func knownServers(f *cmdutil.Factory, all bool) []namedServer {
	if !all {
		return nil
	}
	servable, skipped := f.KnownServers()
	f.NoteSkipped(skipped)
	nameCounts := map[string]int{}
	for _, s := range servable {
		nameCounts[s.Name]++
	}
	var servers []namedServer
	for _, s := range servable {
		name := s.Name
		if nameCounts[name] > 1 {
			name = s.ID
		}
		servers = append(servers, namedServer{name: name, id: s.ID})
	}
	if len(servers) == 0 {
		f.Note("no known servers, so the lists are empty: " + f.HintText(wire.Run("servers")+" lists them"))
	}
	return servers
}

// nameCharacters are the characters of NAME in NAME=SERVER. In a URL, the text before the first =
// has other characters.
const nameCharacters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-"

// parseServer parses [NAME=]SERVER. Without NAME, the name of a URL is its host, the name of
// CLIENT:NAME is its second part, and any other server is named as in word.
func parseServer(word string) namedServer {
	name, id, hasName := strings.Cut(word, "=")
	isName := name != "" && strings.Trim(name, nameCharacters) == "" // otherwise the = is in a URL
	if hasName && isName {
		return namedServer{name: name, id: id}
	}
	if u, err := url.Parse(word); err == nil && strings.Contains(word, "://") && u.Host != "" {
		return namedServer{name: u.Host, id: word}
	}
	if colon := strings.LastIndexByte(word, ':'); colon >= 0 && !strings.ContainsAny(word, "/.") {
		return namedServer{name: word[colon+1:], id: word} // CLIENT:NAME
	}
	return namedServer{name: word, id: word}
}

// isCommand reports whether a word that names no server seems to be a server's command: a program,
// a file, or a command line.
func isCommand(f *cmdutil.Factory, word string) bool {
	_, hint := meant.DescribePath(f, word)
	return hint != ""
}

// commandHint is the hint for a server's command in place of a server's name.
var commandHint = "a server's command goes after --: " + wire.Run("serve -- COMMAND...")

// servingVariable is the environment variable that mcpc serve sets for the servers that it starts.
// If it is set, mcpc serve refuses names of servers.
const servingVariable = "MCPC_SERVING"

// invocation returns the environment of one connection to a server, which asks the user nothing and
// puts name into each line of its messages. id names the server; it is "" for a command. Tokens and
// accounts apply only to a single server. The returned function ends the recording.
func invocation(f *cmdutil.Factory, o options, name, id string, isSingle bool) (*host.Env, func()) {
	unprompted := f.WithoutPrompts(&lineWriter{to: f.Stderr()}, id)
	unprompted.ServerGiven = id != ""
	if isSingle {
		unprompted.Auth = f.Auth
		unprompted.Getenv = func(variable string) string {
			if variable == host.EnvName("server") {
				return ""
			}
			return f.Getenv(variable)
		}
	}
	if o.debug {
		unprompted.Verbose = 1
	}
	if o.watch.IsSet() { // mcpc tap --watch, and the server, report on stderr
		showStderr := wire.Tap(func(frame wire.Frame) {
			if frame.Kind == wire.Stderr {
				fmt.Fprintln(f.Stderr(), f.ErrStyle.Line(string(frame.Raw)))
			}
		})
		unprompted.Watch.Store(&showStderr)
	}
	unprompted.ErrStyle.Server = f.ErrStyle.Line(name)
	unprompted.UI = quiet{unprompted}
	unprompted.Record.Lasts = true
	unprompted.Mark = servingVariable + "=1"
	return &unprompted.Env, func() { unprompted.Env.EndRecording(wire.Outcome{}, 0) }
}

// quiet is the UI for the connections of mcpc serve: it does not ask the user, and does not show
// what precedes a question.
type quiet struct{ *cmdutil.Factory }

func (quiet) ShowServer(string, target.Server) {}
func (quiet) Interactive() bool                { return false }
func (quiet) CanAsk() bool                     { return false }

// HintText returns a hint for the log of the client, and for its model: without the flags of this command.
func (quiet) HintText(hint wire.Hint) string { return hint.WithServerFlag("mcpc serve").String() }

// ShowChanges shows changes of level Info. mcpc reports other changes in a separate line when it
// leaves out the tool.
func (q quiet) ShowChanges(level wire.Severity, headline string, changes []diff.Change) {
	if level == wire.Info {
		q.Factory.ShowChanges(level, headline, changes)
	}
}

// lineWriter writes complete lines to a writer. It keeps an incomplete line. mu guards it and the
// writes.
type lineWriter struct {
	to         io.Writer
	mu         sync.Mutex
	incomplete []byte
}

// Write writes the lines that p completes. Several connections write to the same terminal, so that
// parts of their lines would mix.
func (l *lineWriter) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.incomplete = append(l.incomplete, p...)
	for {
		lineEnd := bytes.IndexByte(l.incomplete, '\n') + 1
		if lineEnd == 0 {
			return len(p), nil
		}
		line := l.incomplete[:lineEnd]
		l.incomplete = l.incomplete[lineEnd:]
		if _, err := l.to.Write(line); err != nil {
			return 0, err
		}
	}
}
