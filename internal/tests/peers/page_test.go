//go:build peers

package peers

import (
	"bufio"
	"net/url"
	"os"
	"os/exec"
	"strings"
	"testing"

	"mcpc/internal/tests/chromium"
	"mcpc/internal/tests/program"
)

// TestPeerPageInChromium watches calls of mcpc on the page of mcpc inspect --web, and sends one
// again from there.
func TestPeerPageInChromium(t *testing.T) {
	b := program.NewHome(t)
	record := func(text string) {
		t.Helper()
		if _, ended := b.Run("mcpc", "-s", "demo", "--record", "r.jsonl", "call", "echo", "message="+text); ended != "0" {
			t.Fatalf("ended with %s", ended)
		}
	}
	record("first")
	cmd := exec.Command("mcpc", "inspect", "r.jsonl", "--web", "--no-open", "--allow", "resend")
	cmd.Dir, cmd.Env = b.Dir, b.Env
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() {
		_ = cmd.Process.Signal(os.Interrupt)
		_ = cmd.Wait()
	}()
	lines := bufio.NewScanner(stdout)
	if !lines.Scan() {
		t.Fatal("no URL was printed")
	}
	u, err := url.Parse(lines.Text())
	if err != nil {
		t.Fatal(err)
	}
	p := chromium.Start(t).Tab(t)
	p.Load(lines.Text())
	p.Await(`document.querySelector('.counts') && document.querySelector('.counts').textContent.includes('3 exchanges')`)
	record("second </script><b>")
	p.Await(`document.querySelector('.counts').textContent.includes('5 exchanges')`)
	p.Eval(`void (location.hash = 'v=table&d=1&tab=answer&row=5')`, nil)
	p.Await(`document.querySelector('#panel') && document.querySelector('#panel').textContent.includes('Echo: second </script><b>')`)
	p.Eval(`document.activeElement.blur()`, nil)
	p.Type("r")
	p.Await(`/ (6|7) exchanges/.test(document.querySelector('.counts').textContent) || document.querySelector('.toast') && !document.querySelector('.toast').textContent.startsWith('Sending')`)
	if said := p.Text(`document.querySelector('.toast') ? document.querySelector('.toast').className + document.querySelector('.toast').textContent : ''`); strings.Contains(said, "bad") {
		t.Error(said)
	}
	p.AssertClean(u.Host)
}
