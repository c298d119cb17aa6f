package cmdutil

import (
	"io"
	"slices"
	"strings"

	"mcpc/internal/cli/console"
	"mcpc/internal/connect/host"
	"mcpc/internal/render/term"
	"mcpc/internal/state"
	"mcpc/internal/target"
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

// A SkippedServer is a server that is skipped, and the reason.
type SkippedServer struct{ ID, Why string }

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
	byID := map[string]*KnownServer{}
	var distinct []target.Server
	for _, s := range f.Env.ConfiguredServers() {
		same := slices.IndexFunc(distinct, func(other target.Server) bool { return other.Same(s) })
		switch {
		case s.Problem != "":
			skipped = append(skipped, SkippedServer{s.ID(), Unusable})
		case s.Disabled:
			skipped = append(skipped, SkippedServer{s.ID(), Disabled})
		case host.AsksFirst(s, host.StandingOf(trusts, s)):
			skipped = append(skipped, SkippedServer{s.ID(), NotTrusted})
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
	b.Auth.Account = ""
	b.OutStyle = term.Style{Width: 80}
	b.ErrStyle = term.Style{Width: 80, Server: f.ErrStyle.Line(id)}
	b.Typist = &console.Typist{In: strings.NewReader("")}
	b.Progress = term.NewProgress(progress, b.ErrStyle, f.Now)
	b.Record.Quiet.Store(true) // the main command reports a folder that cannot be written to
	return b
}
