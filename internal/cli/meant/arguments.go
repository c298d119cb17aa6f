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
	if !shellwords.Inert(word) || arguments.IsScalar(word) {
		return false
	}
	startsWithDigit := strings.Contains("0123456789", word[:1])
	return !startsWithDigit && !strings.ContainsAny(word, " ./:@%+,=")
}

// UnnamedArguments returns err, the error of arguments without names, with a hint that is the command
// line with names. It returns err unchanged if the arguments of the hint would be invalid too, or
// would be read from a file. before has the command and the name, such as call and get-sum; args are
// the words after them.
func UnnamedArguments(f *cmdutil.Factory, cmd *cobra.Command, k connect.Kind, before, args []string, err error) error {
	line := func(words []string) string {
		return strings.Join(connect.QuotedWords(slices.Concat(before, words)), " ")
	}
	if words := arguments.BrokenObject(args); len(words) > 0 { // a JSON object whose quotes a shell removed
		return withHint(err, "did you mean "+wire.RunOnServer(line(words))+"?")
	}
	for _, arg := range args { // an editor made a dash of the hyphens of a flag
		if name := strings.TrimLeft(arg, "–—"); name != arg && IsName(name) {
			return withHint(err, "arguments have no dashes: "+wire.Hint(name)+"=VALUE")
		}
	}
	readsFile := func(arg string) bool { return arg == "-" || strings.Contains(arg, "@") }
	if !slices.ContainsFunc(args, arguments.IsUnnamed) || slices.ContainsFunc(args, readsFile) {
		return err
	}
	names := argumentNames(f, cmd, k, before[1])
	namesCommand := "list " + k.Many // without a cached definition the name of the tool may be wrong, too
	if len(names) > 0 {
		namesCommand = "describe " + k.One + " " + shellwords.Quote(before[1])
	}
	words, isGuessed, unnamed := namedWords(args, names)
	mayNameServer := len(names) == 0 && !f.ServerGiven && f.Shell == nil
	// A URL is then the server.
	if i := slices.IndexFunc(args, cmdutil.IsURL); i >= 0 && mayNameServer {
		others := slices.Delete(slices.Clone(args), i, i+1)
		return withHint(err, "did you mean "+wire.Run("-s "+shellwords.Quote(args[i])+" "+line(others))+"?")
	}
	if _, parseErr := arguments.Parse(&f.Env, words, "", k != connect.ToolKind); parseErr != nil {
		return err
	}
	command := line(slices.Concat(words, unnamed))
	if len(unnamed) > 0 {
		return withHint(
			err,
			"arguments need names: "+wire.RunOnServer(command)+"; "+wire.RunOnServer(namesCommand)+" shows the names",
		)
	}
	if isGuessed {
		return withHint(err, "arguments need names: "+wire.RunOnServer(command))
	}
	return withHint(err, "did you mean "+wire.RunOnServer(command)+"?")
}

// withHint returns a usage error with the text of err and the hint. If err shows invalid bytes or has
// several texts, it changes err in place, so that they are kept, and returns it.
func withHint(err error, hint wire.Hint) error {
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

// namedWords returns the arguments in the form NAME=VALUE. Words without a name get the names of
// the tool in order; isGuessed is set if any did. unnamed has the words that no name was left for,
// as NAME=VALUE.
func namedWords(args, names []string) (words []string, isGuessed bool, unnamed []string) {
	joined, unnamed := joinAssignments(args, names)
	isGiven := func(name string) bool {
		// The first word may be an object with arguments.
		object, _ := jsonraw.Object(json.RawMessage(strings.Join(joined[:min(1, len(joined))], "")))
		_, isMember := object.Get(name)
		isAssigned := func(word string) bool { return strings.HasPrefix(word, name+"=") }
		return isMember || slices.ContainsFunc(joined, isAssigned)
	}
	names = slices.DeleteFunc(slices.Clone(names), isGiven)
	for _, word := range joined {
		if !arguments.IsUnnamed(word) {
			words = append(words, word)
		} else if len(names) == 0 {
			unnamed = append(unnamed, "NAME="+word)
		} else {
			words = append(words, names[0]+"="+word)
			names = names[1:]
			isGuessed = true
		}
	}
	return words, isGuessed, unnamed
}

// joinAssignments joins the words of an assignment that was typed in another form: a:1, "a = 1" and
// "a: 1" become a=1, and so does "a 1" if names has a. unnamed has NAME=VALUE for each two words
// that may be an argument if the names are unknown.
func joinAssignments(args, names []string) (words, unnamed []string) {
	for i := 0; i < len(args); i++ {
		word := args[i]
		// isNextUnnamed reports whether the word after the words joined so far is no assignment.
		isNextUnnamed := func() bool { return i+1 < len(args) && arguments.IsUnnamed(args[i+1]) }
		isNextOperator := i+1 < len(args) && strings.HasPrefix(args[i+1], "=")
		if arguments.IsUnnamed(word) && isNextOperator { // "a =", "a =1"
			i++
			word += args[i]
		}
		_, valueStart := arguments.Operator(word)
		if valueStart == len(word) && isNextUnnamed() { // the word ends with =
			i++
			word += args[i]
		}
		name, value, hasColon := strings.Cut(word, ":")
		mayBeName := len(names) == 0 && mayBeAssignment(name, value) // if the names are unknown
		isAssignment := slices.Contains(names, name) || mayBeName
		if hasColon && arguments.IsUnnamed(word) && isAssignment {
			word = name + "=" + value
			if value == "" && isNextUnnamed() { // "a: 1"
				i++
				word += args[i]
			}
		}
		if arguments.IsUnnamed(word) && isNextUnnamed() {
			if slices.Contains(names, word) { // "a 1"
				i++
				word += "=" + args[i]
			} else if len(names) == 0 && IsName(word) { // perhaps a name and its value
				i++
				unnamed = append(unnamed, "NAME=VALUE")
				continue
			}
		}
		words = append(words, word)
	}
	return words, unnamed
}

// mayBeAssignment reports whether name:value may be an argument with its value, not a URL or a
// path.
func mayBeAssignment(name, value string) bool {
	return shellwords.Inert(name) && !strings.ContainsAny(name, " /@%+,") && !strings.HasPrefix(value, "//")
}

// argumentNames returns the names of the arguments of a cached tool or prompt, the required
// arguments first, without names that a shell would have to quote. It returns nil if the tool or
// prompt is not cached: no request is sent for a hint.
func argumentNames(f *cmdutil.Factory, cmd *cobra.Command, k connect.Kind, name string) []string {
	entry := f.EntryOf(cmd, k, name)
	if entry == nil {
		return nil
	}
	var required, others []string
	// A tool has an inputSchema, a prompt has a list of arguments.
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
	var names []string
	for _, name := range slices.Concat(required, others) {
		if shellwords.Inert(name) && !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	return names
}
