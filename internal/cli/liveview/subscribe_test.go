package liveview

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// subscribable is a server that declares prompts after a restart, and reports a change of them when a resource
// is subscribed to. Then it writes the URIs of subscriptions to the file $0, and refuses a:refused.
const subscribable = `
lists='"tools":{},"resources":{"subscribe":true}'
[ -e "$0" ] && lists=$lists',"prompts":{}'
while read -r line; do
	id=$(printf %s "$line" | sed -n 's/.*"id":\([^,}]*\).*/\1/p')
	answer='"result":{}'
	case $line in
	*'"initialize"'*)
		result='{"protocolVersion":"2025-11-25","capabilities":{'$lists'},"serverInfo":{"name":"s","version":"1"}}'
		answer='"result":'$result ;;
	*'"tools/list"'*) answer='"result":{"tools":[]}' ;;
	*'"resources/subscribe"'*'a:refused'*)
		[ -e "$0" ] && answer='"error":{"code":-32602,"message":"unknown"}' ;;
	esac
	[ -n "$id" ] && printf '{"jsonrpc":"2.0","id":%s,%s}\n' "$id" "$answer"
	case $line in
	*'"resources/subscribe"'*)
		[ -e "$0" ] && printf '%s\n' "$line" >>"$0"
		: >>"$0"
		printf '{"jsonrpc":"2.0","method":"notifications/prompts/list_changed"}\n' ;;
	esac
done`

// The view subscribes again after it has connected again.
func TestSubscriptionIsRenewedAfterReconnect(t *testing.T) {
	t.Parallel()
	v := tryView(t, "2025-11-25")
	file := filepath.Join(t.TempDir(), "started")
	start(t, v, Command{Argv: []string{"sh", "-c", subscribable, file}, Watched: []string{"node", "server.js"}})
	if err := v.Actor.Subscribe(t.Context(), "", "a:b", true); err != nil {
		t.Fatal(err)
	}
	for deadline := time.Now().Add(time.Minute); ; time.Sleep(10 * time.Millisecond) {
		raw, err := os.ReadFile(file)
		if err == nil && strings.Contains(string(raw), "a:b") {
			break
		}
		if time.Now().After(deadline) {
			t.Fatalf("got %q, %v, notice %q", raw, err, v.Status().Notice)
		}
	}
	if err := v.Actor.Subscribe(t.Context(), "", "a:b", false); err != nil {
		t.Error(err)
	}
	if got := v.Status().Notice; got != "" {
		t.Errorf("notice %q", got)
	}
}

// A notice says that a restarted server refuses a subscription.
func TestRefusedRenewalIsNoticed(t *testing.T) {
	t.Parallel()
	v := tryView(t, "2025-11-25")
	file := filepath.Join(t.TempDir(), "started")
	start(t, v, Command{Argv: []string{"sh", "-c", subscribable, file}, Watched: []string{"node", "server.js"}})
	if err := v.Actor.Subscribe(t.Context(), "", "a:refused", true); err != nil {
		t.Fatal(err)
	}
	want := "the subscription to a:refused has ended: the server refused the subscription"
	if got := firstNotice(t, v); got != want {
		t.Errorf("got %q", got)
	}
}
