package liveview

import (
	"errors"
	"slices"
	"strings"

	"mcpc/internal/cli/cmdutil"
	"mcpc/internal/cli/recorded"
	"mcpc/internal/connect"
	"mcpc/internal/live/view"
	"mcpc/internal/shellwords"
	"mcpc/internal/target"
)

// Describe sets for each tool the shell command that calls it, and the reason why a view cannot
// call it. It changes tools in place.
func (a *Actor) Describe(tools []view.Tool) {
	g := a.separateInvocation()
	byTarget := map[string]callForm{} // computed once for each target: it may read files
	for i := range tools {
		t := &tools[i]
		form, known := byTarget[t.Target]
		if !known {
			form = a.callFormOf(g, t.Target)
			byTarget[t.Target] = form
		}
		t.Command = form.commandFor(view.KindTool, t.Name)
		t.Refused = form.refused
	}
}

// A callForm is how requests are sent to a server: the shell command up to its verb and after its
// arguments, and why a view cannot send them; "" if it can.
type callForm struct{ mcpc, afterArguments, refused string }

// callFormOf returns how requests are sent to a recorded target: with -s if the target is an
// address or a name that -s accepts, else by its command after --.
func (a *Actor) callFormOf(g *cmdutil.Factory, recordedTarget string) callForm {
	form := callForm{mcpc: "mcpc ", afterArguments: " -- " + recordedTarget}
	address := addressOf(recordedTarget)
	if address == connect.DemoEndpoint || recorded.IsAddress(address) || isKnownName(g, address) {
		form = callForm{mcpc: "mcpc -s " + shellwords.Quote(address) + " "}
	}
	if _, err := a.callableServer(g, recordedTarget); err != nil {
		form.refused = err.Error()
	}
	return form
}

// callableServer returns the server of a recorded target in the form of -s, or "" if the view
// started the server. It returns an error if the view may not call the server.
func (a *Actor) callableServer(g *cmdutil.Factory, recordedTarget string) (string, error) {
	if own := a.ownServer.Load(); own != nil && (recordedTarget == own.Where || recordedTarget == "") {
		return "", nil
	}
	if tried := a.triedServerAt(recordedTarget); tried != "" { // requests go over its connection
		return tried, nil
	}
	address := addressOf(recordedTarget)
	if !a.allowed().Call {
		return "", view.NotAllowed{Power: "call"}
	}
	if a.isReachable(g, address) {
		return address, nil
	}
	if recorded.IsAddress(address) {
		return "", errHiddenAddress
	}
	return "", errors.New("a view starts no recorded command: mcpc inspect -- " + address)
}

// errHiddenAddress refuses a recorded address that is not complete.
var errHiddenAddress = errors.New(
	"the address of this server has a secret, which is not recorded: mcpc -s URL call TOOL",
)

// isWholeAddress reports whether an address is a URL without a placeholder in place of a secret.
func isWholeAddress(address string) bool {
	return recorded.IsAddress(address) && recorded.RejectHidden("", address).OK()
}

// addressOf returns the URL of a session's target "name, URL". It returns other targets unchanged.
func addressOf(recordedTarget string) string {
	if _, link, ok := strings.Cut(recordedTarget, ", "); ok && recorded.IsAddress(link) {
		return link
	}
	return recordedTarget
}

// isKnownName reports whether -s accepts a name as a session or a configured server.
func isKnownName(g *cmdutil.Factory, name string) bool {
	return slices.Contains(g.SessionNames(""), name) || slices.Contains(g.Env.ConfiguredNames(), name)
}

// isReachable reports whether requests may be sent to a server. It must have a complete address, or
// be known to mcpc; a server that needs a command also needs Exec.
func (a *Actor) isReachable(g *cmdutil.Factory, name string) bool {
	if name == connect.DemoEndpoint || isWholeAddress(name) || a.isAgreed(name) {
		return true
	}
	if slices.Contains(g.SessionNames(""), name) {
		_, st, err := g.Env.LoadState()
		saved, _ := st.Session(name)
		// A session with a command would start it.
		return err == nil && (len(saved.Command) == 0 || a.Exec)
	}
	if !slices.Contains(g.Env.ConfiguredNames(), name) {
		return false
	}
	s, out := g.Env.ServerNamed(name)
	return out.OK() && (s.Kind != target.Stdio || a.Exec)
}
