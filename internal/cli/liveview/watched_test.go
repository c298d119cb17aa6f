package liveview

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"mcpc/internal/client"
	"mcpc/internal/diff"
	"mcpc/internal/live/view"
	"mcpc/internal/wire"
)

// restarted is a server that reports a change of its prompts, which it declares only when it is started again.
const restarted = `
lists='"tools":{}'
[ -e "$0" ] && lists='"tools":{},"prompts":{}'
printf 'mcpc: note: restarted\033[31m\nrestarted by itself\n' >&2
while read -r line; do
	id=$(printf %s "$line" | sed -n 's/.*"id":\([^,}]*\).*/\1/p')
	result='{}'
	case $line in
	*'"initialize"'*)
		result='{"protocolVersion":"2025-11-25","capabilities":{'$lists'},"serverInfo":{"name":"s","version":"1"}}' ;;
	*'"tools/list"'*) result='{"tools":[]}' ;;
	*'"prompts/list"'*) result='{"prompts":[{"name":"greet"}]}' ;;
	esac
	[ -n "$id" ] && printf '{"jsonrpc":"2.0","id":%s,"result":%s}\n' "$id" "$result"
	case $line in
	*'"tools/list"'*)
		[ -e "$0" ] && continue
		: >"$0"
		printf '{"jsonrpc":"2.0","method":"notifications/prompts/list_changed"}\n' ;;
	esac
done`

// The views show what the tap of a watched server says, and no control sequences.
func TestNoticesOfTapAreShown(t *testing.T) {
	t.Parallel()
	v := tryView(t, "2025-11-25")
	start(t, v, Command{
		Argv:    []string{"sh", "-c", restarted, filepath.Join(t.TempDir(), "started")},
		Watched: []string{"node", "server.js"},
	})
	if got := firstNotice(t, v); got != "restarted␛[31m" {
		t.Errorf("got %q", got)
	}
}

// stricter is a server whose tool requires an argument after the first list.
const stricter = `
required=
while read -r line; do
	id=$(printf %s "$line" | sed -n 's/.*"id":\([^,}]*\).*/\1/p')
	result='{}'
	case $line in
	*'"initialize"'*)
		result='{"protocolVersion":"2025-11-25","capabilities":{"tools":{"listChanged":true}},"serverInfo":{"name":"s","version":"1"}}' ;;
	*'"tools/list"'*)
		result='{"tools":[{"name":"get-weather","inputSchema":{"type":"object","properties":{"city":{"type":"string"}}'$required'}}]}' ;;
	esac
	[ -n "$id" ] && printf '{"jsonrpc":"2.0","id":%s,"result":%s}\n' "$id" "$result"
	case $line in
	*'"tools/list"'*)
		[ -n "$required" ] && continue
		required=',"required":["city"]'
		printf '{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}\n' ;;
	esac
done`

// After a change of a watched server, a notice says how its tools differ.
func TestNoticeSaysHowToolsDiffer(t *testing.T) {
	t.Parallel()
	v := tryView(t, "2025-11-25")
	start(t, v, Command{Argv: []string{"sh", "-c", stricter}, Watched: []string{"node", "server.js"}})
	if got := firstNotice(t, v); !strings.Contains(got, "tool get-weather: ") || !strings.Contains(got, "city") {
		t.Errorf("got %q", got)
	}
}

// broken is a server whose second tools/list fails. It writes what its tap would: at a setLevel that the server ended, and
// at a ping that it was restarted.
const broken = `
n=0
while read -r line; do
	id=$(printf %s "$line" | sed -n 's/.*"id":\([^,}]*\).*/\1/p')
	reply='"result":{}'
	case $line in
	*'"initialize"'*)
		reply='"result":{"protocolVersion":"2025-11-25","capabilities":{"tools":{"listChanged":true}},"serverInfo":{"name":"s","version":"1"}}' ;;
	*'"tools/list"'*)
		n=$((n+1))
		reply='"result":{"tools":[{"name":"get-weather","inputSchema":{"type":"object"}}]}'
		[ $n = 2 ] && reply='"error":{"code":-32603,"message":"bad schema"}' ;;
	*'"logging/setLevel"'*) echo "mcpc: warning: the server ended: SyntaxError" >&2 ;;
	*'"ping"'*) echo "mcpc: note: the server was restarted" >&2 ;;
	esac
	[ -n "$id" ] && printf '{"jsonrpc":"2.0","id":%s,%s}\n' "$id" "$reply"
done`

