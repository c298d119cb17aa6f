//go:build peers

package peers

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestPeerSessionsContinued: a client prints the same if the recording of its session is played to it up to
// an exchange, and its own server answers from there on.
func TestPeerSessionsContinued(t *testing.T) {
	t.Parallel()
	eachPeerSession(t, func(t *testing.T, s peerSession) {
		for _, until := range s.points(t) {
			t.Run(until, func(t *testing.T) {
				want, got := withoutTimes(withoutEra(t, s.said)), withoutTimes(withoutEra(t, s.continued(t, until)))
				if diff := cmp.Diff(strings.Split(want, "\n"), strings.Split(got, "\n")); diff != "" {
					t.Errorf("what the client saw (-recorded +continued at #%s):\n%s", until, diff)
				}
			})
		}
	})
}

// points returns the numbers of three requests of the recording: one of the first, one in the middle, and the last.
func (s *peerSession) points(t *testing.T) []string {
	t.Helper()
	var log struct {
		Exchanges []struct{ Number, Method, Dir, ID string }
	}
	mustUnmarshal(t, newRunner(t).want(0, "log", "--file", s.record, "--json").stdout, &log)
	var numbers []string
	for _, x := range log.Exchanges {
		isOpening := x.Method == "initialize" || x.Method == "server/discover"
		if x.Dir == "sent" && x.ID != "" && !isOpening && x.Method != "subscriptions/listen" {
			numbers = append(numbers, x.Number)
		}
	}
	if len(numbers) < 10 {
		t.Fatalf("%d requests were recorded", len(numbers))
	}
	return slices.Compact([]string{numbers[2], numbers[len(numbers)/2], numbers[len(numbers)-1]})
}

// continued runs the client with the recording up to an exchange, and its server from there on.
func (s *peerSession) continued(t *testing.T, until string) string {
	t.Helper()
	words := []string{"mock", s.record, "--until", until, "--yes"}
	to := s.to
	if to[0] == "-s" {
		to = []string{"--then", to[1]}
	}
	if s.server.transport == "stdio" {
		return s.says(t, slices.Concat([]string{"stdio", "mcpc"}, words, []string{"--stdio"}, to)...)
	}
	at, ended := listening(t, slices.Concat(words, []string{"--listen", "127.0.0.1:0"}, to)...)
	said := s.says(t, "http", at)
	text := ended()
	if !strings.Contains(text, "the real server answered ") || strings.Contains(text, "the client did not reach") {
		t.Error(text)
	}
	return said
}
