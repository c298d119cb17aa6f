package main

import (
	"bytes"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"mcpc/internal/client"
	"mcpc/internal/wire"
)

// settings are what the flags of all commands say about a connection.
type settings struct {
	server string
	// serverGiven tells an empty -s from none.
	serverGiven bool
	protocol    string
	headers     []string
	headerFiles []string
	state       string
	verbose     int
	logLevel    string
	recordTo    string
	noRecord    bool
	limits      client.Limits
	auth        authFlags
	noInput     bool
	confirm     string
	answers     answering
	network     reachFlags
	index       int
	strict      bool
}

// display is what they say about the output.
type display struct {
	json       bool
	wire       bool
	jq         string
	output     string
	explain    bool
	color      string
	redactFile string
	maxChars   int
	limitFlags
	seeing
}

// limitFlags are the limits as they are typed: 0 is none.
type limitFlags struct {
	connect  time.Duration
	timeout  time.Duration
	maxTime  time.Duration
	probe    time.Duration
	maxSize  size
	maxPages int
	maxItems int
}

// globals are the flags that every command knows.
type globals struct {
	settings
	display
}

// addGlobals declares them. Their defaults are those of internal/client, where
// zero means "the default" and the flag's 0 means "no limit".
func (g *app) addGlobals(f *pflag.FlagSet) {
	f.VarP((*targetFlag)(&g.server), "server", "s", "URL, session, name that mcpc servers lists, \"demo\"; or -- COMMAND")
	f.StringVar(&g.protocol, "protocol", "", "pin a `revision`: "+strings.Join(client.Revisions(), ", "))
	f.StringArrayVarP(&g.headers, "header", "H", nil, "HTTP header `field` \"Name: value\"; \"Name:\" removes one")
	f.StringArrayVar(&g.headerFiles, "header-file", nil, "`file` with header fields, one per line")
	f.StringVar(&g.state, "state", "", "state `dir`ectory")
	f.BoolVar(&g.json, "json", false, "print the server's result as JSON, unchanged")
	f.BoolVar(&g.wire, "wire", false, "print the whole JSON-RPC message, unchanged")
	f.StringVar(&g.jq, "jq", "", "filter the JSON with a jq `expr`ession")
	f.StringVarP(&g.output, "output", "o", "", "write the result to a `file`")
	f.BoolVar(&g.explain, "explain", false, "show the exchange with explanatory notes")
	f.CountVarP(&g.verbose, "verbose", "v", "show the traffic: -v lines, -vv bodies, -vvv bytes")
	f.StringVar(&g.color, "color", "auto", "`when` to use color: auto, always or never")
	g.seeing.flags(f)
	f.StringVar(&g.logLevel, "log-level", "", "request log messages of this `level` and above")
	f.StringVar(&g.recordTo, "record", "", "write the recording to `FILE`; \"off\" disables it")
	addAuthFlags(f, &g.auth)
	addNetworkFlags(f, &g.network)
	f.BoolVar(&g.noRecord, "no-record", false, "do not record (the recording is what mcpc log shows)")
	f.StringVar(&g.redactFile, "redact-file", "", "`file` with values and patterns to hide, one per line")
	f.Var((*seconds)(&g.connect), "connect-timeout", "time limit for DNS, TCP and TLS (default 10s)")
	f.Var((*seconds)(&g.timeout), "timeout", "time limit without a response or progress (default 60s)")
	f.Var((*seconds)(&g.maxTime), "max-time", "time limit for a whole request or list (default 10m)")
	f.Var((*seconds)(&g.probe), "probe-timeout", "time limit for protocol detection over stdio (default 10s)")
	f.Var(&g.maxSize, "max-message-size", "size limit for one message (default 64MiB, 0 none)")
	f.IntVar(&g.maxPages, "max-pages", 1000, "limit of pages in a list (default 1000, 0 none)")
	f.StringVar(&g.confirm, "confirm", "auto", "`when` to confirm: auto, always or never (help targets)")
	f.BoolVar(&g.strict, "strict", false, "reject malformed responses (exit code 8), and arguments that mcpc cannot check (3)")
	f.BoolVar(&g.noInput, "no-input", false, "never prompt")
	f.IntVar(&g.maxItems, "max-items", 100000, "limit of items in a list (default 100000, 0 none)")
}

// asLimits are those of internal/client, where 0 means the default and -1 none.
func (g *limitFlags) asLimits() client.Limits {
	return client.Limits{
		Connect: g.connect, Idle: g.timeout, Hard: g.maxTime, Probe: g.probe, Message: g.maxSize.bytes(),
		Pages: noLimit(g.maxPages), Items: noLimit(g.maxItems),
	}
}

func noLimit(n int) int {
	if n == 0 {
		return -1
	}
	return n
}

// fromEnvironment gives every flag that was not set the value of its variable:
// --max-time is MCPC_MAX_TIME. It runs before any command does.
func fromEnvironment(cmd *cobra.Command, getenv func(string) string) error {
	var failed error
	cmd.Flags().VisitAll(func(f *pflag.Flag) {
		name := envName(f.Name)
		value := getenv(name)
		// Which server is meant is the target's to settle, and who said so matters.
		if f.Changed || value == "" || f.Name == "help" || f.Name == "server" {
			return
		}
		if err := cmd.Flags().Set(f.Name, value); err != nil && failed == nil {
			failed = hinted("the variable "+name+": "+flagText(err), wire.Hint("unset "+name+" removes it"))
		}
	})
	return failed
}

func envName(flag string) string {
	return "MCPC_" + strings.ToUpper(strings.ReplaceAll(flag, "-", "_"))
}

