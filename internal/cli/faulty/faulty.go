// Package faulty has the common parts of commands with fault rules: their flags, the recording of
// forwarded traffic, the proxy before mcpc's own servers, the report and the control socket.
package faulty

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/spf13/pflag"

	"mcpc/internal/capture"
	"mcpc/internal/cli/cmdutil"
	"mcpc/internal/mcp"
	"mcpc/internal/proxy"
	"mcpc/internal/render/term"
	"mcpc/internal/render/traffic"
	"mcpc/internal/usage"
	"mcpc/internal/wire"
)

// Options are the flags for faults.
type Options struct {
	rules           []string
	seed            string
	report, control string
}

// AddFlags adds the flags.
func (o *Options) AddFlags(flags *pflag.FlagSet) {
	flags.StringArrayVar(&o.rules, "fault", nil, "fault `rules`: a file, a rule, or preset:NAME (mcpc help faults)")
	flags.StringVar(&o.seed, "fault-seed", "", "`seed` of the random numbers of fault rules")
	flags.StringVar(&o.report, "fault-report", "",
		"write what the client did after each fault to a `file`, as JSON; - writes text to stderr")
	flags.StringVar(&o.control, "control", "", "`socket` for mcpc fault, which changes the rules of the running command")
}

// Words returns the flags as arguments for another mcpc command. The report needs a file, because
// the stderr of that command is not shown.
func (o *Options) Words(f *cmdutil.Factory) (words []string, err error) {
	if o.report == "-" {
		return nil, usage.New("the server's stderr is not shown, so --fault-report needs a file",
			"--fault-report faults.json")
	}
	for _, r := range o.rules {
		if _, err := Read(f, r); err != nil {
			return nil, RuleError(err)
		}
		words = append(words, "--fault", r)
	}
	for _, flag := range [][2]string{{"--fault-seed", o.seed}, {"--fault-report", o.report}, {"--control", o.control}} {
		if flag[1] != "" {
			words = append(words, flag[0], flag[1])
		}
	}
	return words, nil
}

// HasRules reports whether there are rules or may be later.
func (o *Options) HasRules() bool { return len(o.rules) > 0 || o.control != "" }

// Faults are the rules of a running command. Nil means no rules and does not change the traffic.
type Faults struct {
	Desk *proxy.Desk

	factory *cmdutil.Factory
	options *Options
	// allowsHolding is set if views may hold messages.
	allowsHolding bool
	// mu guards the judge.
	mu    sync.Mutex
	judge proxy.Judge
	// closeControl closes the control socket, closeLive the socket for views, which openLive opens
	// after the first message.
	closeControl, closeLive, openLive func()
	// serverName names the server in recordings, recorder the command that records.
	serverName, recorder string
}

// Link returns how clients connect to a server of mcpc.
func Link(stdio bool) proxy.Link {
	if stdio {
		return proxy.LinkStdio
	}
	return proxy.LinkHTTP
}

// ConnectTime returns the limit for connecting to a server.
func ConnectTime(f *cmdutil.Factory) time.Duration {
	return max(0, cmp.Or(f.Limits.Connect, 10*time.Second))
}

// Start reads the rules and listens on the control socket. It returns nil without the flags. The
// caller must call End, or Close if it fails before it serves.
func (o *Options) Start(f *cmdutil.Factory, link proxy.Link) (*Faults, error) {
	if !o.HasRules() && o.report == "" && o.seed == "" {
		return nil, nil
	}
	const allowsHolding = false
	return o.start(f, link, allowsHolding)
}

// StartLive starts the faults of a command that forwards messages. It always returns Faults with a
// Desk, and listens for views once a message has passed.
func (o *Options) StartLive(f *cmdutil.Factory, link proxy.Link) (*Faults, error) {
	const allowsHolding = true
	s, err := o.start(f, link, allowsHolding)
	if err == nil && runtime.GOOS != "windows" {
		s.openLive = sync.OnceFunc(s.listenLive)
	}
	return s, err
}

// start reads the rules into a new Desk, checks that the report can be written, and listens on the
// control socket if there is one. allowsHolding is set if views may hold messages.
func (o *Options) start(f *cmdutil.Factory, link proxy.Link, allowsHolding bool) (*Faults, error) {
	if !o.HasRules() && (o.report != "" || o.seed != "") {
		return nil, usage.New("there are no fault rules to report on, or to seed",
			"--fault names them: see "+wire.Run("help faults"))
	}
	seed := uint64(rand.Uint32())
	if o.seed != "" {
		var err error
		seed, err = strconv.ParseUint(o.seed, 10, 64)
		if err != nil {
			return nil, usage.New(fmt.Sprintf("--fault-seed must be a whole number, not %q", o.seed), "--fault-seed 7")
		}
	}
	s := &Faults{
		Desk:          &proxy.Desk{Seed: seed, Link: link, Now: f.Now, Encode: mcp.EncodeHeader},
		factory:       f,
		options:       o,
		allowsHolding: allowsHolding,
		closeControl:  func() {},
		closeLive:     func() {},
		openLive:      func() {},
	}
	for _, word := range o.rules {
		rules, err := Read(f, word)
		if err == nil {
			err = s.Desk.Add(rules)
		}
		if err != nil {
			return nil, RuleError(err)
		}
	}
	if o.report != "" && o.report != "-" {
		if out := cmdutil.CheckWritable("--fault-report", o.report); !out.OK() {
			return nil, cmdutil.Exit(out)
		}
	}
	if o.control != "" {
		done, err := s.listen(o.control)
		if err != nil {
			return nil, err
		}
		s.closeControl = done
	}
	if s.Desk.UsesRandomness() {
		f.Note(fmt.Sprintf("--fault-seed %d repeats the random numbers of the fault rules", seed))
	}
	return s, nil
}

