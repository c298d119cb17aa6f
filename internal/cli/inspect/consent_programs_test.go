//go:build unix && programs

package inspect_test

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"mcpc/internal/tests/clitest"
	"mcpc/internal/tests/terminal"
)

// A page that may only read asks at the terminal of mcpc, and acts after y there, but not after n.
func TestTerminalAllowsThePageToAct(t *testing.T) {
	tm := terminal.Start(t, 200, nil, "mcpc", "inspect", "--web", "--no-open")
	tm.Await(`(?s)#t=.*new address`)
	p := clitest.PageAt(t, strings.TrimSpace(tm.Output())+"\n")
	defer p.CloseIdleConnections()
	p.Has("catalog", `{"target":"demo"}`, `"allow":"call"`)
	// answered asks for a power, and types a line until the page has the response: the first lines may come
	// before the question was read.
	answered := func(power, line string) []byte {
		response := make(chan []byte)
		asking := *p
		go func() { response <- asking.Post("/api/do/allow", `{"power":"`+power+`"}`) }()
		tm.Await(`Type y or n`)
		for deadline := time.Now().Add(20 * time.Second); ; {
			if time.Now().After(deadline) {
				t.Fatalf("no response: %q", tm.Output())
			}
			select {
			case got := <-response:
				return got
			case <-time.After(100 * time.Millisecond):
				tm.Type(line + "\r")
			}
		}
	}
	if got := answered("resend", "n"); !bytes.Contains(got, []byte("refused at the terminal")) {
		t.Errorf("after n: %s", got)
	}
	p.Has("allow", `{"power":"resend"}`, "can ask again in")
	p.Has("catalog", `{"target":"demo"}`, `"allow":"call"`)
	if got := answered("call", "y"); !bytes.Contains(got, []byte(`"ok":true`)) {
		t.Errorf("after y: %s", got)
	}
	p.Has("catalog", `{"target":"demo"}`, `"target":"demo"`)
	p.Has("resend", `{"key":"1.1"}`, `"allow":"resend"`)
	tm.Type("\x03")
	out := tm.Ends("SIGINT")
	for _, want := range []string{"the page asks to send recorded requests again", "refused: send", "allowed until this view ends: connect to servers"} {
		if !strings.Contains(out, want) {
			t.Errorf("the terminal does not show %q: %q", want, out)
		}
	}
}
