package act

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"mcpc/internal/capture"
	"mcpc/internal/capture/hold"
	"mcpc/internal/cli/cmdutil"
	"mcpc/internal/connect/host"
	"mcpc/internal/live/control"
	"mcpc/internal/wire"
)

// A secret in what a message is about, and in what the two sides call themselves, is masked as
// in the message.
func TestHeldShowsNoSecret(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("there are no sockets on Windows")
	}
	dir, err := os.MkdirTemp("", "mc") // whose path is short enough for a socket
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	secret := "ghp_" + strings.Repeat("a1B2", 9)
	desk := &hold.Desk{Now: time.Now, Live: &capture.Live{}}
	s := &control.Server{Desk: desk, Now: time.Now, Hello: func() control.Hello { return control.Hello{Pid: 11, By: "tap", Target: "demo"} }}
	done, err := s.Listen(filepath.Join(dir, "11.sock"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(done)
	g := control.Dial(control.Options{Dirs: []string{dir}, Now: time.Now})
	t.Cleanup(g.Close)
	if err := g.Intercept(t.Context(), true, ""); err != nil {
		t.Fatal(err)
	}
	for id, message := range []struct {
		dir  wire.Direction
		text string
	}{
		{wire.Sent, `{"jsonrpc":"2.0","id":%d,"method":"resources/read","params":{"uri":"https://host/x?token=` + secret + `"}}`},
		{wire.Sent, `{"jsonrpc":"2.0","id":%d,"method":"` + secret + `"}`},
		{wire.Received, `{"jsonrpc":"2.0","id":%d,"method":"elicitation/create","params":{"message":"` + secret + `"}}`},
	} {
		m := wire.ParseMessage(fmt.Appendf(nil, message.text, id))
		go desk.Hold(context.Background(), hold.Message{Message: m, Row: desk.Row("demo "+secret, "", message.dir, nil, m), Note: func(wire.HeldFacts, []byte) {}})
	}
	late := time.After(time.Minute)
	for len(g.Held()) < 3 {
		select {
		case <-g.Changed():
		case <-late:
			t.Fatal("not all are held")
		}
	}
	a := &holder{core: &core{Options: Options{Factory: &cmdutil.Factory{Env: host.Env{Shared: &host.Shared{}}}}}, peers: g}
	held, questions := a.Held(), a.questions()
	raw, _ := json.Marshal([]any{held, questions})
	if len(held) != 3 || len(questions) != 1 || strings.Contains(string(raw), secret) || !strings.Contains(string(raw), "https://host/x?token=") {
		t.Errorf("got %s", raw)
	}
}
