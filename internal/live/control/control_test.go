package control

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"mcpc/internal/proxy"
	"mcpc/internal/wire"
)

const patience = time.Minute

// dirOf is a directory whose path is short enough for a socket.
func dirOf(t *testing.T) string {
	t.Helper()
	if runtime.GOOS == "windows" {
		t.Skip("there are no sockets on Windows")
	}
	dir, err := os.MkdirTemp("", "mc")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	return dir
}

// serverIn listens as the command with a pid.
func serverIn(t *testing.T, dir string, pid int) *Server {
	t.Helper()
	s := &Server{
		Desk: &proxy.Desk{Link: proxy.LinkStdio, Now: time.Now}, Live: true, Now: time.Now, HideSecrets: func(text string) string { return text },
		Hello: func() Hello { return Hello{Pid: pid, By: "tap", Target: "demo", Run: 3, Version: "1"} },
	}
	done, err := s.Listen(filepath.Join(dir, fmt.Sprintf("%d.sock", pid)))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(done)
	return s
}

func dial(t *testing.T, dir string) *Group {
	t.Helper()
	g := Dial(Options{Dirs: []string{dir}, Now: time.Now})
	t.Cleanup(g.Close)
	return g
}

// until waits for a change of the group after which ok is true.
func until(t *testing.T, g *Group, ok func() bool) {
	t.Helper()
	late, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	for !ok() {
		select {
		case <-g.Changed():
		case <-late.Done():
			t.Fatal("it did not come")
		}
	}
}

// crosses sends a request to a desk, and returns its ruling.
func crosses(s *Server, id int) <-chan proxy.Ruling {
	m := wire.ParseMessage(fmt.Appendf(nil, `{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":"x"}}`, id))
	verdict := make(chan proxy.Ruling, 1)
	go func() {
		verdict <- s.Desk.Hold(context.Background(), proxy.Candidate{Message: m, Row: s.Desk.Row("demo", "", wire.Sent, nil, m), Record: func(wire.HeldFacts, []byte) {}})
	}()
	return verdict
}

func idOf(g *Group, request string) string {
	for _, h := range g.Held() {
		if h.Request == request {
			return h.ID
		}
	}
	return ""
}

func TestGroupFollowsServers(t *testing.T) {
	dir, ctx := dirOf(t), t.Context()
	one := serverIn(t, dir, 11)
	g := dial(t, dir)
	if peers := g.Peers(); len(peers) != 1 || peers[0] != (Hello{Protocol: Version, Pid: 11, By: "tap", Target: "demo", Run: 3, Version: "1"}) {
		t.Fatalf("got %+v", peers)
	}
	if v := <-crosses(one, 1); v.How != "" {
		t.Errorf("without intercept it was %s", v.How)
	}
	if err := g.Intercept(ctx, true, "exit:1"); err == nil || !strings.Contains(err.Error(), "exit") {
		t.Errorf("a filter that asks for the answer: %v", err)
	}
	if err := g.Intercept(ctx, true, "name:x"); err != nil {
		t.Fatal(err)
	}
	two := serverIn(t, dir, 22) // joins
	until(t, g, func() bool { return two.Desk.MayHold() })
	verdicts := map[string]<-chan proxy.Ruling{"1": crosses(one, 1), "2": crosses(two, 2), "3": crosses(one, 3), "4": crosses(two, 4), "5": crosses(one, 5)}
	until(t, g, func() bool { return len(g.Held()) == 5 })
	h := g.Held()[0]
	if h.Dir != "sent" || h.Kind != "request" || h.Method != "tools/call" || h.Name != "x" || h.Until.Sub(h.Since) != proxy.MaxHold || !strings.Contains(string(h.Message), `"x"`) {
		t.Errorf("got %+v", h)
	}
	for _, err := range []error{g.Decide(ctx, idOf(g, "1"), Order{Do: "release"}), g.Decide(ctx, idOf(g, "2"), Order{Do: "edit", Raw: []byte("{")}), g.Decide(ctx, idOf(g, "3"), Order{Do: "drop"}), g.Decide(ctx, idOf(g, "4"), Order{Do: "answer", Raw: json.RawMessage(`{}`)})} {
		if err != nil {
			t.Error(err)
		}
	}
	for id, want := range map[string]proxy.Ruling{"1": {How: proxy.Released}, "2": {How: proxy.Edited, Raw: []byte("{")}, "3": {How: proxy.Dropped}, "4": {How: proxy.Answered, Raw: []byte("{}")}} {
		if v := <-verdicts[id]; v.How != want.How || string(v.Raw) != string(want.Raw) {
			t.Errorf("%s: got %+v", id, v)
		}
	}
	until(t, g, func() bool { return len(g.Held()) == 1 })
	for _, id := range []string{"11:99", "33:1", "", "11:"} {
		if err := g.Decide(ctx, id, Order{Do: "release"}); !errors.Is(err, ErrGone) {
			t.Errorf("%q: %v", id, err)
		}
	}
	g.Close()
	if v := <-verdicts["5"]; v.How != proxy.Released || v.Why == "" {
		t.Errorf("the view was closed: %+v", v)
	}
}

