package cmdutil

import (
	"slices"
	"time"

	"github.com/spf13/pflag"

	"mcpc/internal/usage"
)

// WatchOptions are the flags of a command that restarts a stdio server after its files have changed.
type WatchOptions struct {
	// Patterns select the files. The command does not watch without one.
	Patterns []string
	// Build is a shell command that makes the server's files, or "".
	Build       string
	drain, hold Seconds
}

// AddFlags adds the flags.
func (o *WatchOptions) AddFlags(flags *pflag.FlagSet) {
	flags.StringArrayVar(&o.Patterns, "watch", nil, "restart the server after files of a `pattern` change: 'src/**/*.ts'")
	flags.StringVar(&o.Build, "build", "", "shell `command` to run before each start; if it fails, the old server stays")
	flags.Var(&o.drain, "drain", "how long open requests may take before a restart (default 5s)")
	flags.Var(&o.hold, "hold", "how long a request waits for a restarted server (default 30s)")
}

// IsSet reports whether files are watched.
func (o *WatchOptions) IsSet() bool { return len(o.Patterns) > 0 }

// Check returns an error if the flags do not fit together.
func (o *WatchOptions) Check() error {
	for _, p := range o.Patterns {
		if p == "" || p == "--" {
			return usage.New("--watch needs a pattern of files", "--watch 'src/**/*.ts'")
		}
	}
	others := []struct {
		flag  string
		isSet bool
	}{{"--build", o.Build != ""}, {"--drain", o.drain != 0}, {"--hold", o.hold != 0}}
	for _, other := range others {
		if other.isSet && !o.IsSet() {
			return usage.New(other.flag+" is for a server that is restarted, which only --watch does",
				"--watch 'src/**/*.ts' restarts it after changes")
		}
	}
	return nil
}

// noLimit is longer than any command runs.
const noLimit = 100 * 365 * 24 * time.Hour

// Drain returns how long open requests may take before a restart.
func (o *WatchOptions) Drain() time.Duration { return limitOr(o.drain, 5*time.Second) }

// Hold returns how long a request waits for a restarted server.
func (o *WatchOptions) Hold() time.Duration { return limitOr(o.hold, 30*time.Second) }

// limitOr returns the value of a flag, or otherwise if the flag was not set.
func limitOr(value Seconds, otherwise time.Duration) time.Duration {
	switch value {
	case 0:
		return otherwise
	case unlimited:
		return noLimit
	}
	return time.Duration(value)
}

// TapCommand returns the command that runs argv, the command of a stdio server, with these flags: mcpc
// tap with extra flags, without a recording. It returns argv itself if files are not watched.
func (o *WatchOptions) TapCommand(f *Factory, argv []string, extra ...string) ([]string, error) {
	if !o.IsSet() {
		return argv, nil
	}
	self, err := f.Executable()
	if err != nil {
		return nil, Exit(usage.LocalIO("finding the executable of mcpc", err))
	}
	return slices.Concat([]string{self, "tap", "--no-record"}, extra, o.Words(), []string{"--"}, argv), nil
}

// Words returns the flags as words of a command.
func (o *WatchOptions) Words() []string {
	var command []string
	for _, p := range o.Patterns {
		command = append(command, "--watch="+p)
	}
	if o.Build != "" {
		command = append(command, "--build="+o.Build)
	}
	if o.drain != 0 {
		command = append(command, "--drain="+o.drain.String())
	}
	if o.hold != 0 {
		command = append(command, "--hold="+o.hold.String())
	}
	return command
}
