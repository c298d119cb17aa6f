package meant

import (
	"encoding/json"
	"errors"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"mcpc/internal/cli/cmdutil"
	"mcpc/internal/connect"
	"mcpc/internal/connect/arguments"
	"mcpc/internal/jsonraw"
	"mcpc/internal/schema"
	"mcpc/internal/shellwords"
	"mcpc/internal/usage"
	"mcpc/internal/wire"
)

// IsName reports whether a word may be the name of an argument: it does not begin with a digit, is
// not a JSON scalar, and has no special characters except - and _.
func IsName(word string) bool {
	return shellwords.Inert(word) && !arguments.IsScalar(word) && !strings.ContainsAny(word, " ./:@%+,=") &&
		!strings.Contains("0123456789", word[:1])
}

// UnnamedArguments returns err, the error of arguments without names, with a hint that names them.
// It returns err unchanged if the arguments of the hint would be invalid too, or read a file.
// before has the words of the command, as "call NAME", args the words after them.
func UnnamedArguments(f *cmdutil.Factory, cmd *cobra.Command, k connect.Kind, before, args []string, err error) error {
	line := func(words []string) string {
		return strings.Join(connect.QuotedWords(slices.Concat(before, words)), " ")
	}
	if words := arguments.BrokenObject(args); len(words) > 0 {
		return hintedAnew(err, "did you mean "+wire.RunOnServer(line(words))+"?")
	}
	for _, arg := range args { // an editor made a dash of the hyphens of a flag
		if name := strings.TrimLeft(arg, "–—"); name != arg && IsName(name) {
			return hintedAnew(err, "arguments have no dashes: "+wire.Hint(name)+"=VALUE")
		}
	}
	reads := func(arg string) bool { return arg == "-" || strings.Contains(arg, "@") }
	if !slices.ContainsFunc(args, arguments.IsUnnamed) || slices.ContainsFunc(args, reads) {
		return err
	}
	names := argumentNames(f, cmd, k, before[1])
	shows := "list " + k.Many
	if len(names) > 0 {
		shows = "describe " + k.One + " " + shellwords.Quote(before[1])
	}
	words, guessed, left := namedWords(args, names)
	if at := slices.IndexFunc(args, cmdutil.IsURL); at >= 0 && len(names) == 0 && !f.ServerGiven && f.Shell == nil {
		others := slices.Delete(slices.Clone(args), at, at+1)
		return hintedAnew(err, "did you mean "+wire.Run("-s "+shellwords.Quote(args[at])+" "+line(others))+"?")
	}
	if _, again := arguments.Parse(&f.Env, words, "", k != connect.ToolKind); again != nil {
		return err
	}
	command := line(slices.Concat(words, left))
	if len(left) > 0 {
		return hintedAnew(
			err,
			"arguments need names: "+wire.RunOnServer(command)+"; "+wire.RunOnServer(shows)+" shows the names",
		)
	}
	if guessed {
		return hintedAnew(err, "arguments need names: "+wire.RunOnServer(command))
	}
	return hintedAnew(err, "did you mean "+wire.RunOnServer(command)+"?")
}

// hintedAnew returns a usage error with its hint replaced. An error that shows the invalid bytes or
// has several texts keeps them.
func hintedAnew(err error, hint wire.Hint) error {
	if notJSON, ok := errors.AsType[*usage.JSONError](err); ok {
		notJSON.Hint = hint // the error still shows the invalid bytes
		return notJSON
	}
	several := &usage.Errors{}
	if errors.As(err, &several) {
		several.Hint = hint
		return several
	}
	return usage.New(err.Error(), hint)
}

// namedWords returns the arguments in the form NAME=VALUE: a:1 becomes a=1, the three words a = 1
// become one, and other words get the names of the tool in order. guessed is set if it used a name
// in order. left has the words for which no name was left.
func namedWords(args, names []string) (words []string, guessed bool, left []string) {
	for i := 0; i < len(args); i++ {
		word := args[i]
		if arguments.IsUnnamed(word) && i+1 < len(args) && strings.HasPrefix(args[i+1], "=") {
			i++
			word += args[i]
		}
		if _, value := arguments.Operator(word); value == len(word) && i+1 < len(args) && arguments.IsUnnamed(args[i+1]) {
			i++
			word += args[i]
		}
		name, value, colon := strings.Cut(word, ":")
		aName := len(names) == 0 && shellwords.Inert(name) && !strings.ContainsAny(name, " /@%+,") &&
			!strings.HasPrefix(value, "//")
		if colon && arguments.IsUnnamed(word) && (aName || slices.Contains(names, name)) {
			word = name + "=" + value
			if value == "" && i+1 < len(args) && arguments.IsUnnamed(args[i+1]) {
				i++
				word += args[i]
			}
		}
		if i+1 < len(args) && arguments.IsUnnamed(word) && arguments.IsUnnamed(args[i+1]) {
			if slices.Contains(names, word) {
				i++
				word += "=" + args[i]
			} else if len(names) == 0 && IsName(word) { // perhaps a name and its value
				i++
				left = append(left, "NAME=VALUE")
				continue
			}
		}
		words = append(words, word)
	}
	given := func(name string) bool {
		object, _ := jsonraw.Object(json.RawMessage(strings.Join(words[:min(1, len(words))], "")))
		_, there := object.Get(name)
		return there || slices.ContainsFunc(words, func(word string) bool { return strings.HasPrefix(word, name+"=") })
	}
	names = slices.DeleteFunc(slices.Clone(names), given)
	named := words[:0]
	for _, word := range words {
		switch {
		case !arguments.IsUnnamed(word):
			named = append(named, word)
		case len(names) == 0:
			left = append(left, "NAME="+word)
		default:
			named = append(named, names[0]+"="+word)
			names = names[1:]
			guessed = true
		}
	}
	return named, guessed, left
}

// argumentNames returns the names of the arguments of a cached tool or prompt, the required
// arguments first, without names that a shell would have to quote. Returns nil if the tool is not
// cached.
func argumentNames(f *cmdutil.Factory, cmd *cobra.Command, k connect.Kind, name string) (names []string) {
	entry := f.EntryOf(cmd, k, name)
	if entry == nil {
		return nil
	}
	var required, others []string
	for _, p := range schema.New(jsonraw.First(entry.Raw, "inputSchema")).Schema().Properties() {
		if p.Required {
			required = append(required, p.Name)
		} else {
			others = append(others, p.Name)
		}
	}
	arguments, _ := jsonraw.Array(jsonraw.First(entry.Raw, "arguments"))
	for _, raw := range arguments {
		if name, _ := jsonraw.Text(jsonraw.First(raw, "name")); string(jsonraw.First(raw, "required")) == "true" {
			required = append(required, name)
		} else {
			others = append(others, name)
		}
	}
	for _, name := range slices.Concat(required, others) {
		if shellwords.Inert(name) && !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	return names
}
