package traffic

import (
	"encoding/json"
	"net/url"
	"strings"

	"mcpc/internal/shellwords"
)

// The transport of 2024-11-05, HTTP+SSE: a stream of events is opened with GET, whose
// first event names the endpoint for POST, and answers come on that stream.

// endpoint is the variable of the POST's address.
const endpoint = "endpoint"

// CurlStream adds the commands that open a stream as p does, hear on it where requests
// go, and listen for as long as the script runs. An endpoint elsewhere ends the script,
// as it ends mcpc.
func (s *Script) CurlStream(p HTTPRequest) error {
	words, err := s.curl(p, "")
	if err != nil {
		return err
	}
	u, _ := url.Parse(p.URL)
	origin := shellwords.Quote(u.Scheme + "://" + u.Host)
	for _, line := range []string{
		"events=$(mktemp) || exit",
		strings.Join(words, " \\\n  ") + ` >"$events" &`,
		"stream=$!",
		`trap 'kill $stream 2>/dev/null; rm -f "$events"' EXIT`,
		// What is heard is the first event of which the data fit a pattern.
		"heard() {",
		`  until sed -n 's/^data: *//p' "$events" | tr -d '\r' | grep -m 1 "$1"; do`,
		`    kill -0 $stream 2>/dev/null || { echo "the stream has ended" >&2; return 1; }`,
		"    sleep 0.1",
		"  done",
		"}",
		endpoint + "=$(heard .) || exit 1",
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

// CurlEndpoint is Curl to the endpoint that CurlStream has heard of, whatever URL p
// has; what is answered to the POST itself is no answer.
func (s *Script) CurlEndpoint(p HTTPRequest) error {
	words, err := s.curl(p, "")
	if err != nil {
		return err
	}
	words[0] = `curl -sSN -g -o /dev/null "$` + endpoint + `"`
	s.Command(s.withBody(p.Body, strings.Join(words, " \\\n  ")))
	return nil
}

// AwaitResponse waits for the answer to the request with this id, and prints it where it is
// asked for.
func (s *Script) AwaitResponse(id json.RawMessage, printed bool) {
	var pattern strings.Builder
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
