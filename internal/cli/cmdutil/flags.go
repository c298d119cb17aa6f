package cmdutil

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"mcpc/internal/client"
	"mcpc/internal/connect/host"
	"mcpc/internal/connect/toolcall"
	"mcpc/internal/mcp"
	"mcpc/internal/suggest"
	"mcpc/internal/usage"
	"mcpc/internal/wire"
)

// unlimited is the value of a limit that is switched off, as in client.Limits. There 0 means the
// default.
const unlimited = -1

// limitFlags are the limits as typed. A time of 0 is a flag that was not set.
type limitFlags struct {
	connect  time.Duration
	timeout  time.Duration
	maxTime  time.Duration
	probe    time.Duration
	maxSize  size
	maxPages int
	maxItems int
	// unitless has, for each time limit that was typed as a large number without a unit, its text
	// by the flag's name.
	unitless map[string]string
}

// limitTime returns the flag value for a time limit.
func (g *limitFlags) limitTime(limit *time.Duration, name string) pflag.Value {
	return limitTime{(*Seconds)(limit), name, g}
}

// A limitTime is a time limit that records large numbers without a unit: they probably mean
// milliseconds.
type limitTime struct {
	*Seconds
	name  string
	flags *limitFlags
}

// maxUnitless is the largest number without a unit that is taken as seconds without a note.
const maxUnitless = 3600

// Set parses the time, and records a large number without a unit.
func (t limitTime) Set(text string) error {
	if err := t.Seconds.Set(text); err != nil {
		return err
	}
	delete(t.flags.unitless, t.name) // of an earlier value of the flag
	if n, err := strconv.ParseFloat(text, 64); err == nil && n > maxUnitless {
		if t.flags.unitless == nil {
			t.flags.unitless = map[string]string{}
		}
		t.flags.unitless[t.name] = text
	}
	return nil
}

// NoteUnitlessTimes prints a note for each time limit that probably means milliseconds.
func (g *Factory) NoteUnitlessTimes() {
	for _, name := range slices.Sorted(maps.Keys(g.unitless)) {
		text := g.unitless[name]
		n, _ := strconv.ParseFloat(text, 64)
		seconds := time.Duration(n * float64(time.Second))
		shorter := seconds / 1000
		g.Note(fmt.Sprintf("--%s %s is in seconds, %s; %sms is %s", name, text, seconds, text, shorter))
	}
}

