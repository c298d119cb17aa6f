//go:build peers

package peers

import (
	"context"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"mcpc/internal/tests/program"
	"mcpc/internal/tests/samples"
)

// TestPeerBundleInChromium opens a bundle from disk in a real browser: it shows the
// exchanges, has no error on its console, and asks for nothing but itself.
func TestPeerBundleInChromium(t *testing.T) {
	chromium := program.MustHave(t, "chromium")
	b := program.NewHome(t)
	if _, ended := b.Run("mcpc", "-s", "demo", "--record", "r.jsonl", "call", "echo", `message=</script><!--<script>alert(1)</script>`); ended != "0" {
		t.Fatalf("ended with %s", ended)
	}
	if _, ended := b.Run("mcpc", "export", "r.jsonl", "--as", "bundle", "-o", "bug.mcpcz.html", "--yes", "--note", "hello <b>reader</b>"); ended != "0" {
		t.Fatalf("ended with %s", ended)
	}
	page := filepath.Join(b.Dir, "bug.mcpcz.html")
	raw, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	hostile := filepath.Join(b.Dir, "hostile.jsonl")
	if err := os.WriteFile(hostile, []byte(samples.HostileCaptures()["everywhere"]), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, ended := b.Run("mcpc", "export", hostile, "--as", "bundle", "-o", "hostile.html", "--yes"); ended != "0" {
		t.Fatalf("ended with %s", ended)
	}
	drawn := func(text string) func(dom, log string) bool {
		return func(dom, _ string) bool { return strings.Contains(dom, text) }
	}
	if dom, log, urls := browse(t, chromium, filepath.Join(b.Dir, "hostile.html"), drawn("1 exchange")); !strings.Contains(dom, `1 exchange`) || strings.Contains(log, "CONSOLE") || len(urls) > 0 {
		t.Errorf("of a hostile recording the console has\n%s\nand it asked for %q", log, urls)
	}
	dom, log, urls := browse(t, chromium, page, drawn("call echo"))
	for _, want := range []string{"call echo", "Report"} {
		if !strings.Contains(dom, want) {
			t.Errorf("the page has no %q", want)
		}
	}
	if strings.Contains(log, "CONSOLE") {
		t.Errorf("the console has\n%s", log)
	}
	if len(urls) > 0 {
		t.Errorf("it asked for %q", urls)
	}
	// The check itself: a page that breaks its policy and requests a picture is found.
	bad := filepath.Join(b.Dir, "bad.html")
	spoilt := strings.Replace(string(raw), "</body>", "", 1)
	spoilt = strings.Replace(spoilt, "<main id=\"app\">", `<main id="app"><p style="color:red">x</p><img src="http://127.0.0.1:1/x.png">`, 1)
	if err := os.WriteFile(bad, []byte(spoilt), 0o600); err != nil {
		t.Fatal(err)
	}
	told := func(_, log string) bool { return strings.Count(log, "Content Security Policy") >= 2 }
	if _, log, _ := browse(t, chromium, bad, told); !told("", log) {
		t.Errorf("the console of a page that breaks its policy has\n%s", log)
	}
}

// browse opens a page until done reports that it has the document and the console that the test
// waits for, or time is up. Chromium may give the document before the page, which unpacks its data
// first, has drawn it; under load it sometimes never ends.
func browse(t *testing.T, chromium, page string, done func(dom, log string) bool) (dom, log string, urls []string) {
	t.Helper()
	deadline := time.Now().Add(3 * program.Patience)
	for {
		var err error
		dom, log, urls, err = browseOnce(t, chromium, page)
		if err == nil && done(dom, log) {
			return dom, log, urls
		}
		if time.Now().After(deadline) {
			if err != nil {
				t.Fatalf("%v\n%s", err, log)
			}
			return dom, log, urls
		}
	}
}

// browseOnce gives the document after its scripts ran, the browser's standard error, and the URLs that were asked for
// from a network.
func browseOnce(t *testing.T, chromium, page string) (dom, log string, urls []string, err error) {
	t.Helper()
	dir := t.TempDir()
	ctx, cancel := context.WithTimeout(t.Context(), program.Patience)
	defer cancel()
	netLog := filepath.Join(dir, "net.json")
	cmd := exec.CommandContext(ctx, chromium, "--headless=new", "--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-background-networking", "--disable-component-update",
		"--user-data-dir="+filepath.Join(dir, "profile"), "--enable-logging=stderr", "--log-net-log="+netLog, "--dump-dom", "file://"+page)
	cmd.Env = append(program.CleanEnv(), "HOME="+dir)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} // its children go with it
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	cmd.WaitDelay = time.Second
	var stderr strings.Builder
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		return "", stderr.String(), nil, err
	}
	raw, err := os.ReadFile(netLog)
	if err != nil {
		return "", stderr.String(), nil, err
	}
	var events struct {
		Events []struct {
			Params struct {
				URL       string `json:"url"`
				Initiator string `json:"initiator"`
			} `json:"params"`
		} `json:"events"`
	}
	if err := json.Unmarshal(raw, &events); err != nil {
		return "", stderr.String(), nil, err
	}
	for _, e := range events.Events { // the browser's own have no initiator
		if e.Params.URL != "" && e.Params.Initiator != "" && e.Params.Initiator != "not an origin" && e.Params.URL != "file://"+page {
			urls = append(urls, e.Params.URL)
		}
	}
	return string(out), stderr.String(), urls, nil
}
