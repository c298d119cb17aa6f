//go:build peers

package peers

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
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
	if dom, log, urls := browseUntil(t, chromium, filepath.Join(b.Dir, "hostile.html"), "1 exchange"); !strings.Contains(dom, `1 exchange`) || strings.Contains(log, "CONSOLE") || len(urls) > 0 {
		t.Errorf("of a hostile recording the console has\n%s\nand it asked for %q", log, urls)
	}
	dom, log, urls := browseUntil(t, chromium, page, "call echo")
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
	// The looks themselves: a page that breaks its policy and asks for a picture is told.
	bad := filepath.Join(b.Dir, "bad.html")
	spoilt := strings.Replace(string(raw), "</body>", "", 1)
	spoilt = strings.Replace(spoilt, "<main id=\"app\">", `<main id="app"><p style="color:red">x</p><img src="http://127.0.0.1:1/x.png">`, 1)
	if err := os.WriteFile(bad, []byte(spoilt), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, log, _ := browse(t, chromium, bad); strings.Count(log, "Content Security Policy") < 2 {
		t.Errorf("the console of a page that breaks its policy has\n%s", log)
	}
}

// browseUntil browses until the document has a text. Chromium may give the document before the page, which unpacks its
// data first, has drawn it.
func browseUntil(t *testing.T, chromium, page, text string) (dom, log string, urls []string) {
	t.Helper()
	deadline := time.Now().Add(program.Patience)
	for {
		dom, log, urls = browse(t, chromium, page)
		if strings.Contains(dom, text) || time.Now().After(deadline) {
			return dom, log, urls
		}
	}
}

// browse gives the document after its scripts ran, what the browser wrote to standard error,
// and the URLs that were asked for from a network.
func browse(t *testing.T, chromium, page string) (dom, log string, urls []string) {
	t.Helper()
	dir := t.TempDir()
	netLog := filepath.Join(dir, "net.json")
	cmd := exec.Command(chromium, "--headless=new", "--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-background-networking", "--disable-component-update",
		"--user-data-dir="+filepath.Join(dir, "profile"), "--enable-logging=stderr", "--log-net-log="+netLog, "--dump-dom", "file://"+page)
	cmd.Env = append(program.CleanEnv(), "HOME="+dir)
	var stderr strings.Builder
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%v\n%s", err, stderr.String())
	}
	raw, err := os.ReadFile(netLog)
	if err != nil {
		t.Fatal(err)
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
		t.Fatal(err)
	}
	for _, e := range events.Events { // the browser's own have no initiator
		if e.Params.URL != "" && e.Params.Initiator != "" && e.Params.Initiator != "not an origin" && e.Params.URL != "file://"+page {
			urls = append(urls, e.Params.URL)
		}
	}
	return string(out), stderr.String(), urls
}
