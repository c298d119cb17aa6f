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

// A Server is one that mcpc knows by name.
type KnownServer struct {
	// ID names it to every command, Name is what its own configuration calls it.
	ID, Name string
	// Title is the program that it comes from, File its file.
	Title, File string
	// Also are servers that are the same.
	Also []string
}

// An Unasked is a server that is not used, and why.
type Unasked struct{ ID, Why string }

// The reasons, in the order in which they are told.
const (
	NotTrusted = "not trusted"
	Disabled   = "disabled"
	Unusable   = "unusable"
)

// KnownServers are the sessions, and the servers of other programs that may be asked
// without a question. Of several that are the same one is asked.
func (f *Factory) KnownServers() (asked []*KnownServer, left []Unasked) {
	var trusts []state.Trust
	origins := map[string]string{}
	if store, st, err := f.Env.LoadState(); err != nil {
		f.Warn("sessions are omitted: " + err.Error())
	} else {
		trusts = f.Env.Trusts(store)
		for _, name := range st.Names() {
			s, _ := st.Session(name)
			asked = append(asked, &KnownServer{ID: name, Name: name, Title: "session"})
			if s.From != nil {
				origins[s.From.Client+":"+s.From.Name+"\n"+s.From.File] = name
			}
		}
	}
	firsts := map[string]*KnownServer{}
	var same []target.Server
	for _, s := range f.Env.ConfiguredServers() {
		i := slices.IndexFunc(same, func(other target.Server) bool { return other.Same(s) })
		switch {
		case s.Problem != "":
			left = append(left, Unasked{s.ID(), Unusable})
		case s.Disabled:
			left = append(left, Unasked{s.ID(), Disabled})
		case host.AsksFirst(s, host.StandingOf(trusts, s)):
			left = append(left, Unasked{s.ID(), NotTrusted})
		case origins[s.ID()+"\n"+s.File] != "": // its session is asked
		case i >= 0:
			first := firsts[same[i].ID()]
			first.Also = append(first.Also, s.ID())
		default:
			same = append(same, s)
			firsts[s.ID()] = &KnownServer{ID: s.ID(), Name: s.Name, Title: s.Client.Title, File: s.File}
			asked = append(asked, firsts[s.ID()])
		}
	}
	return asked, left
}

// TellUnasked names those that were left out.
func (f *Factory) TellUnasked(all []Unasked) {
	for _, why := range []string{NotTrusted, Disabled, Unusable} {
		var ids []string
		for _, u := range all {
			if u.Why == why {
				ids = append(ids, u.ID)
			}
		}
		if len(ids) == 0 {
			continue
		}
		text := "skipped because " + why + ": " + strings.Join(ids, ", ")
		if why == NotTrusted {
			text += " (mcpc trust NAME approves one)"
		}
		f.Note(text)
	}
}

// WithoutPrompts returns a Factory for one server: it has the flags of f, has no prompts, and
// shares no connection with it.
func (f *Factory) WithoutPrompts(said io.Writer, id string) *Factory {
	b := f.Separate()
	b.Known = f.Known
	b.Ballast = []byte{}
	b.Getenv = func(name string) string {
		if name == "MCPC_TOKEN" || name == host.EnvName("server") {
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
	b.ErrStyle = term.Style{Width: 80}
	b.Typist = &console.Typist{In: strings.NewReader("")}
	b.Progress = term.NewProgress(said, b.ErrStyle, f.Now)
	b.Record.Quiet.Store(true) // the main command alone reports a folder that cannot be written to
	return b
}
