package traffic

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"mcpc/internal/capture"
	"mcpc/internal/capture/rows"
	"mcpc/internal/cli/cmdutil"
	"mcpc/internal/cli/recorded"
	"mcpc/internal/connect/host"
	"mcpc/internal/wire"
)

var noon = time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)

// A folder of recordings in which commands come and go while a proxy records: times
// are seconds of one minute, and a row is "method asked answered", answered "-" where
// it was not.
func recordings(t *testing.T, runs ...[]string) *cmdutil.Factory {
	t.Helper()
	f := cmdutil.New(nil, nil, nil)
	f.State, f.Now = t.TempDir(), time.Now
	dir := filepath.Join(f.State, host.TrafficDir)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	minute := noon
	for i, run := range runs {
		number := i + 1
		b := capture.AppendHead(nil, capture.Head{Mcpc: "0", Started: minute, Target: "t", Run: number, By: run[0]})
		last := minute
		for id, row := range run[1:] {
			var method, answered string
			var asked int
			if _, err := fmt.Sscan(row, &method, &asked, &answered); err != nil {
				t.Fatal(err)
			}
			at := minute.Add(time.Duration(asked) * time.Second)
			b = capture.AppendFrame(b, wire.Frame{
				Seq: uint64(id*2 + 1), Time: at, Dir: wire.Sent, Kind: wire.Body,
				Raw: fmt.Appendf(nil, `{"jsonrpc":"2.0","id":%d,"method":%q}`, id, method),
			})
			if answered != "-" {
				var second int
				fmt.Sscan(answered, &second)
				at = minute.Add(time.Duration(second) * time.Second)
				b = capture.AppendFrame(b, wire.Frame{
					Seq: uint64(id*2 + 2), Time: at, Dir: wire.Received, Kind: wire.Body,
					Raw: fmt.Appendf(nil, `{"jsonrpc":"2.0","id":%d,"result":{}}`, id),
				})
			}
			if at.After(last) {
				last = at
			}
		}
		path := filepath.Join(dir, fmt.Sprintf("%06d.jsonl", number))
		if err := os.WriteFile(path, b, 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Chtimes(path, last, last); err != nil {
			t.Fatal(err)
		}
	}
	return f
}

var beside = [][]string{
	{"proxy", "initialize 1 2", "slow 3 30", "tools/list 20 21", "waits 22 -"},
	{"command", "ping 5 6"},
	{"command", "killed 25 -"},
	{"tap", "initialize 26 27"},
	{"command", "prompts/list 28 29"},
}

func TestRowsAreListedByTheirTime(t *testing.T) {
	f := recordings(t, beside...)
	for most, want := range map[int]string{
		0: "1.1 initialize, 1.2 slow, 2 ping, 1.3 tools/list, 1.4 waits, 3 killed, 4.1 initialize, 5 prompts/list",
		3: "3 killed, 4.1 initialize, 5 prompts/list",
		6: "2 ping, 1.3 tools/list, 1.4 waits, 3 killed, 4.1 initialize, 5 prompts/list",
	} {
		all, out := readRows(context.Background(), f, "", selection{func(*rows.Row) bool { return true }, func(rows.Page) bool { return true }}, most)
		var got []string
		for _, row := range all {
			got = append(got, row.Number()+" "+row.Method)
		}
		if strings.Join(got, ", ") != want || !out.OK() {
			t.Errorf("the last %d: %v, %v", most, got, out)
		}
	}
}

// What is open while a proxy turns to the next file is listed once, however far it is.
func TestRowsAreListedOnceAtATurn(t *testing.T) {
	for name, c := range map[string]struct{ old, next, want string }{
		"what is open is repeated":          {"", "{\"carried\":1}\n", "1.1 initialize ok, 2.1 waits open"},
		"the new file was read before that": {"{\"next\":2}\n", "", "1.1 initialize ok, 1.2 waits open"},
		"it has turned":                     {"{\"next\":2}\n", "{\"carried\":1}\n", "1.1 initialize ok, 2.1 waits open"},
	} {
		f := recordings(t, []string{"proxy", "initialize 1 2", "waits 3 -"})
		part := func(run int) string {
			return filepath.Join(f.State, host.TrafficDir, fmt.Sprintf("%06d.jsonl", run))
		}
		old, err := os.ReadFile(part(1))
		if err != nil {
			t.Fatal(err)
		}
		lines := slices.Collect(bytes.Lines(old))
		grow(t, part(1), []byte(c.old))
		grow(t, part(2), capture.AppendHead(nil, capture.Head{Started: noon, Run: 2, PreviousRun: 1, By: capture.ByProxy}))
		grow(t, part(2), append(lines[len(lines)-1], c.next...))
		all, out := readRows(context.Background(), f, "", selection{func(*rows.Row) bool { return true }, func(rows.Page) bool { return true }}, 0)
		if got := inWords(all); got != c.want || !out.OK() {
			t.Errorf("%s: %s, want %s; %v", name, got, c.want, out)
		}
	}
}

// "last" is what ended last: of a proxy that still records what it saw answered, of a
// command that was killed what it had asked.
func TestLastIsTheExchangeThatEndedLast(t *testing.T) {
	for _, c := range []struct {
		want string
		runs [][]string
	}{
		{"1.2 slow", beside},
		{"3 killed", [][]string{{"proxy", "initialize 1 2", "slow 3 20", "waits 22 -"}, {"command", "ping 5 6"}, {"command", "killed 25 -"}}},
		{"2.2 prompts/list", [][]string{{"proxy", "waits 50 -"}, {"command", "initialize 1 2", "prompts/list 3 4"}}},
		{"1.1 waits", [][]string{{"proxy", "waits 50 -"}}},
		{"1.2 killed", [][]string{{"command", "initialize 1 2", "killed 3 -"}, {"command", "ping 1 2"}}},
		{"2 ping", [][]string{{"command", "listen 1 -"}, {"command", "ping 2 3"}}},
	} {
		f := recordings(t, c.runs...)
		in, row, out := recorded.Pick(f, "last")
		if !out.OK() {
			t.Fatalf("%s: %v", c.want, out)
		}
		in.Close()
		if got := row.Number() + " " + row.Method; got != c.want {
			t.Errorf("%s, want %s", got, c.want)
		}
	}
}
