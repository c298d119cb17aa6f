package main

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"mcpc/internal/live/control"
	"mcpc/internal/state"
	"mcpc/internal/tests/program"
	"mcpc/internal/wire"
)

// viewing is a view that holds what a filter wants, and says what it holds, until it is killed.
func viewing() {
	g := control.Dial(control.Options{Dirs: os.Args[1:2], Now: time.Now})
	if err := g.Intercept(context.Background(), true, os.Args[2]); err != nil {
		panic(err)
	}
	for range g.Changed() {
		for _, h := range g.Held() {
			fmt.Println(h.ID, h.Dir, h.Method, h.Name)
		}
	}
}

// A talker is a client that writes lines and reads the answers.
type talker struct {
	t   *testing.T
	in  io.Writer
	out *bufio.Reader
}

func (c *talker) say(line string) { fmt.Fprintln(c.in, line) }

func (c *talker) hear(part string) {
	c.t.Helper()
	line, err := c.out.ReadString('\n')
	if err != nil || !strings.Contains(line, part) {
		c.t.Fatalf("got %q and %v, want %s", line, err, part)
	}
}

// startTap starts the demo server behind a tap, with a state of its own.
func startTap(t *testing.T) (c *talker, home string, end func()) {
	t.Helper()
	home, err := os.MkdirTemp("", "mc")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(home) })
	cmd := exec.Command("mcpc", "tap", "--", "mcpc", "demo", "--stdio")
	cmd.Env = append(program.CleanEnv(), "MCPC_STATE="+home)
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	c = &talker{t, in, bufio.NewReader(out)}
	c.say(`{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"talker","version":"1"}}}`)
	c.hear(`"id":0`)
	c.say(`{"jsonrpc":"2.0","method":"notifications/initialized"}`)
	end = func() {
		in.Close()
		_ = cmd.Wait()
	}
	t.Cleanup(end)
	return c, home, end
}

func call(id int, text string) string {
	return fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":"echo","arguments":{"message":"%s"}}}`, id, text)
}

func TestKilledViewReleasesHeldMessages(t *testing.T) {
	c, home, end := startTap(t)
	view := exec.Command("viewing", filepath.Join(home, "live"), "name:echo dir:sent")
	view.Stderr = os.Stderr
	said, err := view.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := view.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = view.Process.Kill() }()
	held := make(chan string, 1)
	go func() {
		line, _ := bufio.NewReader(said).ReadString('\n')
		held <- line
	}()
	for id := 1; ; id++ { // until the view has found the tap
		c.say(call(id, "one"))
		answered := make(chan struct{})
		go func() {
			c.hear("one")
			close(answered)
		}()
		select {
		case <-answered:
			continue
		case line := <-held:
			if !strings.HasSuffix(line, " sent tools/call echo\n") {
				t.Fatalf("the view says %q", line)
			}
		}
		_ = view.Process.Kill()
		_ = view.Wait()
		<-answered
		break
	}
	end()
	entries, err := os.ReadDir(filepath.Join(home, "live"))
	if err != nil || len(entries) > 0 {
		t.Errorf("sockets are left: %v, %v", entries, err)
	}
	if out := logged(t, home, "is:held -is:edited"); strings.Count(out, "tools/call") != 1 {
		t.Errorf("mcpc log: %s", out)
	}
}

func logged(t *testing.T, home, filter string) string {
	t.Helper()
	cmd := exec.Command("mcpc", "log", filter, "--jsonl")
	cmd.Env = append(program.CleanEnv(), "MCPC_STATE="+home)
	out, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	return string(out)
}

func TestViewHoldsMessagesOfTap(t *testing.T) {
	c, home, end := startTap(t)
	store, err := state.Open(home)
	if err != nil {
		t.Fatal(err)
	}
	g := control.Dial(control.Options{Dirs: store.SocketDirs(state.LiveSockets), Now: time.Now})
	defer g.Close()
	// The view may not know yet that a message before it was released.
	held := func(id string) control.Held {
		for deadline := time.After(time.Minute); ; {
			for _, h := range g.Held() {
				if m := wire.ParseMessage(h.Message); m.Kind == wire.Request && string(m.ID) == id {
					return h
				}
			}
			select {
			case <-g.Changed():
			case <-deadline:
				t.Fatal("nothing is held")
			}
		}
	}
	for len(g.Peers()) == 0 {
		<-g.Changed()
	}
	if p := g.Peers()[0]; p.By != "tap" || p.Run != 1 || p.Target != "mcpc demo --stdio" {
		t.Errorf("got %+v", p)
	}
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	must(g.Intercept(t.Context(), true, "name:echo client:talker server:mcpc-demo"))
	c.say(call(1, "secret"))
	h := held("1")
	if h.Client != "talker 1" || !strings.HasPrefix(h.Server, "mcpc-demo ") {
		t.Errorf("held from %q to %q", h.Client, h.Server)
	}
	must(g.Decide(t.Context(), h.ID, control.Order{Do: "edit", Raw: []byte(call(1, "other"))}))
	c.drainTo(g, `: other`)
	c.say(call(2, "x"))
	must(g.Decide(t.Context(), held("2").ID, control.Order{Do: "answer", Raw: json.RawMessage(`{"content":[]}`)}))
	c.hear(`{"jsonrpc":"2.0","id":2,"result":{"content":[]}}`)
	must(g.Intercept(t.Context(), false, ""))
	c.say(call(3, "free"))
	c.hear(`free`)
	end()
	if out := logged(t, home, "is:edited"); strings.Count(out, "tools/call") != 2 {
		t.Errorf("mcpc log: %s", out)
	}
}

// drainTo releases what is held until a line has come.
func (c *talker) drainTo(g *control.Group, part string) {
	c.t.Helper()
	done := make(chan struct{})
	go func() {
		defer close(done)
		c.hear(part)
	}()
	for {
		for _, h := range g.Held() {
			_ = g.Decide(c.t.Context(), h.ID, control.Order{Do: "release"})
		}
		select {
		case <-done:
			return
		case <-g.Changed():
		}
	}
}
