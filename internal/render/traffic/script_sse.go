package traffic

import (
	"encoding/json"
	"net/url"
	"strings"

	"mcpc/internal/shellwords"
)

// In the transport of 2024-11-05, HTTP+SSE, a client opens a stream of events with GET. Its first event
// names the endpoint for POST, and it also carries the responses.

// endpoint is the variable with the URL for POST.
const endpoint = "endpoint"

// CurlStream adds the commands that open a stream with p, read the endpoint from it, and keep it
// open until the script ends. An endpoint of another server ends the script.
func (s *Script) CurlStream(p HTTPRequest) error {
	lines, err := s.curlLines(p, "")
	if err != nil {
		return err
	}
	u, _ := url.Parse(p.URL)
	origin := shellwords.Quote(u.Scheme + "://" + u.Host)
	for _, line := range []string{
		"events=$(mktemp) || exit",
		strings.Join(lines, " \\\n  ") + ` >"$events" &`,
		"stream=$!",
		`trap 'kill $stream 2>/dev/null; rm -f "$events"' EXIT`,
		// heard prints the first event with data that match a pattern.
		"heard() {",
		`  until sed -n 's/^data: *//p' "$events" | tr -d '\r' | grep -m 1 "$1"; do`,
		`    kill -0 $stream 2>/dev/null || { echo "the stream has ended" >&2; return 1; }`,
		"    sleep 0.1",
		"  done",
		"}",
		endpoint + "=$(heard .) || exit 1",
		// A path is relative to the server; a URL must be of the same server.
		"case $" + endpoint + " in",
		"/*) " + endpoint + "=" + origin + "$" + endpoint + " ;;",
		origin + "/*) ;;",
		`*) echo "the endpoint is not at this server: $` + endpoint + `" >&2; exit 1 ;;`,
		"esac",
	} {
		s.Command(line)
	}
	return nil
}

// CurlEndpoint adds the command that posts the body of p to the endpoint that CurlStream read. It
// ignores the body of the HTTP response.
func (s *Script) CurlEndpoint(p HTTPRequest) error {
	lines, err := s.curlLines(p, "")
	if err != nil {
		return err
	}
	lines[0] = `curl -sSN -g -o /dev/null "$` + endpoint + `"` // instead of the recorded URL
	s.Command(s.withBody(p.Body, strings.Join(lines, " \\\n  ")))
	return nil
}

// AwaitResponse adds the command that waits for the response to a request's id, and prints it if
// printed is true.
func (s *Script) AwaitResponse(id json.RawMessage, printed bool) {
	var pattern strings.Builder // a basic regular expression of grep that matches the id only
	for _, c := range string(id) {
		if strings.ContainsRune(`\.*[]^$`, c) {
			pattern.WriteByte('\\')
		}
		pattern.WriteRune(c)
	}
	command := "heard " + shellwords.Quote(`"id" *: *`+pattern.String()+` *[,}]`)
	if !printed {
		command += " >/dev/null"
	}
	s.Command(command + " || exit 1")
}
