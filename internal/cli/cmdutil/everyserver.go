package cmdutil

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"mcpc/internal/capture/filter"
	"mcpc/internal/cli/console"
	"mcpc/internal/connect/host"
	"mcpc/internal/render/term"
	"mcpc/internal/shellwords"
	"mcpc/internal/state"
	"mcpc/internal/suggest"
	"mcpc/internal/target"
	"mcpc/internal/usage"
	"mcpc/internal/wire"
)

// A KnownServer is a session or a configured server.
type KnownServer struct {
	// ID names the server in every command. Name is its name in its own configuration.
	ID, Name string
	// Title is the program that configures the server, and File its configuration file.
	Title, File string
	// Also are the ids of identical servers.
	Also []string
}

// A SkippedServer is a server that is skipped, and the reason. Title is the program that configures it.
type SkippedServer struct{ ID, Name, Title, Why string }

// Help returns the command line that helps, or "".
func (s SkippedServer) Help() string {
	switch s.Why {
	case NotTrusted:
		return wire.Run("servers trust " + shellwords.Quote(s.ID)).String()
	case Unusable:
		return wire.Run("servers " + shellwords.Quote(s.ID)).String()
	}
	return ""
}

// NotTrusted, Disabled and Unusable are the reasons why a server is skipped.
const (
	NotTrusted = "not trusted"
	Disabled   = "disabled"
	Unusable   = "unusable"
)

// KnownServers returns the sessions, and the servers of other programs that can be started without
// a question. Of several identical servers it returns only the first, with the ids of the others.
// skipped are the servers that cannot be used without the user, each with the reason.
func (f *Factory) KnownServers() (servers []*KnownServer, skipped []SkippedServer) {
	var trusts []state.Trust
	sessionOf := map[string]string{} // the name of the session made from a configured server, by its id and file
	if store, st, err := f.Env.LoadState(); err != nil {
		f.Warn("sessions are omitted: " + err.Error())
	} else {
		trusts = f.Env.Trusts(store)
		for _, name := range st.Names() {
			s, _ := st.Session(name)
			servers = append(servers, &KnownServer{ID: name, Name: name, Title: "session"})
			if s.From != nil { // the session was made from a configured server
				sessionOf[s.From.Client+":"+s.From.Name+"\n"+s.From.File] = name
			}
		}
	}
	skip := func(s target.Server, why string) SkippedServer {
		return SkippedServer{ID: s.ID(), Name: s.Name, Title: s.Client.Title, Why: why}
	}
	byID := map[string]*KnownServer{}
	var distinct []target.Server
	for _, s := range f.Env.ConfiguredServers() {
		same := slices.IndexFunc(distinct, func(other target.Server) bool { return other.Same(s) })
		switch {
		case s.Problem != "":
			skipped = append(skipped, skip(s, Unusable))
		case s.Disabled:
			skipped = append(skipped, skip(s, Disabled))
		case host.AsksFirst(s, host.StandingOf(trusts, s)):
			skipped = append(skipped, skip(s, NotTrusted))
		case sessionOf[s.ID()+"\n"+s.File] != "": // its session is already among the servers
		case same >= 0: // the same command or URL as an earlier server
			first := byID[distinct[same].ID()]
			first.Also = append(first.Also, s.ID())
		default:
			distinct = append(distinct, s)
			byID[s.ID()] = &KnownServer{ID: s.ID(), Name: s.Name, Title: s.Client.Title, File: s.File}
			servers = append(servers, byID[s.ID()])
		}
	}
	return servers, skipped
}

// KnownServersNamed returns the servers of KnownServers with these names: ids, names or patterns with *
// and ?. It returns all without a name, and a usage error for a name without a server. command is the
// command line of mcpc, for its hint.
func (f *Factory) KnownServersNamed(command string, names []string) ([]*KnownServer, []SkippedServer, error) {
	servers, skipped := f.KnownServers()
	if len(names) == 0 {
		return servers, skipped, nil
	}
	found := map[string]bool{} // the names with a server
	matches := func(known ...string) bool {
		isWanted := false
		for _, name := range names {
			if slices.ContainsFunc(known, func(text string) bool { return filter.MatchGlob(name, text) }) {
				found[name] = true
				isWanted = true
			}
		}
		return isWanted
	}
	var words []string // that the user may have meant
	for _, s := range servers {
		words = append(append(words, s.ID, s.Name), s.Also...)
	}
	for _, s := range skipped {
		words = append(words, s.ID, s.Name)
	}
	servers = slices.DeleteFunc(servers, func(s *KnownServer) bool {
		return !matches(append([]string{s.ID, s.Name}, s.Also...)...)
	})
	skipped = slices.DeleteFunc(skipped, func(s SkippedServer) bool { return !matches(s.ID, s.Name) })
	for _, name := range names {
		if !found[name] {
			return nil, nil, usage.New(fmt.Sprintf("no known server is named %q", name), suggest.DidYouMean(
				wire.Run(command+" %s"), name, words,
				wire.Run("servers")+" and "+wire.Run("sessions")+" list them",
			))
		}
	}
	return servers, skipped, nil
}

// NoteSkipped prints a note with the skipped servers, one line for each reason.
func (f *Factory) NoteSkipped(skipped []SkippedServer) {
	for _, why := range []string{NotTrusted, Disabled, Unusable} {
		var ids []string
		for _, s := range skipped {
			if s.Why == why {
				ids = append(ids, s.ID)
			}
		}
		if len(ids) == 0 {
			continue
		}
		text := "skipped because " + why + ": " + strings.Join(ids, ", ")
		if why == NotTrusted {
			text += " (mcpc servers trust NAME approves one)"
		}
		f.Note(text)
	}
}

// WithoutPrompts returns a Factory for one server of many: with the flags of f, but without prompts
// and without a shared connection. id names the server, also in warnings and notes; progress is
// written to the writer.
func (f *Factory) WithoutPrompts(progress io.Writer, id string) *Factory {
	b := f.Separate()
	b.Known = f.Known    // the configuration files were read already
	b.Ballast = []byte{} // f has tuned the garbage collector of this process already
	b.Getenv = func(name string) string {
		if name == "MCPC_TOKEN" || name == host.EnvName("server") { // they are for one server
			return ""
		}
		return f.Getenv(name)
	}
	b.Server = id
	b.ServerGiven = true
	b.NoInput = true
	b.JSON = false
	b.Wire = false
	b.Jq = ""
	b.Output = ""
	b.Explain = false
	b.Verbose = 0
	b.Auth.NoPrompt = true
	b.Mark = host.EnvName("no-auth-prompt") + "=1" // a server may be mcpc serve
	b.Auth.Account = ""
	b.OutStyle = term.Style{Width: 80}
	b.ErrStyle = term.Style{Width: 80, Server: f.ErrStyle.Line(id)}
	b.Typist = &console.Typist{In: strings.NewReader("")}
	b.Progress = term.NewProgress(progress, b.ErrStyle, f.Now)
	b.Record.Quiet.Store(true) // the main command reports a folder that cannot be written to
	return b
}
