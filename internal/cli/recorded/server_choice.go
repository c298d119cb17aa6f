package recorded

import (
	"path/filepath"
	"slices"
	"strings"

	"mcpc/internal/capture/rows"
	"mcpc/internal/cli/cmdutil"
	"mcpc/internal/connect"
	"mcpc/internal/redact"
	"mcpc/internal/shellwords"
	"mcpc/internal/target"
	"mcpc/internal/usage"
	"mcpc/internal/wire"
)

// A ServerChoice is how the user chooses the server that recorded requests are sent to.
type ServerChoice struct {
	// Verb and Word are the command and its argument, such as "resend" and "42.3", for hints.
	Verb, Word string
	// Changes are the words NAME=VALUE after Word, for hints.
	Changes []string
	// To is a server as for -s. Argv is a command after --. AllowExec allows the recorded command.
	To        string
	Argv      []string
	AllowExec bool
}

// RejectTwoServers returns an error if the user chose two servers.
func (a *ServerChoice) RejectTwoServers(f *cmdutil.Factory) error {
	hasOther := f.ServerGiven || a.AllowExec || a.Argv != nil
	if a.To != "" && hasOther {
		return usage.New("the server is given twice: --to and another argument", "use only one of them")
	}
	return nil
}

// SelectServer sets the server of the command. A recording may come from anyone, so that its server
// is never contacted or started without a choice of the user: the outcome is then Refused, with a
// hint.
func (a *ServerChoice) SelectServer(f *cmdutil.Factory, r Request) wire.Outcome {
	if a.To != "" {
		f.Server = a.To
		f.ServerGiven = true
		return wire.Outcome{}
	}
	if f.ServerGiven || a.Argv != nil {
		return wire.Outcome{}
	}
	if a.AllowExec {
		a.Argv = r.ServerArgv()
		if a.Argv == nil {
			return usage.Outcome(usage.New("no server command is recorded there",
				wire.Run(a.Verb+" "+shellwords.Quote(a.Word)+" --to TARGET")))
		}
		if r.Row.Target == connect.DemoEndpoint { // it runs inside mcpc, without a process
			f.Server = connect.DemoEndpoint
			f.ServerGiven = true
			a.Argv = nil
		}
		return RejectHidden("give the whole command: -- COMMAND...", a.Argv...)
	}
	return wire.Outcome{
		Kind: wire.Refused, Phase: "arguments", Hint: a.serverHint(f, r),
		Text: a.Verb + " needs --to, --allow-exec or a command after --",
	}
}

// serverHint returns the command line that sends the request to its recorded server again.
func (a *ServerChoice) serverHint(f *cmdutil.Factory, r Request) wire.Hint {
	words := append([]string{a.Word}, a.Changes...)
	command := a.Verb + " " + strings.Join(connect.QuotedWords(words), " ")
	if r.Capture.IsBundled() { // a bundle may come from anyone: do not suggest its server
		return wire.Run(command + " --to TARGET")
	}
	if slices.Contains(f.SessionNames(""), r.Row.Target) {
		return wire.Run(command + " --to " + shellwords.Quote(r.Row.Target))
	}
	address := r.Address()
	if IsAddress(address) || address == connect.DemoEndpoint || isServerName(f, address) {
		return wire.Run(command + " --to " + shellwords.Quote(address))
	}
	if argv := r.ServerArgv(); argv != nil {
		return wire.Run(command+" --allow-exec") + " runs: " + wire.Hint(connect.CommandLine(argv))
	}
	if address != "" { // the name of a closed session
		return wire.Run(command + " -- COMMAND")
	}
	return wire.Run(command + " --to TARGET")
}

// isServerName reports whether -s accepts a name.
func isServerName(f *cmdutil.Factory, name string) bool {
	_, err := target.Parse(target.Input{
		Flag:      name,
		FlagGiven: true,
		Sessions:  f.SessionNames(""),
		Known:     func() (names []string) { return f.Env.ConfiguredNames() },
	})
	return name != "" && err == nil
}

// RejectHidden returns an outcome that refuses texts with the placeholder of a secret.
func RejectHidden(hint wire.Hint, texts ...string) wire.Outcome {
	for _, text := range texts {
		if redact.HasHiddenParts(text) {
			return wire.Outcome{
				Kind:  wire.Refused,
				Phase: "arguments",
				Text:  "it contains a secret that was not recorded, so it cannot be sent",
				Hint:  hint,
			}
		}
	}
	return wire.Outcome{}
}

// NameOf returns the name of an exchange in texts about several recordings: its number, with the
// file if the recording is not a run of the state directory.
func NameOf(row *rows.Row) string {
	if row.Run > 0 {
		return row.Number()
	}
	return cmdutil.ShownFile(filepath.Base(row.Path())) + "#" + row.Number()
}