// AddGlobals declares the flags of all commands. The defaults of the limits are in internal/client:
// there 0 means the default, while 0 as a flag's value means no limit.
func (g *Factory) AddGlobals(f *pflag.FlagSet) {
	f.VarP((*targetFlag)(&g.Server), "server", "s", "URL, session, \"demo\", or a name that mcpc servers lists")
	f.StringVar(&g.Protocol, "protocol", "", "pin a `revision`: "+strings.Join(client.Revisions(), ", "))
	f.StringArrayVarP(&g.Headers, "header", "H", nil, "HTTP header `field` \"Name: value\"; \"Name:\" removes one")
	f.StringArrayVar(&g.HeaderFiles, "header-file", nil, "`file` with header fields, one per line")
	f.StringVar(&g.State, "state", "", "state `dir`ectory")
	f.BoolVar(&g.JSON, "json", false, "print the server's result as JSON, unchanged")
	f.BoolVar(&g.Wire, "wire", false, "print the whole JSON-RPC message, unchanged")
	f.StringVar(&g.Jq, "jq", "", "filter the JSON with a jq `expr`ession")
	f.StringVarP(&g.Output, "output", "o", "", "write the result to a `file`")
	f.BoolVar(&g.Explain, "explain", false, "show the exchange with explanatory notes")
	f.CountVarP(&g.Verbose, "verbose", "v", "show the traffic: -v lines, -vv bodies, -vvv bytes")
	g.AddDisplayFlags(f)
	f.StringVar(&g.LogLevel, "log-level", "", "request log messages of this `level` and above")
	f.StringVar(&g.RecordTo, "record", "", "write the recording to `FILE`; \"off\" disables it")
	f.StringVar(&g.Auth.Account, "account", "", "`name` of the account, if there are several at the server")
	f.StringVar(&g.Auth.TokenFile, "token-file", "", "send the token in `FILE` (or in MCPC_TOKEN)")
	f.BoolVar(&g.Auth.NoPrompt, "no-auth-prompt", false, "never prompt for a login; exit with code 4")
	f.StringVar(&g.Network.CACert, "cacert", "", "`file` with CA certificates to trust instead of the system's (PEM)")
	f.StringVar(&g.Network.Cert, "cert", "", "`file` with the client certificate (PEM, may contain the key)")
	f.StringVar(&g.Network.Key, "key", "", "`file` with the private key of --cert (PEM, not encrypted)")
	f.BoolVar(&g.Network.Insecure, "insecure", false, "do not verify the server's certificate; never remembered")
	f.StringVar((*string)(&g.Network.Proxy), "proxy", "",
		"proxy `URL`: http://, https:// or socks5://HOST:PORT; none disables it")
	f.StringArrayVar(&g.Network.Resolve, "resolve", nil,
		"`HOST:PORT:ADDR`ESS: connect to ADDRESS instead of resolving HOST")
	f.StringVar(&g.Network.Socket, "unix-socket", "", "connect through the unix socket at this `path`")
	f.BoolVar(&g.NoRecord, "no-record", false, "do not record (the recording is what mcpc log shows)")
	f.StringVar(&g.RedactFile, "redact-file", "", "`file` with values and patterns to hide, one per line")
	f.Var(g.limitTime(&g.connect, "connect-timeout"), "connect-timeout", "time limit for DNS, TCP and TLS (default 10s)")
	f.Var(g.limitTime(&g.timeout, "timeout"), "timeout", "time limit without a response or progress (default 60s)")
	f.Var(g.limitTime(&g.maxTime, "max-time"), "max-time", "time limit for a whole request or list (default 10m)")
	f.Var(g.limitTime(&g.probe, "probe-timeout"), "probe-timeout",
		"time limit for the probe server/discover (default 10s)")
	f.Var(&g.maxSize, "max-message-size", "size limit for one message (default 64MiB, 0 none)")
	f.IntVar(&g.maxPages, "max-pages", 1000, "limit of pages in a list (default 1000, 0 none)")
	f.StringVar(&g.Confirm, "confirm", "auto", "`when` to confirm: auto, always or never (help targets)")
	f.BoolVar(&g.Strict, "strict", false,
		"reject malformed responses (exit code 8), and arguments that mcpc cannot check (3)")
	f.BoolVar(&g.NoInput, "no-input", false, "never prompt")
	f.IntVar(&g.maxItems, "max-items", 100000, "limit of items in a list (default 100000, 0 none)")
}

// AddHelpAll declares --help-all. The flag is hidden, as --help is in the lists of flags.
func (f *Factory) AddHelpAll(flags *pflag.FlagSet) {
	flags.BoolVar(&f.AsksCompleteHelp, "help-all", false, "show the complete help")
	_ = flags.MarkHidden("help-all")
}

// AddIndex declares --index on a command that names a tool.
func (f *Factory) AddIndex(flags *pflag.FlagSet) {
	flags.IntVar(&f.Index, "index", 0, "if several tools have the same name: use number N of them, from 1")
}

// AddFresh declares --fresh on a command that checks its requests against the server's lists.
func (f *Factory) AddFresh(flags *pflag.FlagSet) {
	flags.BoolVar(&f.Fresh, "fresh", false, "ignore cached definitions, and fetch them again")
}

// AnsweringFlags returns the flags of cmd that mcpc help answering explains.
func AnsweringFlags(cmd *cobra.Command) []*pflag.Flag {
	var flags []*pflag.Flag
	for _, name := range []string{"answer", "answer-defaults", "decline", "on-elicit", "sampling", "on-sampling", "root"} {
		if f := cmd.LocalNonPersistentFlags().Lookup(name); f != nil {
			flags = append(flags, f)
		}
	}
	return flags
}

