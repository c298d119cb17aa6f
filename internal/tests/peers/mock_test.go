//go:build peers

package peers

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"mcpc/internal/tests/program"

	"github.com/google/go-cmp/cmp"
)

// Real clients talk to real servers, and what was recorded of it is then played to
// the same clients by mcpc mock, and sent to the same servers by mcpc replay.

// A peerSession is what one client did with one server, recorded.
type peerSession struct {
	client string
	server peer
	// argv starts the client, with the words of a target after it.
	argv []string
	// to names the server, as mcpc takes it.
	to []string
	// record is the recording of a tap or a proxy, said is the client's output.
	record, said string
}

// eachPeerSession records a session of each client with two servers over both transports. One
// server speaks only the older revisions. It gives the session to a subtest. The third server has
// lists of several pages.
func eachPeerSession(t *testing.T, subtest func(t *testing.T, s peerSession)) {
	t.Helper()
	clients := peerClients(t)
	clients["inspector"] = append(nodeArgv(t), filepath.Join(peersDir(t), "inspector", "session.mjs"))
	for client, argv := range clients {
		servers := []string{"everything-stdio", "everything-http", "ts-server-stdio", "ts-server-http"}
		if client == "go" || client == "ts-v2" {
			servers = append(servers, "go-sdk-stdio", "go-sdk-events")
		}
		for _, server := range servers {
			t.Run(client+" "+server, func(t *testing.T) {
				t.Parallel()
				s := peerSession{client: client, server: peerNamed(t, server), argv: argv}
				s.recorded(t)
				subtest(t, s)
			})
		}
	}
}

// recorded runs the client with its server through a tap or a proxy.
func (s *peerSession) recorded(t *testing.T) {
	t.Helper()
	s.to = s.server.start(t)
	if s.server.transport == "stdio" {
		s.record = filepath.Join(t.TempDir(), "traffic")
		s.said = s.says(t, append([]string{"stdio", "mcpc", "tap", "--record", s.record}, s.to...)...)
		return
	}
	at, record, stop := watching(t, s.to[1])
	s.record, s.said = record, s.says(t, "http", at)
	stop()
}

// era returns the era of the session: the first client speaks no revision without a handshake.
func (s *peerSession) era() string {
	if s.server.newest < "2026" || s.client == "ts-v1" {
		return "legacy"
	}
	return "modern"
}

// says runs the client and returns its output.
func (s *peerSession) says(t *testing.T, target ...string) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 20*program.Patience) // the Inspector connects seven times
	defer cancel()
	argv := append(slices.Clone(s.argv), target...)
	cmd := exec.CommandContext(ctx, argv[0], argv[1:]...)
	cmd.Env = append(program.CleanEnv(), "MCPC_STATE="+t.TempDir())
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil || strings.Contains(stderr.String(), "miss: ") {
		t.Fatalf("%q: %v\n%s\n%s", argv, err, out, stderr.String())
	}
	return string(out)
}

// ofAnEra are members that only one era has, or that a client of the other era leaves out; and the
// progress token, which is the number of a request: one era has one more request.
var ofAnEra = []string{"io.modelcontextprotocol/serverInfo", "resultType", "ttlMs", "cacheScope", "execution", "progressToken"}

// withoutEra leaves out those members of the JSON in each line, and the order of members,
// which the clients choose.
func withoutEra(t *testing.T, printed string) string {
	t.Helper()
	lines := strings.Split(printed, "\n")
	for i, line := range lines {
		at := strings.IndexAny(line, "{[")
		if at < 0 {
			continue
		}
		var value any
		decoder := json.NewDecoder(strings.NewReader(line[at:]))
		decoder.UseNumber()
		if err := decoder.Decode(&value); err != nil {
			t.Fatalf("%v: %s", err, line)
		}
		strip(value)
		text, err := json.Marshal(value)
		if err != nil {
			t.Fatal(err)
		}
		lines[i] = line[:at] + string(text)
	}
	return strings.Join(lines, "\n")
}

func strip(value any) {
	switch v := value.(type) {
	case []any:
		for _, item := range v {
			strip(item)
		}
	case map[string]any:
		for name, member := range v {
			strip(member)
			meta, _ := member.(map[string]any)
			if slices.Contains(ofAnEra, name) || name == "_meta" && len(meta) == 0 {
				delete(v, name)
			}
			if name == "code" && member == json.Number("-32002") { // of a missing resource until 2025-11-25
				v[name] = json.Number("-32602")
			}
		}
	}
}

// TestPeerSessionsPlayed: a client prints the same, to the byte, whether it talks to the server or
// to the recording. In a different era than the recording's, members that belong to an era are left
// out. The server gives the recorded answers again.
func TestPeerSessionsPlayed(t *testing.T) {
	t.Parallel()
	eachPeerSession(t, func(t *testing.T, s peerSession) {
		for _, era := range []string{"legacy", "modern"} {
			if era == "modern" && s.client == "ts-v1" {
				continue
			}
			t.Run(era, func(t *testing.T) {
				want, got := s.said, s.fromTheMock(t, era)
				if s.era() != era {
					want, got = withoutEra(t, want), withoutEra(t, got)
				}
				if diff := cmp.Diff(strings.Split(want, "\n"), strings.Split(got, "\n")); diff != "" {
					t.Errorf("what the client saw (-server +mock):\n%s", diff)
				}
			})
		}
		t.Run("replay", s.replayed)
		if s.server.transport == "stdio" && s.server.newest > "2026" {
			t.Run("replay in the other era", s.replayedInTheOtherEra)
		}
		// The rest depends on the server, and these clients, one in Go and one in JavaScript, talk to all of them.
		if s.client != "go" && s.client != "ts-v2" {
			return
		}
		t.Run("replay changed", s.changed)
		if s.server.transport == "stdio" && s.server.newest > "2026" {
			t.Run("replay half", s.replayedHalf)
		}
	})
}

