package traffic

import (
	"fmt"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"mcpc/internal/redact"
	"mcpc/internal/render/term"
	"mcpc/internal/shellwords"
)

// What was recorded becomes shell commands again here. All that is recorded is
// untrusted: it is put between quotes or, in comments, on one line, and nothing in it
// is interpreted by the shell.

// A secret is what a recording has in the place of a secret, and the variable that
// stands for it in a script.
type secret struct{ shown, variable, where string }

// A Script is a text for a POSIX shell in which variables stand for the secrets
// that were not recorded. Its zero value is an empty one.
type Script struct {
	// Options are flags for each curl, and their values, which may be "".
	Options [][2]string

	secrets []secret
	b       strings.Builder
}

// String is the script: first the variables that must be set, then its commands.
func (s *Script) String() string {
	var b strings.Builder
	for _, v := range s.secrets {
		b.WriteString(VariableComment(v.variable, v.where, v.shown) + ": \"${" + v.variable + ":?must be set}\"\n")
	}
	if len(s.secrets) > 0 {
		b.WriteByte('\n')
	}
	return b.String() + s.b.String()
}

// Comment adds a line that the shell passes over.
func (s *Script) Comment(text string) { s.b.WriteString("# " + term.Line(text) + "\n") }

// Command adds words that Word and its like have made, on one line.
func (s *Script) Command(words ...string) { s.b.WriteString(strings.Join(words, " ") + "\n") }

// Space ends the last command with an empty line.
func (s *Script) Space() { s.b.WriteByte('\n') }

// Word returns text as one word. The place of a hidden secret in it becomes a variable,
// which a comment at the beginning of the script describes by what.
func (s *Script) Word(text, what string) string {
	var b strings.Builder
	s.eachPart(text, what, func(part string) { b.WriteString(quotedLines(part)) },
		func(variable string) { b.WriteString(`"$` + variable + `"`) })
	if b.Len() == 0 {
		return "''"
	}
	return b.String()
}

// quotedLines is shellwords.Quote that leaves line ends as they are.
func quotedLines(text string) string {
	if strings.Contains(text, "\n") && term.Block(text) == text {
		return "'" + strings.ReplaceAll(text, "'", `'\''`) + "'"
	}
	return shellwords.Quote(text)
}

// parts goes through a text that may have secrets in it.
func (s *Script) eachPart(text, what string, plain, hidden func(string)) {
	at := 0
	for _, place := range redact.HiddenIn(text) {
		if place[0] > at {
			plain(text[at:place[0]])
		}
		hidden(s.variable(text[place[0]:place[1]], what))
		at = place[1]
	}
	if at < len(text) {
		plain(text[at:])
	}
}

// variable returns the name of a secret's variable; what says where it was found.
func (s *Script) variable(shown, what string) string {
	name, where := Variable(what)
	taken := 1
	twin := ""
	for _, v := range s.secrets {
		if v.shown == shown {
			return v.variable
		}
		if IsSameSecret(v.shown, shown) {
			twin = v.variable
		}
		if v.variable == name || strings.HasPrefix(v.variable, name+"_") {
			taken++
		}
	}
	if taken > 1 {
		name = fmt.Sprintf("%s_%d", name, taken)
	}
	s.secrets = append(s.secrets, secret{shown, name, InOtherForm(where, twin)})
	return name
}

// IsSameSecret reports whether what is shown of two hidden values is of one secret: a URL has other signs in place of
// it than a message.
func IsSameSecret(a, b string) bool {
	hashes := redact.HashesIn(a)
	return len(hashes) > 0 && slices.Equal(hashes, redact.HashesIn(b)) && letters(a) == letters(b)
}

// lettersOf returns the ASCII letters and digits of a text.
func letters(text string) string {
	return strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' {
			return r
		}
		return -1
	}, text)
}

// InOtherForm adds to the place of a secret that another variable, which may be "", has the same secret.
func InOtherForm(where, twin string) string {
	if twin == "" {
		return where
	}
	return where + " (it is the one of " + twin + ")"
}

// Variable returns the name of a secret's variable, and the words for its place. what
// is the name of a header field, or one of InURL and its like.
func Variable(what string) (name, where string) {
	name = "MCPC_" + strings.Map(func(r rune) rune {
		r = unicode.ToUpper(r)
		if r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' {
			return r
		}
		return '_'
	}, what)
	if strings.EqualFold(what, "Authorization") {
		name = "MCPC_TOKEN"
		what = "Authorization"
	}
	where = variablePlaces[what]
	if where == "" {
		where = "the value of " + term.Line(what)
	}
	return name, where
}

// VariableComment is the comment that says what the value of a variable is.
func VariableComment(variable, where, shown string) string {
	return fmt.Sprintf("# Set %s to %s, a hidden value: %s\n", variable, where, term.Line(shown))
}

// The places of secrets beside header fields.
const (
	InURL  = "url secret"
	InBody = "secret"
	InArgv = "argument"
	inUser = "userinfo"
)

var variablePlaces = map[string]string{
	InURL: "the value in the URL, encoded as there", InBody: "the value in the message, encoded as there",
	InArgv: "the value in the command", inUser: "the name and the password in the URL, as name:password", "Authorization": "the credentials in the field Authorization",
}

// maxWord is how long one word of a command may be, in bytes: systems take no
// more than 128 KiB.
const maxWord = 100_000

// fits reports whether a text can be a word of a command at all, and give the same
// bytes again.
func fitsInWord(text string) bool {
	ends := strings.HasSuffix(text, "\n") || strings.Contains(text, "\n•") // $(…) drops line ends at the end
	return len(text) <= maxWord && utf8.ValidString(text) && !ends && strings.IndexByte(text, 0) < 0
}

// Print is a command that prints exactly these bytes, and a line end behind them
// where line is set.
func (s *Script) Print(raw []byte, line bool) string {
	end := ""
	if line {
		end = `\n`
	}
	if len(raw) == 0 {
		return "printf '" + end + "'"
	}
	var all []string
	s.eachPart(string(raw), InBody, func(part string) {
		if term.Line(part) == part {
			all = append(all, "printf %s "+shellwords.Quote(part))
			return
		}
		all = append(all, "printf '"+shellwords.PrintfText(part)+"'")
	}, func(variable string) { all = append(all, `printf %s "$`+variable+`"`) })
	if len(all) == 1 && strings.HasPrefix(all[0], "printf %s ") {
		return "printf '%s" + end + "' " + strings.TrimPrefix(all[0], "printf %s ")
	}
	if line {
		all = append(all, "printf '"+end+"'")
	}
	if len(all) == 1 {
		return all[0]
	}
	return "{ " + strings.Join(append(all, "}"), "; ")
}

// Run adds a command with an input as one of its words; where that cannot be a word
// the command reads "-", its standard input.
func (s *Script) Run(words []string, input []byte, more ...string) {
	switch {
	case input == nil:
	case fitsInWord(string(input)):
		words = append(words, s.Word(string(input), InBody))
	default:
		words = append([]string{s.Print(input, false), "|"}, append(words, "-")...)
	}
	s.Command(append(words, more...)...)
}