// AddExtension declares --extension.
func (f *Factory) AddExtension(flags *pflag.FlagSet) {
	flags.StringArrayVar(&f.Answers.Extensions, "extension", nil,
		"declare the client extension `ID[=JSON]`, with its settings")
}

// AddAnswering declares the flags that answer a server's requests.
func (f *Factory) AddAnswering(flags *pflag.FlagSet) {
	f.AddExtension(flags)
	flags.StringArrayVar(&f.Answers.Answers, "answer", nil, "`answer` a form: FIELD=VALUE, JSON or @FILE (help answering)")
	flags.BoolVar(&f.Answers.Defaults, "answer-defaults", false, "answer a form with its defaults")
	flags.BoolVar(&f.Answers.Decline, "decline", false, "decline every form and page")
	flags.StringVar(&f.Answers.OnElicit, "on-elicit", "", "shell `command` that answers forms and pages (params on stdin)")
	flags.StringVar(&f.Answers.Sampling, "sampling", "", "`file` with the sampling result; - is the terminal or stdin")
	flags.StringVar(&f.Answers.OnSampling, "on-sampling", "", "shell `command` that answers sampling (params on stdin)")
	flags.StringArrayVar(&f.Answers.Roots, "root", nil, "`dir`ectory to offer as a root")
}

// AddMaxChars declares --max-chars on a command that prints a server's result.
func (f *Factory) AddMaxChars(flags *pflag.FlagSet) {
	flags.IntVar(&f.maxChars, "max-chars", 0, "print at most N characters of the result")
}

// ClientLimits returns the limits for internal/client.
func (g *limitFlags) ClientLimits() client.Limits {
	return client.Limits{
		Connect: g.connect, Idle: g.timeout, Hard: g.maxTime, Probe: g.probe, Message: g.maxSize.bytes(),
		Pages: clientLimit(g.maxPages), Items: clientLimit(g.maxItems),
	}
}

// clientLimit returns the limit for internal/client for the value of a flag, whose 0 means no
// limit.
func clientLimit(typed int) int {
	if typed == 0 {
		return unlimited
	}
	return typed
}

// SetFlagsFromEnvironment sets every flag that was not typed from its environment variable:
// --max-time from MCPC_MAX_TIME. It runs before the command, and returns the first error.
func SetFlagsFromEnvironment(cmd *cobra.Command, getenv func(string) string) error {
	var failed error
	cmd.Flags().VisitAll(func(f *pflag.Flag) {
		name := host.EnvName(f.Name)
		value := getenv(name)
		// Package target reads MCPC_SERVER itself: it treats the variable unlike the flag.
		isServer := f.Name == "server"
		asksForHelp := f.Name == "help" || f.Name == "help-all" // only where it is typed
		if f.Changed || value == "" || isServer || asksForHelp {
			return
		}
		if err := cmd.Flags().Set(f.Name, value); err != nil && failed == nil {
			failed = usage.New("the variable "+name+": "+FlagText(err), wire.Hint("unset "+name+" removes it"))
		}
	})
	return failed
}

// CheckFlags returns an error for values that their types accept but the commands do not, and for
// flags that exclude each other.
func (g *Factory) CheckFlags() error {
	revisions := client.Revisions()
	if g.Protocol != "" && !slices.Contains(revisions, g.Protocol) {
		return usage.New(
			fmt.Sprintf("unknown revision %q", g.Protocol),
			wire.Hint("mcpc supports "+strings.Join(revisions, ", ")),
		)
	}
	if !slices.Contains(toolcall.ConfirmWords, g.Confirm) {
		return usage.New(
			fmt.Sprintf("--confirm must be auto, always or never, not %q", g.Confirm),
			"auto asks for destructive tools and servers that are not trusted",
		)
	}
	if g.LogLevel != "" && !slices.Contains(mcp.LogLevels, g.LogLevel) {
		return usage.New(
			fmt.Sprintf("unknown log level %q", g.LogLevel),
			suggest.DidYouMean("--log-level %s", g.LogLevel, mcp.LogLevels,
				wire.Hint("levels are "+strings.Join(mcp.LogLevels, ", "))),
		)
	}
	if g.maxPages < 0 || g.maxItems < 0 {
		return usage.New("--max-pages and --max-items must be 0 or more", "0 means no limit")
	}
	if err := g.CheckDisplayFlags(); err != nil {
		return err
	}
	if _, err := g.TypedFields(); err != nil {
		return err
	}
	if g.maxChars == 0 {
		return nil
	}
	if g.maxChars < minChars {
		return usage.New(
			fmt.Sprintf("--max-chars must be %d or more, not %d", minChars, g.maxChars),
			"--max-chars 4000 is about 1000 tokens",
		)
	}
	if g.Wire {
		return usage.New("--wire prints messages unchanged, so it has no --max-chars", "use --json --max-chars")
	}
	return nil
}

