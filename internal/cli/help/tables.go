package help

import (
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"mcpc/internal/cli/cmdutil"
	"mcpc/internal/sliceutil"
)

// The order and the groups of flags in help, and its references to other pages.

// A helpGroup is a heading and the names of its flags, separated by spaces.
type helpGroup struct{ head, Names string }

// GlobalGroups has each flag of all commands in exactly one group.
var GlobalGroups = []helpGroup{
	{"Common global flags", "server json wire jq output verbose explain log-level protocol header header-file timeout"},
	{"Connection", "account token-file no-auth-prompt cacert cert key insecure proxy resolve unix-socket"},
	{"At a terminal", "color images no-images no-pager raw-text no-input confirm"},
	{"Recording and state", "record no-record redact-file state"},
	{"Limits", "strict connect-timeout max-time probe-timeout max-items max-message-size max-pages"},
}

// MaxCommon is the number of flags that -h shows for a command, in the order of their declaration.
const MaxCommon = 8

// SeeAlso has, for a command, the commands, topics and terms that its help refers to.
var SeeAlso = map[string]string{
	"auth":            "login, auth logout, auth explain",
	"auth explain":    "login, explain http 401",
	"auth import":     "auth export, login",
	"auth export":     "auth import, auth logout",
	"batch":           "call, run, shell, help answering",
	"bench":           "call, batch, check, help exit-codes",
	"call":            "describe, help arguments, help answering, explain isError",
	"codegen":         "describe, list, help agents",
	"complete":        "prompt, read, describe",
	"completion":      "help arguments",
	"demo":            "mock, init",
	"describe":        "list, call, help arguments",
	"diff":            "list, show, servers trust, help exit-codes",
	"explain":         "help exit-codes, show",
	"export":          "log, replay, mock, help filters",
	"fault":           "help faults, proxy, tap",
	"fault add":       "help faults, fault list",
	"fault list":      "fault add, fault remove",
	"fault off":       "fault list, fault remove",
	"fault remove":    "fault list, fault off",
	"grep":            "list, servers, help targets",
	"init":            "sessions, sessions close, help revisions, help answering",
	"inspect":         "log, show, tap, proxy, help filters",
	"judge":           "log, batch, check, help faults",
	"list":            "describe, call, listen",
	"listen":          "list, tasks, explain list_changed",
	"log":             "show, help filters",
	"app":             "call, inspect",
	"login":           "auth, auth explain, auth logout",
	"man":             "completion, help exit-codes",
	"check":           "run, show, log, mock",
	"mock":            "help mock-scripts, help faults, demo, proxy, log",
	"ping":            "describe, explain ping",
	"prompt":          "list, describe, help arguments",
	"proxy":           "tap, log, help faults",
	"raw":             "call, help revisions, explain",
	"read":            "list, describe, complete",
	"replay":          "mock, diff, log",
	"run":             "call, export, help exit-codes, help scripting",
	"serve":           "serve install, servers, servers trust, codegen, help agents",
	"serve install":   "serve remove, login, tap install",
	"serve remove":    "serve install",
	"servers":         "servers trust, init, help targets",
	"shell":           "batch, run, help arguments",
	"sessions":        "init, sessions close, sessions use",
	"sessions use":    "sessions, init",
	"show":            "log, export, explain",
	"tap":             "proxy, log, tap install, help faults",
	"tap install":     "tap, tap remove, log",
	"tap remove":      "tap install",
	"skills":          "list, read, check",
	"skills list":     "skills get, skills read",
	"skills get":      "skills read, skills verify",
	"skills read":     "skills verify, skills export",
	"skills verify":   "skills get, check",
	"skills export":   "skills read, skills verify",
	"tasks":           "call, help answering, explain task",
	"tasks cancel":    "tasks get",
	"tasks get":       "tasks wait, explain task",
	"tasks list":      "tasks get, call",
	"tasks result":    "tasks wait, call",
	"tasks update":    "tasks wait, help answering",
	"tasks wait":      "tasks get, tasks result, help answering",
	"auth logout":     "login, auth",
	"sessions close":  "sessions, init",
	"sessions repair": "sessions",
	"servers trust":   "servers, help targets",
}

// OwnFlags returns the visible flags that only this command declares, without --help and without
// the flags that answer a server's requests.
func OwnFlags(cmd *cobra.Command) []*pflag.Flag {
	answers := cmdutil.AnsweringFlags(cmd)
	var own []*pflag.Flag
	cmd.LocalFlags().VisitAll(func(f *pflag.Flag) {
		if !f.Hidden && f.Name != "help" && !slices.Contains(answers, f) {
			own = append(own, f)
		}
	})
	return own
}

// sharedFlags returns the flags of all commands that the help of cmd shows first. It returns nil
// for a command that connects to no server.
func sharedFlags(cmd *cobra.Command) []*pflag.Flag {
	talks := strings.Contains(cmd.Use, "[-- COMMAND...]") && cmd.LocalNonPersistentFlags().Lookup("to") == nil
	if !talks && cmd.Parent().Name() != "tasks" {
		return nil
	}
	names := "server json jq"
	switch cmd.Name() {
	case "inspect":
		return nil // inspect has none of these flags
	case "batch", "run":
		names = "server jq" // they write JSON, for more than one result
	case "codegen":
		names = "server"
	case "app":
		names = "server output"
	}
	return sliceutil.Map(strings.Fields(names), cmd.InheritedFlags().Lookup)
}
