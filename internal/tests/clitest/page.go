package clitest

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"net/http/cookiejar"
	"regexp"
	"strings"
	"testing"
	"time"
)

// A Page is the page of a command with --web, as requested by a browser.
type Page struct {
	// Head has the header fields of the last response.
	Head http.Header
	http.Client

	t    testing.TB
	base string
	key  string
}

var pageAddress = regexp.MustCompile(`(?m)^(http://\S+)/#t=([^&\s]+)\S*\r?\n`)

// Page starts `mcpc inspect --web` with further arguments. It ends with the test.
func (h *Home) Page(words ...string) *Page {
	h.T.Helper()
	return h.PageOf(append([]string{"inspect", "--web", "--no-open"}, words...)...)
}

// PageOf starts a command that serves a page. It ends with the test.
func (h *Home) PageOf(words ...string) *Page {
	h.T.Helper()
	s := Start(h.T, h.Env, words...)
	s.AwaitStdout(pageAddress.String())
	p := PageAt(h.T, s.Stdout())
	h.T.Cleanup(func() {
		p.CloseIdleConnections()
		if stderr, code := s.Stop(); code != 130 {
			h.T.Errorf("the page ended with %d: %s", code, stderr)
		}
	})
	return p
}

// PageAt opens the page whose address a command has printed.
func PageAt(t testing.TB, output string) *Page {
	t.Helper()
	address := pageAddress.FindStringSubmatch(output)
	if address == nil {
		t.Fatalf("no address in %q", output)
	}
	p := &Page{t: t, base: address[1], Client: http.Client{Timeout: 30 * time.Second}}
	p.Jar, _ = cookiejar.New(nil)
	var entry struct{ Key string }
	if err := json.Unmarshal(p.Post("/enter", `{"token":"`+address[2]+`"}`), &entry); err != nil || entry.Key == "" {
		t.Fatalf("not let in: %v", err)
	}
	p.key = entry.Key
	return p
}

// Send sends a request of the page and returns the response body.
func (p *Page) Send(method, path, body string) []byte {
	p.t.Helper()
	req, err := http.NewRequest(method, p.base+path, strings.NewReader(body))
	if err != nil {
		p.t.Fatal(err)
	}
	for name, value := range map[string]string{
		"X-Mcpc": p.key, "Origin": p.base, "Sec-Fetch-Site": "same-origin", "Content-Type": "application/json",
	} {
		req.Header.Set(name, value)
	}
	res, err := p.Do(req)
	if err != nil {
		p.t.Fatal(err)
	}
	defer res.Body.Close()
	p.Head = res.Header
	raw, err := io.ReadAll(res.Body)
	if err != nil {
		p.t.Fatal(err)
	}
	return raw
}

// Post sends a POST request.
func (p *Page) Post(path, body string) []byte { return p.Send("POST", path, body) }

// Has posts an act. The test fails if the response does not have the text want.
func (p *Page) Has(act, body, want string) {
	p.t.Helper()
	if got := p.Post("/api/do/"+act, body); !bytes.Contains(got, []byte(want)) {
		p.t.Errorf("%s %s: %s, not %s", act, body, got, want)
	}
}
