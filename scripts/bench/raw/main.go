// Command raw sends the requests of a plan and copies the answers: the least
// that a Go program can do for them.
//
//	raw URL PLAN
package main

import (
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"

	"mcpc/scripts/bench/plan"
)

func main() {
	if err := replay(os.Args[1], os.Args[2]); err != nil {
		fmt.Fprintln(os.Stderr, "raw:", err)
		os.Exit(1)
	}
}

func replay(url, name string) error {
	requests, err := plan.Load(name)
	if err != nil {
		return err
	}
	session := ""
	for _, r := range requests {
		if r.Header.Get(plan.SessionField) != "" && session != "" {
			r.Header.Set(plan.SessionField, session)
		}
		given, err := send(url, r)
		if err != nil {
			return err
		}
		if given != "" {
			session = given
		}
	}
	return nil
}

// send gives the session id that came with the answer, or "".
func send(url string, r plan.Request) (session string, err error) {
	req, err := http.NewRequest(r.Method, url, strings.NewReader(r.Body))
	if err != nil {
		return "", err
	}
	req.Header = r.Header
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return "", err
	}
	defer resp.Body.Close()
	var to io.Writer = io.Discard
	if r.Print {
		to = os.Stdout
	}
	_, err = io.Copy(to, resp.Body)
	return resp.Header.Get(plan.SessionField), err
}
