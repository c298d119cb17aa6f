//go:build unix

package main

import (
	"bytes"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"testing"

	"mcpc/internal/tests/terminal"
)

// enter gives the status of a page that comes with an address.
func enter(t *testing.T, address string) int {
	t.Helper()
	u, err := url.Parse(address)
	if err != nil {
		t.Fatal(err)
	}
	base := "http://" + u.Host
	req, err := http.NewRequest("POST", base+"/enter", bytes.NewReader([]byte(`{"token":"`+strings.TrimPrefix(u.Fragment, "t=")+`"}`)))
	if err != nil {
		t.Fatal(err)
	}
	for name, value := range map[string]string{"Origin": base, "Sec-Fetch-Site": "same-origin", "Content-Type": "application/json"} {
		req.Header.Set(name, value)
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	res.Body.Close()
	return res.StatusCode
}

var addresses = regexp.MustCompile(`http://127\.0\.0\.1:\d+/#t=[\w-]{43}`)

// Each address of the page lets one page in, and Enter prints the next one.
func TestTerminalNewAddress(t *testing.T) {
	tm := terminal.Start(t, 200, nil, "mcpc", "inspect", "--web", "--no-open")
	tm.Await(`Enter prints a new address, Ctrl-C ends`)
	first := addresses.FindString(tm.Output())
	if got := enter(t, first); got != 200 {
		t.Fatalf("the first page: %d", got)
	}
	tm.Type("\r")
	tm.Await(`(?s)#t=[\w-]{43}.*#t=[\w-]{43}`)
	second := addresses.FindAllString(tm.Output(), -1)[1]
	for _, c := range []struct {
		address string
		status  int
	}{{first, 401}, {second, 200}, {second, 401}} {
		if got := enter(t, c.address); got != c.status {
			t.Errorf("%s: %d, not %d", c.address, got, c.status)
		}
	}
	tm.Type("\x03")
	tm.Ends("SIGINT")
}