// targetFlag is the value of -s. Its own type gives help a word for it.
type targetFlag string

func (t *targetFlag) Type() string { return "target" }

func (t *targetFlag) String() string { return string(*t) }

func (t *targetFlag) Set(text string) error { *t = targetFlag(text); return nil }

// Seconds is a duration flag: "5" and "5s" are the same. A typed 0 is stored as unlimited, so that
// 0 means a flag that was not set.
type Seconds time.Duration

func (s *Seconds) Type() string { return "time" }

func (s *Seconds) String() string {
	switch *s {
	case 0:
		return ""
	case unlimited:
		return "0s"
	}
	return time.Duration(*s).String()
}

func (s *Seconds) Set(text string) error {
	d, err := time.ParseDuration(text)
	// ParseDuration rejects a number without a unit.
	if seconds, floatErr := strconv.ParseFloat(text, 64); floatErr == nil {
		d = time.Duration(seconds * float64(time.Second))
		err = nil
	}
	if err != nil || d < 0 {
		return fmt.Errorf("%q is not a duration: use 5, 500ms or 2m", text)
	}
	*s = Seconds(d)
	if d == 0 { // the user wants no limit
		*s = unlimited
	}
	return nil
}

// size is a number of bytes as typed: "64MiB", "10mb", "4096". 0 is no limit.
type size struct {
	set   bool
	value int64
}

func (s *size) Type() string { return "size" }

func (s *size) String() string {
	if !s.set {
		return ""
	}
	return strconv.FormatInt(s.value, 10)
}

// units are the suffixes of a size. A suffix comes before the shorter suffixes that it ends with.
var units = []struct {
	suffix string
	factor int64
}{
	{"kib", 1 << 10},
	{"mib", 1 << 20},
	{"gib", 1 << 30},
	{"kb", 1e3},
	{"mb", 1e6},
	{"gb", 1e9},
	{"k", 1 << 10},
	{"m", 1 << 20},
	{"g", 1 << 30},
	{"b", 1},
}

// maxBytes is the largest size that --max-message-size takes.
const maxBytes = 1 << 53

func (s *size) Set(text string) error {
	number := strings.ToLower(strings.TrimSpace(text))
	factor := int64(1)
	for _, u := range units {
		if strings.HasSuffix(number, u.suffix) {
			number = strings.TrimSuffix(number, u.suffix)
			factor = u.factor
			break
		}
	}
	n, err := strconv.ParseInt(strings.TrimSpace(number), 10, 64)
	if err != nil || n < 0 || n > maxBytes/factor {
		return fmt.Errorf("%q is not a size: use 4096, 64MiB or 10mb", text)
	}
	s.set = true
	s.value = n * factor
	return nil
}

// bytes returns the limit for internal/client, in bytes: 0 if the flag is not set.
func (s *size) bytes() int64 {
	if s.set && s.value == 0 {
		return unlimited
	}
	return s.value
}

// ShowsTables reports whether the answer is printed for people, not as JSON.
func (f *Factory) ShowsTables() bool { return !f.PrintsJSON() }

// OnlyWritesText reports whether the answer is plain text for a pipe that is neither saved, cut nor
// coloured.
func (f *Factory) OnlyWritesText() bool {
	return f.ShowsTables() && !f.OutStyle.Pretty() && f.Output == "" && f.maxChars == 0
}