// Read returns the rules that a word selects: those of a preset (preset:NAME), the word itself if
// it begins with when or do, or those in a file.
func Read(f *cmdutil.Factory, word string) ([]*proxy.Rule, error) {
	if name, ok := strings.CutPrefix(word, proxy.PresetPrefix); ok {
		text, err := proxy.Preset(name)
		if err != nil {
			return nil, err
		}
		return proxy.ParseRules(word, text, f.Now())
	}
	if first, _, _ := strings.Cut(strings.TrimLeft(word, " \t\n"), " "); first == "when" || first == "do" {
		return proxy.ParseRules("--fault", word, f.Now())
	}
	_, missing := os.Stat(word)
	if word == "" || word != "-" && errors.Is(missing, fs.ErrNotExist) {
		return nil, usage.New(fmt.Sprintf("%q is neither a file nor a rule", word),
			"--fault 'when method:tools/call do delay 2s'")
	}
	text, _, err := f.Input("@" + word) // - is standard input
	if err != nil {
		return nil, err
	}
	return proxy.ParseRules(word, string(text), f.Now())
}

// RuleError returns a usage error for an error of Read or of Desk.Add. It keeps a hint that err
// has.
func RuleError(err error) error {
	if usage.Outcome(err).Hint != "" {
		return err
	}
	return usage.New(err.Error(), wire.Run("help faults")+" describes the rules")
}

// NewWatcher records forwarded traffic and shows it with -v. The caller must close the Watcher and
// then call End.
func NewWatcher(f *cmdutil.Factory, where, by string, s *Faults) *proxy.Watcher {
	return proxy.NewWatcher(WatcherOptions(f, where, by, s))
}

// WatcherOptions returns the options of NewWatcher, for commands with several Watchers. It starts the
// recording.
func WatcherOptions(f *cmdutil.Factory, where, by string, s *Faults) proxy.WatcherOptions {
	if f.Environ != nil {
		f.Secrets.LearnEnvironment(f.Environ())
	}
	f.Env.StartRecording(where, by, nil)
	if s != nil {
		s.serverName = where
		s.recorder = by
	}
	recorder := f.Record.Recorder
	var introduction proxy.Introduction
	verbose := traffic.Verbose(f.Stderr(), f.ErrStyle, f.Verbose)
	options := proxy.WatcherOptions{Now: f.Now, Tap: func(frame wire.Frame) {
		f.Record.HasTraffic.Store(true)
		if f.Trace.Tap != nil {
			f.Trace.Tap(frame)
		}
		s.observe(frame)
		if s != nil && by == capture.ByTap {
			introduction.Learn(s.Desk, where, "", frame)
		}
		if f.Verbose == 0 {
			recorder.Tap(frame) // hides the secrets later, outside of the forwarding
			return
		}
		frame = f.Secrets.Frame(frame) // once for the recording and the terminal
		recorder.TapSafe(frame)
		verbose(frame)
	}}
	options.OnLost = func(n int) {
		if recorder != nil {
			recorder.Lost(n)
		}
		if f.Trace.Lost != nil {
			f.Trace.Lost()
		}
	}
	var warned sync.Once
	options.OnUnreadable = func(reason error) {
		warned.Do(func() {
			f.Warn("a body was passed on unchanged, but cannot be recorded: " + reason.Error() +
				"; log is:unreadable lists such exchanges")
		})
	}
	return options
}

// observe counts a frame, and notes it for the report of what the client did after each fault.
func (s *Faults) observe(frame wire.Frame) {
	if s == nil {
		return
	}
	s.openLive()
	if !s.options.HasRules() {
		return // there is nothing to report
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.judge.Add(frame)
}

// Close closes the sockets, for a command that fails before it serves. It may be called again, after End
// too. Nil Faults do nothing.
func (s *Faults) Close() {
	if s == nil {
		return
	}
	s.closeControl()
	s.closeLive()
}

// End closes the sockets, writes the report and notes rules that never fired. It returns an error
// if the report cannot be written. Nil Faults do nothing.
func (s *Faults) End() error {
	if s == nil {
		return nil
	}
	s.Close()
	s.mu.Lock()
	s.judge.AdvanceTo(s.factory.Now())
	verdicts := s.judge.Verdicts()
	s.mu.Unlock()
	const withRemoved = true
	rules := s.Desk.Rules(withRemoved)
	w := s.factory.Stderr()
	st := s.factory.ErrStyle
	hidden := func(text string) string { return st.Line(s.factory.Secrets.Text(text)) }
	if s.options.report == "-" {
		WriteVerdicts(w, verdicts, hidden)
	}
	for _, r := range rules {
		if r.Fired == 0 {
			text := fmt.Sprintf("a fault rule never fired (%s, line %d; its filter matched %d messages): %s",
				r.Source, r.Line, r.Seen, r.Text)
			s.factory.Note(hidden(text))
		}
	}
	if s.options.report == "" || s.options.report == "-" {
		return nil
	}
	text := Document(s.Desk.Seed, rules, verdicts)
	if safe, n := s.factory.Secrets.Bytes(text); n > 0 {
		text = safe
	}
	if err := cmdutil.ReplaceFile(s.options.report, append(text, '\n')); err != nil {
		return cmdutil.Exit(usage.LocalIO("writing "+term.Line(s.options.report), err))
	}
	return nil
}
