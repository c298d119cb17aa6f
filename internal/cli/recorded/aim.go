package recorded

import (
	"path/filepath"
	"slices"

	"mcpc/internal/capture/rows"
	"mcpc/internal/cli/cmdutil"
	"mcpc/internal/connect"
	"mcpc/internal/redact"
	"mcpc/internal/shellwords"
	"mcpc/internal/target"
	"mcpc/internal/usage"
	"mcpc/internal/wire"
)

// An Aim is the server that recorded requests are sent to, as the user says.
type Aim struct {
	// Verb and Word are the command and what it was given, "resend" and "42.3", for hints.
	Verb, Word string
	// To is what -s takes, Argv a command behind --; AllowExec allows the recorded command.
	To        string
	Argv      []string
	AllowExec bool
}

// RejectTwoServers refuses two servers.
func (a *Aim) RejectTwoServers(f *cmdutil.Factory) error {
	if a.To != "" && (f.ServerGiven || a.AllowExec || a.Argv != nil) {
		return usage.New("the server is given twice: --to and another argument", "use only one of them")
	}
	return nil
}

// SelectServer selects the server. Nothing in a recording is contacted or started merely because
// it was recorded.
func (a *Aim) SelectServer(f *cmdutil.Factory, g Request) wire.Outcome {
	if a.To != "" {
		f.Server = a.To
		f.ServerGiven = true
		return wire.Outcome{}
	}
	if f.ServerGiven || a.Argv != nil {
		return wire.Outcome{}
	}
	if a.AllowExec {
		a.Argv = g.ServerArgv()
		if a.Argv == nil {
			return usage.Outcome(
				usage.New("no server command is recorded there", wire.Run(a.Verb+" "+shellwords.Quote(a.Word)+" --to TARGET")),
			)
		}
		if g.Row.Target == connect.DemoEndpoint {
			f.Server = connect.DemoEndpoint
			f.ServerGiven = true
			a.Argv = nil
		}
		return RejectHidden("give the whole command: -- COMMAND...", a.Argv...)
	}
	again := a.Verb + " " + shellwords.Quote(a.Word)
	hint := wire.Run(again + " --to TARGET")
	switch address := g.Address(); {
	case g.Capture.Bundled(): // a stranger may have named the server
	case slices.Contains(f.SessionNames(""), g.Row.Target):
		hint = wire.Run(again + " --to " + shellwords.Quote(g.Row.Target))
	case IsAddress(address) || address == connect.DemoEndpoint || finds(f, address):
		hint = wire.Run(again + " --to " + shellwords.Quote(address))
	case g.ServerArgv() != nil:
		hint = wire.Run(again+" --allow-exec") + " runs: " + wire.Hint(connect.CommandLine(g.ServerArgv()))
	case address != "": // a session that was closed
		hint = wire.Run(again + " -- COMMAND")
	}
	return wire.Outcome{Kind: wire.Refused, Phase: "arguments", Hint: hint,
		Text: a.Verb + " needs --to, --allow-exec or a command after --"}
}

// finds reports whether -s takes a name.
func finds(f *cmdutil.Factory, name string) bool {
	_, err := target.Parse(target.Input{
		Flag:      name,
		FlagGiven: true,
		Sessions:  f.SessionNames(""),
		Known:     func() (names []string) { return f.Env.ConfiguredNames() },
	})
	return name != "" && err == nil
}

// RejectHidden refuses to send the placeholder of a secret.
func RejectHidden(hint wire.Hint, texts ...string) wire.Outcome {
	for _, text := range texts {
		if redact.IsUnknown(text) {
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

// NameOf names an exchange for another recording: its number, and the file where it is none
// of the ring.
func NameOf(row *rows.Row) string {
	if row.Run > 0 {
		return row.Number()
	}
	return cmdutil.ShownFile(filepath.Base(row.Path())) + "#" + row.Number()
}