// The status says why a watched server does not run or list its tools, until it does. Views list again after each
// restart, also if the server does not say that its list has changed.
func TestTroubleIsShownUntilTheServerIsMended(t *testing.T) {
	t.Parallel()
	v := tryView(t, "2025-11-25")
	start(t, v, Command{Argv: []string{"sh", "-c", broken}, Watched: []string{"node", "server.js"}})
	send := func(method string) {
		t.Helper()
		if out := v.Actor.ownServer.Load().Do(t.Context(), client.Call{Method: method}); !out.OK() {
			t.Fatal(out.Text)
		}
	}
	ping := func(wantTrouble string) {
		t.Helper()
		before := v.Status().Catalogs
		send("ping")
		awaitStatus(t, v, func(s view.Status) bool { return s.Catalogs > before && s.Trouble == wantTrouble })
	}
	ping(`tools/list: protocol error -32603 "bad schema"`)
	ping("")
	send("logging/setLevel")
	awaitStatus(t, v, func(s view.Status) bool { return s.Trouble == "the server ended: SyntaxError" })
	ping("")
}

// awaitStatus waits for a status of a view.
func awaitStatus(t *testing.T, v *View, is func(view.Status) bool) {
	t.Helper()
	ctx, stop := context.WithTimeout(t.Context(), time.Minute)
	defer stop()
	for seq := uint64(0); !is(v.Status()); seq = v.Wait(ctx, seq) {
		if ctx.Err() != nil {
			t.Fatalf("the last status is %+v", v.Status())
		}
	}
}

// slowDualEra is a server of both eras that answers the probe late, as it does after a build.
const slowDualEra = `
while read -r line; do
	id=$(printf %s "$line" | sed -n 's/.*"id":\([^,}]*\).*/\1/p')
	result='"tools":[]'
	case $line in
	*'"server/discover"'*)
		[ -n "$1" ] && sleep 1
		result='"supportedVersions":["2026-07-28"],"capabilities":{"tools":{}}' ;;
	*'"initialize"'*) result='"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"s","version":"1"}' ;;
	esac
	[ -n "$id" ] && printf '{"jsonrpc":"2.0","id":%s,"result":{"resultType":"complete",%s}}\n' "$id" "$result"
done`

// The time of its build is not a part of the time in which a watched server has to answer the probe.
func TestProbeWaitsForTheBuild(t *testing.T) {
	t.Parallel()
	v := tryView(t, "")
	v.Actor.Factory.Limits.Probe = 10 * time.Millisecond
	start(t, v, Command{
		Argv:    []string{"sh", "-c", slowDualEra, "sh", "late"},
		Watched: []string{"node", "server.js"}, BuildTime: time.Minute,
	})
	if got := v.Actor.ownServer.Load().Revision(); got != "2026-07-28" {
		t.Errorf("got %q", got)
	}
}

// The revision of a watched server is not remembered, because a change of its files may change it.
func TestRevisionOfWatchedServerIsNotRemembered(t *testing.T) {
	t.Parallel()
	before := tryView(t, "")
	before.Actor.Factory.Limits.Probe = time.Nanosecond // so that it speaks the era before
	command := Command{Argv: []string{"sh", "-c", slowDualEra}, Watched: []string{"node", "server.js"}}
	start(t, before, command)
	v := tryView(t, "")
	v.Actor.Factory.State = before.Actor.Factory.State
	start(t, v, command)
	was := before.Actor.ownServer.Load().Revision()
	if got := v.Actor.ownServer.Load().Revision(); was != "2025-11-25" || got != "2026-07-28" {
		t.Errorf("got %q after %q", got, was)
	}
}

// noisy is a server that writes something else than messages to standard output.
const noisy = `
while read -r line; do
	id=$(printf %s "$line" | sed -n 's/.*"id":\([^,}]*\).*/\1/p')
	result='{"tools":[]}'
	case $line in
	*'"initialize"'*)
		result='{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"s","version":"1"}}' ;;
	*'"tools/list"'*) echo 'debug: who is Ann' ;;
	esac
	[ -n "$id" ] && printf '{"jsonrpc":"2.0","id":%s,"result":%s}\n' "$id" "$result"
done`

// A finding says what was there, such as the line that the server printed.
func TestFindingSaysWhatWasPrinted(t *testing.T) {
	t.Parallel()
	v := tryView(t, "2025-11-25")
	start(t, v, Command{Argv: []string{"sh", "-c", noisy}})
	var page view.Page
	awaitStatus(t, v, func(view.Status) bool {
		page, _ = v.Rows(t.Context(), view.Query{Filter: "finding:L019", Count: 1})
		return len(page.Rows) == 1
	})
	detail, err := v.Detail(t.Context(), page.Rows[0].Key)
	if err != nil || len(detail.Findings) == 0 || detail.Findings[0].Got != "debug: who is Ann" {
		t.Errorf("%+v, %v", detail.Findings, err)
	}
}

