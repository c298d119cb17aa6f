package meant

import (
	"errors"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"mcpc/internal/cli/cmdutil"
	"mcpc/internal/suggest"
	"mcpc/internal/usage"
	"mcpc/internal/wire"
)

// UnknownFlag returns the usage error for a flag that cannot be parsed, with a hint at the flag
// that the user may have meant. err is the error of pflag.
func UnknownFlag(f *cmdutil.Factory, cmd *cobra.Command, err error) error {
	unknown, ok := errors.AsType[*pflag.NotExistError](err)
	if !ok {
		hint := cmdutil.CommandHint(cmd, " --help") + " shows the flags"
		var flag *pflag.Flag
		if missing, ok := errors.AsType[*pflag.ValueRequiredError](err); ok {
			flag = missing.GetFlag()
		} else if invalid, ok := errors.AsType[*pflag.InvalidValueError](err); ok {
			flag = invalid.GetFlag()
		}
		if flag != nil {
			for _, example := range flag.Annotations[cmdutil.ExampleAnnotation] {
				hint = "for example " + wire.Hint(example) + "; " + hint
			}
		}
		return usage.New(cmdutil.FlagText(err), hint)
	}
	words := cmd.Flags().Args()
	if len(words) > 0 && !cmd.HasParent() { // the flags belong to another command, or to a server's command
		isSynonym := !slices.Contains(runners, words[0]) && newHinter(f, cmd).commandHint(words, nil) != ""
		if isSynonym || FindServerCommand(f, cmd) == nil { // the command is unknown, too: that is the error
			return UnknownCommand(f, cmd, words)
		}
	}
	return usage.New(
		cmdutil.FlagText(err),
		flagHint(f, cmd, unknown.GetSpecifiedName(), unknown.GetSpecifiedShortnames() != ""),
	)
}

// flagHint returns the hint for a flag that the command does not have. isShort is set for a flag
// with a single hyphen.
func flagHint(f *cmdutil.Factory, cmd *cobra.Command, name string, isShort bool) wire.Hint {
	var names []string
	cmd.Flags().VisitAll(func(f *pflag.Flag) { names = append(names, f.Name) })
	takesArguments := slices.Contains([]string{"call", "prompt", "bench"}, cmd.Name()) && !isShort
	if argv := FindServerCommand(f, cmd); argv != nil {
		return "a server's command goes after --: " + StartHint(f, cmd.Name(), argv)
	}
	isErrorCode := func(word string) bool { // such as -32602, which is parsed as short flags
		digits, negative := strings.CutPrefix(word, "-")
		return negative && len(digits) == 5 && strings.Trim(digits, "0123456789") == ""
	}
	if at := slices.IndexFunc(f.Args, isErrorCode); at >= 0 && isShort && (!cmd.HasParent() || cmd.Name() == "help") {
		return "did you mean " + wire.Run("explain "+f.Args[at]) + "?"
	}
	var hint wire.Hint
	var use string
	if isShort == (len(name) == 1) { // not for -ab, several short flags, or --a
		hint, use = newHinter(f, cmd).flagSynonymHint(cmd, name)
	}
	near := suggest.Nearest(name, names)
	switch {
	case hint != "" && takesArguments && cmd.Flags().NArg() > 0 && use != useArguments:
		return hint + "; an argument has no dashes: " + wire.Hint(name) + "=VALUE"
	case hint != "":
		return hint
	case near != "" && !isShort:
		return wire.Hint("did you mean --" + near + "?")
	case !cmd.HasParent() && slices.Contains(cmdutil.CommandNames(cmd), name):
		return "did you mean " + wire.Run(name) + "?"
	case takesArguments:
		return "arguments have no dashes: " + wire.Hint(name) + "=VALUE; " +
			cmdutil.CommandHint(cmd, " --help") + " shows the flags"
	}
	return cmdutil.CommandHint(cmd, " --help") + " shows the flags"
}