// check refuses values that no type could refuse.
func (g *app) check() error {
	known := client.Revisions()
	if g.protocol != "" && !slices.Contains(known, g.protocol) {
		return hinted(fmt.Sprintf("unknown revision %q", g.protocol), wire.Hint("mcpc supports "+strings.Join(known, ", ")))
	}
	if colors := []string{"auto", "always", "never"}; !slices.Contains(colors, g.color) {
		return hinted(fmt.Sprintf("--color must be auto, always or never, not %q", g.color), didYouMean("--color %s", g.color, colors, ""))
	}
	if !slices.Contains(confirmWords, g.confirm) {
		return hinted(fmt.Sprintf("--confirm must be auto, always or never, not %q", g.confirm), "auto asks for destructive tools and servers that are not trusted")
	}
	if g.logLevel != "" && !slices.Contains(logLevels, g.logLevel) {
		return hinted(fmt.Sprintf("unknown log level %q", g.logLevel), didYouMean("--log-level %s", g.logLevel, logLevels, wire.Hint("levels are "+strings.Join(logLevels, ", "))))
	}
	if g.maxPages < 0 || g.maxItems < 0 {
		return hinted("--max-pages and --max-items must be 0 or more", "0 means no limit")
	}
	if err := g.seeing.check(); err != nil {
		return err
	}
	_, err := g.typedFields()
	return err
}

// fields are the header fields of the user's, of --header-file and of -H.
func (a *env) fields() ([]wire.Field, error) {
	if err := a.readHeaderFiles(); err != nil {
		return nil, err
	}
	return a.typedFields()
}

// readHeaderFiles puts the fields of --header-file before those of -H, which so replace
// them. What stands in a file and not on the command line is taken for secret.
func (a *env) readHeaderFiles() error {
	var lines []string
	for _, name := range a.headerFiles {
		raw, err := a.readFile(name, mostSecret)
		if err != nil {
			return notRead("--header-file "+name, err, "")
		}
		for i, line := range strings.Split(string(bytes.TrimPrefix(raw, []byte("\xEF\xBB\xBF"))), "\n") {
			if line = strings.TrimSpace(line); line == "" || line[0] == '#' {
				continue
			}
			field, err := headerField(line)
			if err != nil {
				return hinted(fmt.Sprintf("--header-file %s, line %d: not a header field", name, i+1), "a line is 'Name: value'")
			}
			a.secrets.LearnField(field)
			a.secrets.Learn(field.Value)
			lines = append(lines, line)
		}
	}
	a.headers, a.headerFiles = append(lines, a.headers...), nil
	return nil
}

// typedFields reads the -H flags.
func (g *settings) typedFields() ([]wire.Field, error) {
	var fields []wire.Field
	for _, h := range g.headers {
		field, err := headerField(h)
		if err != nil {
			return nil, err
		}
		fields = append(fields, field)
	}
	return fields, nil
}

func headerField(h string) (wire.Field, error) {
	name, value, ok := strings.Cut(h, ":")
	name = strings.TrimSpace(name)
	if !ok || name == "" || strings.ContainsAny(name, " \t") {
		return wire.Field{}, hinted(fmt.Sprintf("not a header field: %q", h), "write it as 'Name: value'")
	}
	if strings.ContainsAny(h, "\r\n\x00") {
		return wire.Field{}, fmt.Errorf("a header field contains a line break: %q", h)
	}
	return wire.Field{Name: name, Value: strings.TrimSpace(value)}, nil
}

// targetFlag is what names a server.
type targetFlag string

func (t *targetFlag) Type() string          { return "target" }
func (t *targetFlag) String() string        { return string(*t) }
func (t *targetFlag) Set(text string) error { *t = targetFlag(text); return nil }

// seconds is a duration flag: "5" and "5s" are the same. 0 is none and kept as -1, so
// that the zero value is a flag that was not set.
type seconds time.Duration

func (s *seconds) Type() string { return "time" }

func (s *seconds) String() string {
	switch *s {
	case 0:
		return ""
	case -1:
		return "0s"
	}
	return time.Duration(*s).String()
}

func (s *seconds) Set(text string) error {
	d, err := time.ParseDuration(text)
	if n, bad := strconv.ParseFloat(text, 64); bad == nil {
		d, err = time.Duration(n*float64(time.Second)), nil
	}
	if err != nil || d < 0 {
		return fmt.Errorf("%q is not a duration: use 5, 500ms or 2m", text)
	}
	if *s = seconds(d); d == 0 {
		*s = -1
	}
	return nil
}

// size is a number of bytes: "64MiB", "10mb", "4096"; 0 is no limit.
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

var units = []struct {
	suffix string
	factor int64
}{{"kib", 1 << 10}, {"mib", 1 << 20}, {"gib", 1 << 30}, {"kb", 1e3}, {"mb", 1e6}, {"gb", 1e9}, {"k", 1 << 10}, {"m", 1 << 20}, {"g", 1 << 30}, {"b", 1}}

func (s *size) Set(text string) error {
	number, factor := strings.ToLower(strings.TrimSpace(text)), int64(1)
	for _, u := range units {
		if strings.HasSuffix(number, u.suffix) {
			number, factor = strings.TrimSuffix(number, u.suffix), u.factor
			break
		}
	}
	n, err := strconv.ParseInt(strings.TrimSpace(number), 10, 64)
	if err != nil || n < 0 || n > 1<<53/factor {
		return fmt.Errorf("%q is not a size: use 4096, 64MiB or 10mb", text)
	}
	s.set, s.value = true, n*factor
	return nil
}

func (s *size) bytes() int64 {
	if s.set && s.value == 0 {
		return -1
	}
	return s.value
}