func TestInterceptEndsWithItsView(t *testing.T) {
	dir := dirOf(t)
	s := serverIn(t, dir, 11)
	a, b := dial(t, dir), dial(t, dir)
	if err := errors.Join(a.Intercept(t.Context(), true, ""), b.Intercept(t.Context(), true, "")); err != nil {
		t.Fatal(err)
	}
	verdict := crosses(s, 1)
	until(t, b, func() bool { return len(b.Held()) == 1 })
	if err := a.Intercept(t.Context(), false, ""); err != nil {
		t.Fatal(err)
	}
	if v := <-verdict; v.How != proxy.Released || !s.Desk.MayHold() {
		t.Errorf("got %+v", v)
	}
	verdict = crosses(s, 2)
	until(t, b, func() bool { return len(b.Held()) == 1 && idOf(b, "2") != "" })
	b.Close()
	if v := <-verdict; v.How != proxy.Released {
		t.Errorf("got %+v", v)
	}
}

// A view that connects and never reads holds nothing up.
func TestUnreadViewBlocksNothing(t *testing.T) {
	dir := dirOf(t)
	s := serverIn(t, dir, 11)
	conn, err := net.Dial("unix", filepath.Join(dir, "11.sock"))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	fmt.Fprintln(conn, `{"do":"watch"}`)
	g := dial(t, dir)
	if err := g.Intercept(t.Context(), true, ""); err != nil {
		t.Fatal(err)
	}
	big := strings.Repeat("x", 1<<20)
	for range 3 {
		m := wire.ParseMessage([]byte(`{"jsonrpc":"2.0","method":"` + big + `"}`))
		verdict := make(chan proxy.Ruling, 1)
		go func() {
			verdict <- s.Desk.Hold(t.Context(), proxy.Candidate{Message: m, Row: s.Desk.Row("demo", "", wire.Sent, nil, m), Record: func(wire.HeldFacts, []byte) {}})
		}()
		until(t, g, func() bool { return len(g.Held()) == 1 })
		if err := g.Decide(t.Context(), g.Held()[0].ID, Order{Do: "release"}); err != nil {
			t.Fatal(err)
		}
		<-verdict
		until(t, g, func() bool { return len(g.Held()) == 0 })
	}
}

func TestOrdersToServers(t *testing.T) {
	dir := dirOf(t)
	serverIn(t, dir, 11)
	path := filepath.Join(dir, "11.sock")
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the socket: %v, %v", info, err)
	}
	conn, err := net.Dial("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	lines := bufio.NewReader(conn)
	for _, c := range [][2]string{
		{`{"do":"dance"}`, `"error":"unknown order \"dance\""`},
		{`nonsense`, `"error":`},
		{`{"do":7}`, `"error":`},
		{`{"do":"list"}`, `"rules":null`},
		{`{"do":"add","source":"x","rules":"when do hang"}`, `"rule":"when do hang"`},
		{`{"do":"remove","number":1}`, `"removed":1`},
		{`{"do":"remove","number":1}`, `there is no rule`},
		{`{"do":"label","label":"mine"}`, `{`},
		{`{"do":"hello"}`, `"label":"mine"`},
		{`{"do":"release","number":9}`, ErrGone.Error()},
	} {
		fmt.Fprintln(conn, c[0])
		reply, err := lines.ReadString('\n')
		if err != nil || !strings.Contains(reply, c[1]) {
			t.Errorf("%s: got %q and %v", c[0], reply, err)
		}
	}
}

func TestDeadSocketsAreRemoved(t *testing.T) {
	dir := dirOf(t)
	dead := filepath.Join(dir, "5.sock")
	l, err := net.ListenUnix("unix", &net.UnixAddr{Name: dead, Net: "unix"})
	if err != nil {
		t.Fatal(err)
	}
	l.SetUnlinkOnClose(false)
	l.Close()
	serverIn(t, dir, 11)
	if g := dial(t, dir); len(g.Peers()) != 1 {
		t.Errorf("got %+v", g.Peers())
	}
	if _, err := os.Lstat(dead); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the dead socket is there: %v", err)
	}
}

// Another user can make the folder in the temporary directory first. On most systems a socket does
// not tell whose it is.
func TestFoldersOpenToOthersAreLeftAlone(t *testing.T) {
	dir := dirOf(t)
	serverIn(t, dir, 11)
	dead := filepath.Join(dir, "5.sock")
	l, err := net.ListenUnix("unix", &net.UnixAddr{Name: dead, Net: "unix"})
	if err != nil {
		t.Fatal(err)
	}
	l.SetUnlinkOnClose(false)
	l.Close()
	if err := os.Chmod(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	if g := dial(t, dir); len(g.Peers()) != 0 {
		t.Errorf("got %+v", g.Peers())
	}
	if _, err := os.Lstat(dead); err != nil {
		t.Errorf("the dead socket: %v", err)
	}
}

// A stopped command accepts connections, and sends nothing.
func TestStoppedCommandKeepsNoOtherWaiting(t *testing.T) {
	dir := dirOf(t)
	l, err := net.Listen("unix", filepath.Join(dir, "1.sock"))
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	s := serverIn(t, dir, 2)
	began := time.Now()
	g := dial(t, dir)
	if err := g.Intercept(t.Context(), true, ""); err != nil {
		t.Fatal(err)
	}
	if peers := g.Peers(); len(peers) != 1 || peers[0].Pid != 2 {
		t.Errorf("peers are %+v", peers)
	}
	for !s.Desk.MayHold() {
		if time.Since(began) > patience {
			t.Fatal("nothing is held")
		}
		runtime.Gosched()
	}
	if err := g.Intercept(t.Context(), false, ""); err != nil {
		t.Fatal(err)
	}
	if took := time.Since(began); took > readTime*2/3 {
		t.Errorf("it took %v", took)
	}
}