// talkative is a server that writes much to standard error, and then a secret.
const talkative = `
i=0
while [ $i -lt 3000 ]; do echo "line $i is thirty bytes long ..." >&2; i=$((i+1)); done
echo "Authorization: Bearer s3cr3t-t0k3n-0123456789" >&2
while read -r line; do
	id=$(printf %s "$line" | sed -n 's/.*"id":\([^,}]*\).*/\1/p')
	result='{"tools":[]}'
	case $line in
	*'"initialize"'*)
		result='{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"s","version":"1"}}' ;;
	esac
	[ -n "$id" ] && printf '{"jsonrpc":"2.0","id":%s,"result":%s}\n' "$id" "$result"
done`

// The view keeps the end of what its server wrote to standard error, without secrets, also if no files are watched.
func TestServerOutputIsBoundedAndWithoutSecrets(t *testing.T) {
	t.Parallel()
	v := tryView(t, "2025-11-25")
	start(t, v, Command{Argv: []string{"sh", "-c", talkative}})
	awaitStatus(t, v, func(s view.Status) bool {
		lines := v.Actor.ServerOutput()
		return s.Output && strings.HasPrefix(lines[len(lines)-1], "Authorization: ")
	})
	text := strings.Join(v.Actor.ServerOutput(), "\n")
	if strings.Contains(text, "s3cr3t") || len(text) > maxLastBytes || !strings.Contains(text, "line 2999 is") {
		t.Errorf("%d bytes: %s", len(text), text)
	}
}

// A hint at a flag that a view cannot set names the key that shows the same, if the server has written something.
func TestHintNamesTheKeyOfTheOutput(t *testing.T) {
	t.Parallel()
	v := tryView(t, "2025-11-25")
	hint := wire.Hint("check the server's log; ") + wire.Verbose(1, "its stderr")
	before := v.Actor.user.HintText(hint)
	v.Actor.addOutput([]byte("broken"))
	after := v.Actor.user.HintText(hint)
	want := "check the server's log"
	if before != want || after != want+"; O shows what the server wrote to stderr" {
		t.Errorf("got %q, then %q", before, after)
	}
}

