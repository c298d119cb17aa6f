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

// A named is a server, and the name that it is to have.
type named struct{ name, id string }

// membersOf are the servers that are served. Nothing is started.
func membersOf(f *cmdutil.Factory, o options, args []string) ([]gateway.Member, error) {
	servers := known(f, o.all)
	for _, word := range args {
		s := parted(word)
		g := f.Invocation()
		g.Server = s.id
		g.ServerGiven = true
		if out := (&connect.Conn{Env: &g.Env}).Find(nil); !out.Good() {
			if isCommand(f, s.id) {
				out.Hint = sessionHint
			}
			return nil, cmdutil.Exit(out)
		}
		servers = append(servers, s)
	}
	names := make([]string, len(servers))
	seen := map[string]bool{}
	for i, s := range servers {
		names[i] = s.name
		if seen[strings.ToLower(s.name)] { // patterns do not tell upper from lower case
			return nil, usage.New(fmt.Sprintf("two servers are named %q", s.name), "NAME=SERVER gives another name")
		}
		seen[strings.ToLower(s.name)] = true
	}
	members := make([]gateway.Member, len(servers))
	for i, prefix := range gateway.Prefixes(names) {
		if prefix != names[i] && !o.noPrefix {
			f.Note(f.ErrStyle.Line(fmt.Sprintf("%s is served as %s", names[i], prefix)))
		}
		members[i] = gateway.Member{
			Name:  prefix,
			Given: names[i],
			ID:    servers[i].id,
			Env:   func() (*host.Env, func()) { return invocation(f, prefix, servers[i].id) },
		}
	}
	return members, nil
}

// checkPatterns refuses a pattern that can fit no tool of the servers on the command line. Those of --all are others
// at another time.
func (o *options) checkPatterns(members []gateway.Member) error {
	for _, flag := range []struct {
		name     string
		patterns []string
	}{{"--allow", o.allow}, {"--deny", o.deny}} {
		for _, pattern := range flag.patterns {
			server, _, parted := strings.Cut(pattern, "/")
			fits := func(m gateway.Member) bool {
				return filter.MatchGlob(server, m.Name) || filter.MatchGlob(server, m.Given)
			}
			if parted && (o.all || slices.ContainsFunc(members, fits)) {
				continue
			}
			example := "NAME"
			if len(members) > 0 {
				example = members[0].Given
			}
			return usage.New(
				fmt.Sprintf("%s %q fits no server", flag.name, pattern),
				wire.Hint("a pattern is compared with NAME/TOOL, as in "+example+"/*"),
			)
		}
	}
	return nil
}

// known are all servers that need no question, by their own names where these differ.
func known(f *cmdutil.Factory, all bool) (servers []named) {
	if !all {
		return nil
	}
	asked, left := f.KnownServers()
	f.TellUnasked(left)
	times := map[string]int{}
	for _, s := range asked {
		times[s.Name]++
	}
	for _, s := range asked {
		name := s.Name
		if times[name] > 1 {
			name = s.ID
		}
		servers = append(servers, named{name, s.ID})
	}
	if len(servers) == 0 {
		f.Note("no known servers, so the lists are empty: " + f.HintText(wire.Run("servers")+" lists them"))
	}
	return servers
}

// nameCharacters are those of a NAME. A URL has others before its first =.
const nameCharacters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-"

// parted reads [NAME=]SERVER. A URL without a name is called by its host.
func parted(word string) named {
	if name, id, ok := strings.Cut(word, "="); ok && strings.Trim(name, nameCharacters) == "" && name != "" {
		return named{name, id}
	}
	if u, err := url.Parse(word); err == nil && strings.Contains(word, "://") && u.Host != "" {
		return named{u.Host, word}
	}
	if i := strings.LastIndexByte(word, ':'); i >= 0 && !strings.ContainsAny(word, "/.") {
		return named{word[i+1:], word} // CLIENT:NAME
	}
	return named{word, word}
}

// isCommand reports whether a word that names no server is a command, or a program or a file of one.
func isCommand(f *cmdutil.Factory, word string) bool {
	_, hint := meant.ByPath(f, word)
	return hint != ""
}

// sessionHint says how the command of a server is served.
var sessionHint = "a server's command is served as a session: " + wire.Run("init --as NAME -- COMMAND...") +
	", then " + wire.Run("serve NAME")

// serving is the variable by which mcpc serve knows that another one started it.
const serving = "MCPC_SERVING"

// invocation is that of one connection to a server, and what ends its recording.
func invocation(f *cmdutil.Factory, name, id string) (*host.Env, func()) {
	said := &lines{to: f.Stderr(), name: f.ErrStyle.Line(name)}
	b := f.WithoutPrompts(said, id)
	b.UI = quiet{b}
	b.Record.Lasts = true
	b.Mark = serving + "=1"
	return &b.Env, func() { b.Env.EndRecording(wire.Outcome{}, 0) }
}

// quiet is the UI of a server that is served: what is shown to a user who is asked is not shown.
type quiet struct{ *cmdutil.Factory }

func (quiet) ShowServer(string, target.Server) {}
func (quiet) Interactive() bool                { return false }
func (quiet) CanAsk() bool                     { return false }

// ShowChanges shows what is noted. What the user is asked about is left out with a line of its own.
func (q quiet) ShowChanges(level wire.Level, headline string, changes []diff.Change) {
	if level == wire.Info {
		q.Factory.ShowChanges(level, headline, changes)
	}
}

// lines puts the name of a server into each line of standard error that is about it.
type lines struct {
	to   io.Writer
	name string
	mu   sync.Mutex
	rest []byte
}

func (l *lines) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.rest = append(l.rest, p...)
	for {
		line, rest, whole := bytes.Cut(l.rest, []byte("\n"))
		if !whole {
			return len(p), nil
		}
		l.rest = rest
		text := strings.Replace(string(line), "mcpc: ", "mcpc: "+l.name+": ", 1)
		if _, err := io.WriteString(l.to, text+"\n"); err != nil {
			return 0, err
		}
	}
}
