package liveview

import (
	"path/filepath"
	"testing"
	"time"

	"mcpc/internal/live/view"
)

// restarted is a server that reports a change of its prompts, which it declares only when it is started again.
const restarted = `
lists='"tools":{}'
[ -e "$0" ] && lists='"tools":{},"prompts":{}'
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

// A watched server that is restarted with prompts for the first time has them in the catalog.
func TestWatchedServerIsConnectedAgain(t *testing.T) {
	t.Parallel()
	v := tryView(t, "2025-11-25")
	argv := []string{"sh", "-c", restarted, filepath.Join(t.TempDir(), "started")}
	if out := v.Actor.Start(t.Context(), argv, []string{"node", "server.js"}); !out.OK() {
		t.Fatal(out.Text)
	}
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
