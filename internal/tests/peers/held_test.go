//go:build peers

package peers

import (
	"bufio"
	"encoding/json"
	"io"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"mcpc/internal/live/control"
	"mcpc/internal/tests/program"
)

// A holding is a real client that calls echo again and again, through a tap or a proxy.
type holding struct {
	t     *testing.T
	l     *lab
	cmd   *exec.Cmd
	in    io.Closer
	lines chan string
}

const heldFilter = "name:echo dir:sent"

// startHeld starts a client whose calls a view may hold.
func startHeld(t *testing.T, sdk, through string) *holding {
	t.Helper()
	peer := map[string]string{"tap": "ts-server-stdio", "proxy": "ts-server-http"}[through]
	rules := map[string]string{}
	if through == "proxy" {
		rules[peer] = ""
	}
	h := &holding{t: t, l: bareLab(t, rules), lines: make(chan string, 1000)}
	target := []string{"http", h.l.proxies[peer]}
	if through == "tap" {
		target = append([]string{"stdio", "mcpc", "tap", "--"}, peerNamed(t, peer).start(t)[1:]...)
	}
	argv := append(h.l.job("hold"), target...)
	h.cmd = exec.Command(argv[0], argv[1:]...)
	h.cmd.Env = append(append([]string{}, h.l.env...), "SDK="+sdk)
	in, err := h.cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := h.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := h.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	h.in = in
	go func() {
		defer close(h.lines)
		for s := bufio.NewScanner(out); s.Scan(); {
			h.lines <- s.Text()
		}
	}()
	t.Cleanup(func() { in.Close(); _ = h.cmd.Process.Kill(); _ = h.cmd.Wait() })
	return h
}

// gets waits until the client has got a result with a text.
func (h *holding) gets(text string) {
	h.t.Helper()
	limit := time.After(jobPatience)
	for {
		select {
		case line, ok := <-h.lines:
			if !ok {
				h.t.Fatal("the client ended")
			}
			if strings.Contains(line, text) {
				return
			}
		case <-limit:
			h.t.Fatalf("the client never got %q", text)
		}
	}
}

// group is a view that holds the calls, and waits until it holds one.
func (h *holding) group() (*control.Group, control.Held) {
	h.t.Helper()
	g := control.Dial(control.Options{Dirs: []string{filepath.Join(h.l.home, "live")}, Now: time.Now})
	h.t.Cleanup(func() { g.Close() })
	if err := g.Intercept(h.t.Context(), true, heldFilter); err != nil {
		h.t.Fatal(err)
	}
	for limit := time.After(jobPatience); ; {
		if all := g.Held(); len(all) > 0 {
			return g, all[0]
		}
		select {
		case <-g.Changed():
		case <-limit:
			h.t.Fatal("nothing is held")
		}
	}
}

// logs waits until the recording has an exchange that a filter wants.
func (h *holding) logs(filter string) {
	h.t.Helper()
	for end := time.Now().Add(jobPatience); !strings.Contains(logged(h.t, h.l.home, filter), "echo"); time.Sleep(50 * time.Millisecond) {
		if time.Now().After(end) {
			h.t.Fatalf("mcpc log %s shows nothing", filter)
		}
	}
}

// TestPeersWhoseMessagesAreHeld has calls of real clients held by a view, which lets them go, edits
// them, drops them, answers them, or is killed.
func TestPeersWhoseMessagesAreHeld(t *testing.T) {
	const own, other = "from the client", "from the user"
	acts := map[string]func(h *holding){
		"released by keys": func(h *holding) {
			y := h.l.tty(h.t, 120, 40, "name:echo")
			y.sees(`call echo`)
			y.keys("i")
			y.sees(`(?i)hold`)
			y.keys("\x15", heldFilter, "\r")
			y.sees(`hold messages\?`)
			y.keys("\x1b[B", "\r")
			y.sees(`holding 1 message`)
			y.keys("\t")
			y.sees(`› ▶ tools/call echo`)
			y.shoot("held")
			y.keys("\r")
			y.sees(`let go|is gone|holding [01] message`)
			y.keys("I")
			y.sees(`\A[^‖]*\z`)
			h.gets(own)
			h.gets(own)
			h.logs("is:held -is:edited")
		},
		"edited": func(h *holding) {
			g, held := h.group()
			if err := g.Decide(h.t.Context(), held.ID, control.Order{Do: "edit", Raw: []byte(strings.ReplaceAll(string(held.Message), own, other))}); err != nil {
				h.t.Fatal(err)
			}
			h.gets(other)
			g.Close()
			h.gets(own)
			h.logs("is:edited")
		},
		"dropped": func(h *holding) {
			g, held := h.group()
			if err := g.Decide(h.t.Context(), held.ID, control.Order{Do: "drop"}); err != nil {
				h.t.Fatal(err)
			}
			h.in.Close()
			h.logs("is:edited")
		},
		"answered": func(h *holding) {
			g, held := h.group()
			if err := g.Decide(h.t.Context(), held.ID, control.Order{Do: "answer", Raw: json.RawMessage(`{"resultType":"complete","content":[{"type":"text","text":"` + other + `"}]}`)}); err != nil {
				h.t.Fatal(err)
			}
			h.gets(other)
			g.Close()
			h.gets(own)
		},
		"view killed": func(h *holding) {
			y := h.l.tty(h.t, 120, 40, "name:echo")
			y.sees(`call echo`)
			y.keys("i")
			y.sees(`(?i)hold`)
			y.keys("\x15", heldFilter, "\r")
			y.sees(`hold messages\?`)
			y.keys("\x1b[B", "\r")
			y.sees(`holding 1 message`)
			_ = y.tm.Cmd.Process.Kill()
			h.gets(own)
			h.gets(own)
			h.logs("is:held -is:edited")
		},
	}
	for _, sdk := range []string{"v1", "v2"} {
		for _, through := range []string{"tap", "proxy"} {
			for name, act := range acts {
				t.Run(sdk+" "+through+" "+name, func(t *testing.T) {
					t.Parallel()
					h := startHeld(t, sdk, through)
					h.gets(own)
					act(h)
				})
			}
		}
	}
}

// logged returns the rows of the log in a state that a filter selects.
func logged(t *testing.T, state, filter string) string {
	t.Helper()
	cmd := exec.Command("mcpc", "log", filter, "--jsonl")
	cmd.Env = append(program.CleanEnv(), "MCPC_STATE="+state)
	out, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	return string(out)
}
