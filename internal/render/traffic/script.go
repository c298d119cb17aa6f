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

// Recorded text is untrusted. A script has it between quotes or, in comments, on one line, so that the
// shell interprets nothing in it.

// A secret has the text that replaces it in a recording, and its variable in a script.
type secret struct{ shown, variable, where string }

// A Script is a text for a POSIX shell. Variables replace the secrets that were not recorded. The
// zero value is an empty script.
type Script struct {
	// Options are flags for each curl with their values, which may be "".
	Options [][2]string

	secrets []secret
	b       strings.Builder
}

// String returns the script: first the variables that must be set, then its commands.
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

// Comment adds a comment.
func (s *Script) Comment(text string) { s.b.WriteString("# " + term.Line(text) + "\n") }

// Command adds words, quoted by Word and similar methods, on one line.
func (s *Script) Command(words ...string) { s.b.WriteString(strings.Join(words, " ") + "\n") }

// Space adds an empty line.
func (s *Script) Space() { s.b.WriteByte('\n') }

// Word returns text as one word. It replaces a hidden secret by a variable; what is the kind of its
// place, see Variable.
func (s *Script) Word(text, what string) string {
	var b strings.Builder
	addPlain := func(part string) { b.WriteString(quotedLines(part)) }
	addVariable := func(variable string) { b.WriteString(`"$` + variable + `"`) }
	s.eachPart(text, what, addPlain, addVariable)
	if b.Len() == 0 {
		return "''"
	}
	return b.String()
}

// quotedLines quotes text as one word of a shell. A text of several lines keeps its line ends, so that
// it stays readable; shellwords.Quote would write them in octal for printf.
func quotedLines(text string) string {
	if strings.Contains(text, "\n") && term.Block(text) == text {
		return "'" + strings.ReplaceAll(text, "'", `'\''`) + "'"
	}
	return shellwords.Quote(text)
}

// eachPart calls plain for each part of text without secrets, and hidden with the variable of each
// secret.
func (s *Script) eachPart(text, what string, plain, hidden func(string)) {
	done := 0 // bytes of text
	for _, place := range redact.HiddenIn(text) {
		start := place[0]
		end := place[1]
		if start > done {
			plain(text[done:start])
		}
		hidden(s.variableFor(text[start:end], what))
		done = end
	}
	if done < len(text) {
		plain(text[done:])
	}
}

// variableFor returns the name of the variable of a secret, a new one if the script has no variable
// for it. shown is the text that replaces the secret in the recording, and what the kind of its
// place.
func (s *Script) variableFor(shown, what string) string {
	name, where := Variable(what)
	number := 1     // of the variable among variables of the same kind
	otherForm := "" // a variable with the same secret in another encoding
	for _, v := range s.secrets {
		if v.shown == shown {
			return v.variable
		}
		if IsSameSecret(v.shown, shown) {
			otherForm = v.variable
		}
		if v.variable == name || strings.HasPrefix(v.variable, name+"_") { // the same kind
			number++
		}
	}
	if number > 1 {
		name = fmt.Sprintf("%s_%d", name, number)
	}
	s.secrets = append(s.secrets, secret{shown, name, InOtherForm(where, otherForm)})
	return name
}

// IsSameSecret reports whether two hidden values hide the same secret. In a URL the hidden value
// has other signs than in a message.
func IsSameSecret(a, b string) bool {
	hashes := redact.HashesIn(a)
	return len(hashes) > 0 && slices.Equal(hashes, redact.HashesIn(b)) && letters(a) == letters(b)
}

// letters returns the ASCII letters and digits of a text.
func letters(text string) string {
	return strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' {
			return r
		}
		return -1
	}, text)
}

// InOtherForm adds to the place of a secret the variable that has the same secret in another form;
// "" adds nothing.
func InOtherForm(where, variable string) string {
	if variable == "" {
		return where
	}
	return where + " (it is the one of " + variable + ")"
}

// Variable returns the name of a secret's variable, and its place in words. what is the name of a
// header field, or InURL, InBody or InArgv.
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

// VariableComment returns the comment about the value that a variable needs.
func VariableComment(variable, where, shown string) string {
	return fmt.Sprintf("# Set %s to %s, a hidden value: %s\n", variable, where, term.Line(shown))
}

// The places of secrets other than header fields.
const (
	InURL  = "url secret"
	InBody = "secret"
	InArgv = "argument"
	inUser = "userinfo"
)

var variablePlaces = map[string]string{
	InURL:           "the value in the URL, encoded as there",
	InBody:          "the value in the message, encoded as there",
	InArgv:          "the value in the command",
	inUser:          "the name and the password in the URL, as name:password",
	"Authorization": "the credentials in the field Authorization",
}

// maxWord is the longest word of a command, in bytes: systems allow no more than 128 KiB.
const maxWord = 100_000

// fitsInWord reports whether a text can be a word of a command without a change.
func fitsInWord(text string) bool {
	// $(…) drops line ends at the end, also before a hidden secret, which begins with •.
	losesLineEnds := strings.HasSuffix(text, "\n") || strings.Contains(text, "\n•")
	return len(text) <= maxWord && utf8.ValidString(text) && !losesLineEnds && strings.IndexByte(text, 0) < 0
}

// The last argument of Print.
const (
	bytesOnly   = false
	withLineEnd = true
)

// Print returns a command that prints exactly these bytes, and a line end if line is true.
func (s *Script) Print(raw []byte, line bool) string {
	end := ""
	if line {
		end = `\n`
	}
	if len(raw) == 0 {
		return "printf '" + end + "'"
	}
	const printWord = "printf %s "
	var commands []string
	printPlain := func(part string) {
		if term.Line(part) == part {
			commands = append(commands, printWord+shellwords.Quote(part))
			return
		}
		commands = append(commands, "printf '"+shellwords.PrintfText(part)+"'")
	}
	printVariable := func(variable string) {
		commands = append(commands, printWord+`"$`+variable+`"`)
	}
	s.eachPart(string(raw), InBody, printPlain, printVariable)
	if len(commands) == 1 { // one word: the line end fits into its format
		if word, ok := strings.CutPrefix(commands[0], printWord); ok {
			return "printf '%s" + end + "' " + word
		}
	}
	if line {
		commands = append(commands, "printf '"+end+"'")
	}
	if len(commands) == 1 {
		return commands[0]
	}
	return "{ " + strings.Join(append(commands, "}"), "; ")
}

// Run adds a command with an input as a word, before the words in more. If the input does not fit
// in a word, the command gets "-" and reads its standard input. If input is nil, the command has no
// such word.
func (s *Script) Run(words []string, input []byte, more ...string) {
	if fitsInWord(string(input)) && input != nil {
		words = append(words, s.Word(string(input), InBody))
	} else if input != nil {
		words = append([]string{s.Print(input, bytesOnly), "|"}, append(words, "-")...)
	}
	s.Command(append(words, more...)...)
}