// The most severe changes come first, and the rest is counted.
func TestDescribeChanges(t *testing.T) {
	tool := func(name string) diff.Subject { return diff.Subject{Kind: diff.Tool, Name: name} }
	got := describeChanges([]diff.Change{
		{Subject: tool("a"), Text: "was added"},
		{Subject: tool("b\x1b[31m"), Text: "is gone", Level: diff.Breaking},
		{Subject: tool("c"), Text: "was added"},
		{Subject: tool("d"), Text: "says more", Level: diff.Risky},
	})
	if want := "tool b␛[31m: is gone (breaking); tool d: says more (risky); tool a: was added; 1 more change"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

// A watched server that does not start has an outcome without the tap.
func TestFailedStartIsThatOfTheServer(t *testing.T) {
	m := &wire.Message{Error: &wire.RPCError{
		Code: -32000, Message: "mcpc tap: --build failed", Data: []byte(`{"by":"mcpc","stderr":"no module"}`),
	}}
	out := withoutTap(wire.Outcome{Kind: wire.RPCFailed, Message: m})
	if out.Kind != wire.Transport || out.Text != "the server does not start: --build failed" || out.Process.Stderr != "no module" {
		t.Errorf("got %+v", out)
	}
}

// A watched server that is restarted with prompts for the first time has them in the catalog.
func TestWatchedServerIsConnectedAgain(t *testing.T) {
	t.Parallel()
	v := tryView(t, "2025-11-25")
	start(t, v, Command{
		Argv:    []string{"sh", "-c", restarted, filepath.Join(t.TempDir(), "started")},
		Watched: []string{"node", "server.js"},
	})
	awaitGreet(t, v)
}

// growing is a server without a session that declares nothing at first, then tools, then also prompts. A ping changes
// that, and writes what its tap would at a restart. It refuses to list what it does not declare, and a subscription
// before it declares prompts.
const growing = `
declared=
while read -r line; do
	id=$(printf %s "$line" | sed -n 's/.*"id":\([^,}]*\).*/\1/p')
	reply='"error":{"code":-32601,"message":"not found"}'
	case $line in
	*'"server/discover"'*) reply='"result":{"supportedVersions":["2026-07-28"],"capabilities":{'$declared'}}' ;;
	*'"tools/list"'*) [ -n "$declared" ] && reply='"result":{"tools":[]}' ;;
	*'"prompts/list"'*) [ "$declared" = "${declared#*prompts}" ] || reply='"result":{"prompts":[{"name":"greet"}]}' ;;
	*'"ping"'*)
		[ -n "$declared" ] && declared='"tools":{},"prompts":{}' || declared='"tools":{}'
		reply='"result":{}'
		echo "mcpc: note: the server was restarted" >&2 ;;
	esac
	case $line$declared in *'"subscriptions/listen"'*'"prompts":{}')
		printf '{"jsonrpc":"2.0","method":"notifications/subscriptions/acknowledged","params":{'
		printf '"_meta":{"io.modelcontextprotocol/subscriptionId":%s},"notifications":{"toolsListChanged":true}}}\n' "$id"
		continue ;;
	esac
	[ -n "$id" ] && printf '{"jsonrpc":"2.0","id":%s,%s}\n' "$id" "$reply" |
		sed 's/"result":{/&"resultType":"complete","ttlMs":0,"cacheScope":"private",/'
done`

// Try shows what a watched server without a session declares after a restart, and lists nothing that it does not declare.
func TestCapabilitiesAreThoseOfTheRestartedServer(t *testing.T) {
	t.Parallel()
	v := tryView(t, "2026-07-28")
	start(t, v, Command{Argv: []string{"sh", "-c", growing}, Watched: []string{"node", "server.js"}})
	for n := range 3 {
		c, err := v.Actor.Catalog(t.Context(), "")
		if err != nil || len(c.Lists) != n {
			t.Fatalf("%d restarts: %+v, %v", n, c.Lists, err)
		}
		restart(t, v)
	}
	page, err := v.Rows(t.Context(), view.Query{Filter: "is:error method:*/list", Count: 9})
	if err != nil || len(page.Rows) > 0 {
		t.Errorf("%+v, %v", page.Rows, err)
	}
}

// restart lets a growing server restart, and waits until its lists are known.
func restart(t *testing.T, v *View) {
	t.Helper()
	before := v.Status().Catalogs
	v.Actor.ownServer.Load().Do(t.Context(), client.Call{Method: "ping"})
	awaitStatus(t, v, func(s view.Status) bool { return s.Catalogs > before })
}

// A watched server that refuses the subscription to its lists is asked again after the next restart.
func TestRefusedSubscriptionIsRequestedAgain(t *testing.T) {
	t.Parallel()
	v := tryView(t, "2026-07-28")
	start(t, v, Command{Argv: []string{"sh", "-c", growing}, Watched: []string{"node", "server.js"}})
	for _, filter := range []string{"is:error", "is:open"} { // the second restart makes the server accept it
		awaitStatus(t, v, func(view.Status) bool {
			page, err := v.Rows(t.Context(), view.Query{Filter: "method:subscriptions/listen " + filter, Count: 1})
			return err == nil && len(page.Rows) == 1
		})
		restart(t, v)
		restart(t, v)
	}
}

// A watched server that cannot be started at first is connected when its file has been mended.
func TestWatchedServerIsMended(t *testing.T) {
	t.Parallel()
	v := tryView(t, "2025-11-25")
	dir := t.TempDir()
	file := filepath.Join(dir, "server.sh")
	save := func(script string) {
		t.Helper()
		if err := os.WriteFile(file, []byte(script), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	save("echo broken >&2; exit 3")
	outcome := make(chan wire.Outcome, 1)
	go func() {
		outcome <- v.Actor.Start(t.Context(), Command{
			Argv:     []string{"sh", file, filepath.Join(dir, "started")},
			Watched:  []string{"sh", file},
			Patterns: []string{filepath.Join(dir, "*.sh")},
		})
	}()
	awaitStatus(t, v, func(s view.Status) bool { return s.Failed > 0 && s.Trouble != "" })
	if v.Status().Own {
		t.Error("the view has a server that was not started")
	}
	save(strings.ReplaceAll(restarted, "$0", "$1"))
	if out := <-outcome; !out.OK() {
		t.Fatal(out.Text)
	}
	awaitGreet(t, v)
	awaitStatus(t, v, func(s view.Status) bool { return s.Trouble == "" })
}

// start starts a server that can be started at once.
func start(t *testing.T, v *View, command Command) {
	t.Helper()
	if out := v.Actor.Start(t.Context(), command); !out.OK() {
		t.Fatal(out.Text)
	}
}

// firstNotice waits for a notice of a view, and returns it.
func firstNotice(t *testing.T, v *View) string {
	t.Helper()
	ctx, stop := context.WithTimeout(t.Context(), time.Minute)
	defer stop()
	for seq := uint64(0); v.Status().Notices == 0; seq = v.Wait(ctx, seq) {
		if ctx.Err() != nil {
			t.Fatal("no notice")
		}
	}
	return v.Status().Notice
}

// awaitGreet waits until the catalog has the prompt greet.
func awaitGreet(t *testing.T, v *View) {
	t.Helper()
	for deadline := time.Now().Add(time.Minute); ; time.Sleep(10 * time.Millisecond) {
		c, err := v.Actor.Catalog(t.Context(), "")
		if err == nil && len(c.Lists) == 2 && offerNamed(t, c, view.KindPrompt, "greet").Name != "" {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("no prompts in %+v, %v", c, err)
		}
	}
}
