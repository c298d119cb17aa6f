package traffic

import (
	"net/url"
	"strings"

	"mcpc/internal/shellwords"
	"mcpc/internal/wire"
)

// HTTPRequest is a recorded HTTP request.
type HTTPRequest struct {
	Method, URL string
	Fields      []wire.Field
	Body        []byte
}

// Curl adds the command that sends a request again: the same body, and the same header fields
// except the fields that curl sets itself. session is the variable with the session's id, or "".
func (s *Script) Curl(p HTTPRequest, session string) error {
	words, err := s.curlLines(p, session)
	if err != nil {
		return err
	}
	s.Command(s.withBody(p.Body, strings.Join(words, " \\\n  ")))
	return nil
}

// CurlSession adds the commands that open a session with p and store its id in the variable
// session.
func (s *Script) CurlSession(p HTTPRequest, session string) error {
	lines, err := s.curlLines(p, "")
	if err != nil {
		return err
	}
	lines[0] += " -D - -o /dev/null" // the first line has the flags: print the head, not the body
	s.Command(session + "=$(" + s.withBody(p.Body, strings.Join(lines, " \\\n  ")) +
		" |\n  tr -d '\\r' | awk -F': ' 'tolower($1) == \"mcp-session-id\" { print $2 }')")
	return nil
}

// ScriptError is the error for a request that cannot be written as a command.
type ScriptError struct{ Text string }

func (e *ScriptError) Error() string { return e.Text }

// curlLines returns the lines of one command. They include the body if it fits in a word; otherwise curl
// reads it from its standard input. session is the variable with the session id, or "".
func (s *Script) curlLines(p HTTPRequest, session string) ([]string, error) {
	u, err := url.Parse(p.URL)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" {
		return nil, &ScriptError{"the recorded URL is not an HTTP URL"}
	}
	command := "curl -sSN"
	if strings.ContainsAny(p.URL, "[]{}") { // without -g, curl takes them for a pattern of several URLs
		command += " -g"
	}
	isImplied := p.Method == "POST" && len(p.Body) > 0 // curl sends a body with POST
	if !isImplied {
		if !wire.IsToken(p.Method) {
			return nil, &ScriptError{"the recorded method is not an HTTP method"}
		}
		command += " -X " + shellwords.Quote(p.Method) // a token may have a "|" in it
	}
	lines := []string{command + " " + s.URL(p.URL)}
	for _, o := range s.Options {
		flag := o[0]
		value := o[1]
		if value == "" {
			lines = append(lines, flag)
		} else if strings.Contains(value, "://") {
			lines = append(lines, flag+" "+s.URL(value))
		} else {
			lines = append(lines, flag+" "+shellwords.Quote(value))
		}
	}
	for _, f := range p.Fields {
		if line := s.fieldWord(f, session); line != "" {
			lines = append(lines, "-H "+line)
		}
	}
	for _, name := range curlDefaults(p) {
		lines = append(lines, "-H '"+name+":'") // a name without a value removes the field
	}
	if len(p.Body) == 0 {
		return lines, nil
	}
	if fitsInWord(string(p.Body)) {
		return append(lines, "--data-raw "+s.Word(string(p.Body), InBody)), nil
	}
	return append(lines, "--data-binary @-"), nil
}

// withBody returns command, with a command that prints the body in front if the body does not fit
// in a word.
func (s *Script) withBody(body []byte, command string) string {
	if len(body) == 0 || fitsInWord(string(body)) {
		return command
	}
	return s.Print(body, bytesOnly) + " | " + command
}

// redactedUser replaces a URL's name and password in a recording.
const redactedUser = "://redacted@"

// URL returns a URL as one word of a command.
func (s *Script) URL(link string) string {
	before, after, found := strings.Cut(link, redactedUser)
	if !found || strings.ContainsAny(before, "/?#") { // only the scheme can precede a user
		return s.Word(link, InURL)
	}
	variable := s.variableFor(redactedUser, inUser)
	return s.Word(before+"://", InURL) + `"$` + variable + `"@` + s.Word(after, InURL)
}

// ConnectionFields are the header fields that a client sets itself, by lower-case name.
var ConnectionFields = map[string]bool{
	"host":              true,
	"content-length":    true,
	"connection":        true,
	"transfer-encoding": true,
	"expect":            true,
	"keep-alive":        true,
	"upgrade":           true,
	"te":                true,
	"trailer":           true,
}

// Field returns a header field as one word, "Name: value", or "" if it cannot or need not be sent.
func (s *Script) Field(f wire.Field) string {
	if f.Value == "" {
		return ""
	}
	return s.fieldWord(f, "")
}

// fieldWord returns a header field for curl, which has its own syntax for a field without a value.
// It returns "" if curl sets the field itself or the field is not valid.
func (s *Script) fieldWord(f wire.Field, session string) string {
	name := strings.ToLower(f.Name)
	if ConnectionFields[name] || !wire.IsToken(f.Name) || strings.ContainsAny(f.Value, "\r\n\x00") {
		return ""
	}
	if name == "mcp-session-id" && session != "" {
		return `"` + f.Name + ": $" + session + `"`
	}
	if f.Value == "" && name == "user-agent" {
		return "'User-Agent:'" // the client sends no such field
	}
	if f.Value == "" {
		return shellwords.Quote(f.Name + ";")
	}
	return s.Word(f.Name+": "+f.Value, f.Name)
}

// curlDefaults returns the fields that curl would add itself and p does not have.
func curlDefaults(p HTTPRequest) []string {
	isPresent := map[string]bool{}
	for _, f := range p.Fields {
		isPresent[strings.ToLower(f.Name)] = true
	}
	var names []string
	for _, name := range []string{"Accept", "User-Agent", "Content-Type"} {
		isAdded := name != "Content-Type" || len(p.Body) > 0
		if isAdded && !isPresent[strings.ToLower(name)] {
			names = append(names, name)
		}
	}
	if len(p.Body) >= 1024 { // curl adds Expect to large bodies; fieldWord omits a recorded one
		names = append(names, "Expect")
	}
	return names
}

// CommandStdio adds the command that writes messages to a server's stdin, one on each line.
func (s *Script) CommandStdio(messages [][]byte, server string) {
	var lines []string
	for _, raw := range messages {
		lines = append(lines, s.Print(raw, withLineEnd))
	}
	// The pause gives the server time to respond before its stdin is closed.
	s.Command("{ " + strings.Join(append(lines, "sleep 2"), "\n  ") + "; } | " + server)
}

// Argv returns a command whose words may contain hidden secrets.
func (s *Script) Argv(argv []string) string {
	words := make([]string, len(argv))
	for i, word := range argv {
		words[i] = s.Word(word, InArgv)
	}
	return strings.Join(words, " ")
}