// fromTheMock runs the client with the recording as its server.
func (s *peerSession) fromTheMock(t *testing.T, era string) string {
	t.Helper()
	words := []string{"mock", s.record, "--era", era}
	if s.server.transport == "stdio" {
		return s.says(t, append([]string{"stdio", "mcpc"}, append(words, "--stdio")...)...)
	}
	at, ended := listening(t, append(words, "--listen", "127.0.0.1:0")...)
	said := s.says(t, "http", at)
	if text := ended(); strings.Contains(text, "miss: ") {
		t.Error(text)
	}
	return said
}

// A replayReport is the output of mcpc replay --json.
type replayReport struct {
	Counts    map[string]int
	Passed    map[string]int
	Exchanges []struct {
		Exchange, Verdict, Method, Name, Why string
		Differences                          []struct{ Path string }
	}
}

// replayed sends the recording to its own server: all responses are the same, except for a time of
// day that a rule names. Requests that the client gave up, such as a subscription, are not sent.
func (s *peerSession) replayed(t *testing.T) {
	rules := filepath.Join(t.TempDir(), "time.mcpc-match.yaml")
	text := "resources/read demo://resource/dynamic/text/1:\n" +
		`  .contents[0].text: 'regex ^Resource 1: This is a plaintext resource created at \d+:\d\d:\d\d [AP]M$'` + "\n"
	if err := os.WriteFile(rules, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	s.same(t, s.record, "--match-file", rules)
}

// replayedInTheOtherEra: a member that only one era has is no difference.
func (s *peerSession) replayedInTheOtherEra(t *testing.T) {
	revision := map[string]string{"legacy": "2026-07-28", "modern": "2025-11-25"}[s.era()]
	for kind, n := range s.same(t, s.record, "--protocol", revision).Passed {
		if n > 0 && kind != "protocol" && kind != "bound" {
			t.Errorf("%d values were let pass: %s", n, kind)
		}
	}
}

// same fails the test unless all that was sent is the same.
func (s *peerSession) same(t *testing.T, record string, flags ...string) (report replayReport) {
	t.Helper()
	report, out := s.replay(t, 0, record, flags...)
	for _, x := range report.Exchanges {
		if x.Verdict != "same" && (x.Verdict != "skipped" || x.Why != "it was cancelled") {
			t.Errorf("%+v", x)
		}
	}
	if report.Counts["same"] < 10 {
		t.Errorf("%v\n%s", report.Counts, out)
	}
	return report
}

// changed replays a recording with one changed value: it is the only difference.
func (s *peerSession) changed(t *testing.T) {
	recorded, err := os.ReadFile(s.record)
	if err != nil {
		t.Fatal(err)
	}
	other := filepath.Join(t.TempDir(), "changed")
	if err := os.WriteFile(other, bytes.Replace(recorded, []byte("Echo: Gr"), []byte("Echo: Br"), 1), 0o600); err != nil {
		t.Fatal(err)
	}
	report, out := s.replay(t, 1, other, "method:tools/call", "name:echo")
	var paths []string
	for _, x := range report.Exchanges {
		for _, d := range x.Differences {
			paths = append(paths, x.Name+d.Path)
		}
	}
	if want := []string{"echo.content[0].text"}; !slices.Equal(paths, want) {
		t.Errorf("differences at %q, want %q\n%s", paths, want, out)
	}
}

// replayedHalf replays to a server that ends after nine messages: the rest is not run,
// and a reader of JUnit from npm counts it as skipped.
func (s *peerSession) replayedHalf(t *testing.T) {
	const nine = `n=0; while [ $n -lt 9 ] && IFS= read -r line; do printf "%s\\n" "$line"; n=$((n+1)); done`
	half := peerSession{to: append([]string{"--", "sh", "-c", nine + ` | "$@"`, "sh"}, s.to[1:]...)}
	junit := filepath.Join(t.TempDir(), "replay.xml")
	report, out := half.replay(t, 7, s.record, "--junit", junit)
	counts := report.Counts
	if counts["same"] < 4 || counts["missing"] > 1 || counts["not run"] < 4 {
		t.Errorf("%v\n%s", counts, out)
	}
	read, err := exec.Command("node", filepath.Join(peersDir(t), "reports", "junit.mjs"), junit).CombinedOutput()
	if want := fmt.Sprintf(" %d\n", counts["not run"]+counts["skipped"]); err != nil || !strings.HasSuffix(string(read), want) {
		t.Errorf("%v: %s, want %s", err, read, want)
	}
}

// replay sends a recording to the server of the session.
func (s *peerSession) replay(t *testing.T, code int, record string, words ...string) (report replayReport, out string) {
	t.Helper()
	args := append([]string{"replay", record, "--yes", "--json"}, words...)
	to := s.to
	if to[0] == "-s" {
		to = []string{"--to", to[1]}
	}
	r := newRunner(t).want(code, append(args, to...)...)
	mustUnmarshal(t, r.stdout, &report)
	return report, r.stdout
}
