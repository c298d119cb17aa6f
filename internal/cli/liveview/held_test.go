package liveview

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

	"mcpc/internal/cli/cmdutil"
	"mcpc/internal/connect/host"
	"mcpc/internal/live/control"
	"mcpc/internal/live/view"
	"mcpc/internal/proxy"
	"mcpc/internal/wire"
)

// holding returns a desk that holds all messages, and the group with it.
func holding(t *testing.T) (*proxy.Desk, *control.Group) {
	t.Helper()
	if runtime.GOOS == "windows" {
		t.Skip("there are no sockets on Windows")
	}
	dir, err := os.MkdirTemp("", "mc") // whose path is short enough for a socket
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	desk := &proxy.Desk{Now: time.Now, Link: proxy.LinkStdio}
	s := &control.Server{Desk: desk, Live: true, Now: time.Now, HideSecrets: func(text string) string { return text }, Hello: func() control.Hello { return control.Hello{Pid: 11, By: "tap", Target: "demo"} }}
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
	return desk, g
}

// awaitHeld waits until n messages are held.
func awaitHeld(t *testing.T, g *control.Group, n int) {
	t.Helper()
	late := time.After(time.Minute)
	for len(g.Held()) != n {
		select {
		case <-g.Changed():
		case <-late:
			t.Fatalf("%d are held, not %d", len(g.Held()), n)
		}
	}
}

func newHolder(g *control.Group) *Actor {
	f := &cmdutil.Factory{Env: host.Env{Shared: &host.Shared{}}}
	a := NewActor(ActorOptions{Factory: f})
	a.peers = g
	return a
}

// A secret in what a message is about, and in what the two sides call themselves, is masked as
// in the message.
func TestHeldShowsNoSecret(t *testing.T) {
	desk, g := holding(t)
	secret := "ghp_" + strings.Repeat("a1B2", 9)
	for id, message := range []struct {
		dir  wire.Direction
		text string
	}{
		{wire.Sent, `{"jsonrpc":"2.0","id":%d,"method":"resources/read","params":{"uri":"https://host/x?token=` + secret + `"}}`},
		{wire.Sent, `{"jsonrpc":"2.0","id":%d,"method":"` + secret + `"}`},
		{wire.Received, `{"jsonrpc":"2.0","id":%d,"method":"elicitation/create","params":{"message":"` + secret + `"}}`},
	} {
		m := wire.ParseMessage(fmt.Appendf(nil, message.text, id))
		go desk.Hold(context.Background(), proxy.Candidate{Message: m, Row: desk.Row("demo "+secret, "", message.dir, nil, m), Record: func(wire.HeldFacts, []byte) {}})
	}
	awaitHeld(t, g, 3)
	a := newHolder(g)
	held, questions := a.Held(), a.heldQuestions()
	raw, _ := json.Marshal([]any{held, questions})
	if len(held) != 3 || len(questions) != 1 || strings.Contains(string(raw), secret) || !strings.Contains(string(raw), "https://host/x?token=") {
		t.Errorf("got %s", raw)
	}
}

// A form or a page can be declined in the place of a client, and nothing else.
func TestAnswersInTheClientsPlace(t *testing.T) {
	desk, g := holding(t)
	a := newHolder(g)
	const form, page = `{"message":"m","requestedSchema":{}}`, `{"message":"m","mode":"url","url":"https://x.example"}`
	for i, c := range []struct {
		method, params, action, content string
		want                            string // the result; "" is an error
	}{
		{"elicitation/create", form, "accept", `{"a":1}`, `{"action":"accept","content":{"a":1}}`},
		{"elicitation/create", form, "accept", "", `{"action":"accept","content":{}}`},
		{"elicitation/create", form, "decline", `{"a":1}`, `{"action":"decline"}`},
		{"elicitation/create", form, "cancel", "", `{"action":"cancel"}`},
		{"elicitation/create", page, "accept", `{"a":1}`, `{"action":"accept"}`},
		{"sampling/createMessage", `{"messages":[],"maxTokens":1}`, "decline", `"no"`, ""},
		{"roots/list", `{}`, "cancel", `{"roots":[]}`, ""},
		{"roots/list", `{}`, "accept", `{"roots":[]}`, `{"roots":[]}`},
	} {
		m := wire.ParseMessage(fmt.Appendf(nil, `{"jsonrpc":"2.0","id":%d,"method":%q,"params":%s}`, i, c.method, c.params))
		verdict := make(chan proxy.Ruling, 1)
		go func() {
			verdict <- desk.Hold(context.Background(), proxy.Candidate{
				Message: m, Row: desk.Row("demo", "", wire.Received, nil, m),
				Record: func(wire.HeldFacts, []byte) {},
			})
		}()
		awaitHeld(t, g, 1)
		id, answer := g.Held()[0].ID, view.Answer{Action: c.action}
		if c.content != "" {
			answer.Content = json.RawMessage(c.content)
		}
		err := a.answerHeld(t.Context(), id, answer)
		if (err != nil) != (c.want == "") {
			t.Errorf("%s %s: %v", c.method, c.action, err)
		}
		if err != nil {
			_ = g.Decide(t.Context(), id, control.Order{Do: "drop"})
		}
		v := <-verdict
		if answered := v.How != proxy.Dropped; answered != (c.want != "") || answered && string(v.Raw) != c.want {
			t.Errorf("%s %s: %s %s", c.method, c.action, v.How, v.Raw)
		}
		awaitHeld(t, g, 0)
	}
}
