package main

import (
	"context"
	"encoding/json"
	"net/http"
	"os"
	"path/filepath"
	"strings"

	"mcpc/scripts/bench/plan"
)

// An entry is one contender of a measure: how it runs against a URL, and what
// that cost.
type entry struct {
	name string
	run  func(ctx context.Context, url string) (sample, error)
	// requests is how many HTTP requests one run sends.
	requests int
	// quiet is set where it prints none of the answers.
	quiet   bool
	samples []sample
}

// cold runs an mcpc that remembers nothing, which is thrown away afterwards.
func (b *bench) cold(bin string, args ...string) func(context.Context, string) (sample, error) {
	return func(ctx context.Context, url string) (sample, error) {
		state := b.path("state")
		defer os.RemoveAll(state)
		return b.launch(ctx, append([]string{bin, "--state", state, "-s", url}, args...)...)
	}
}

// warm runs an mcpc with a session that init opened, and whose first call has
// fetched the tool's definition: once for each URL.
func (b *bench) warm(bin string, args ...string) func(context.Context, string) (sample, error) {
	states := map[string]string{}
	return func(ctx context.Context, url string) (sample, error) {
		state, ready := states[url]
		if !ready {
			state = b.path("state")
			states[url] = state
			if _, err := b.launch(ctx, bin, "--state", state, "init", url, "--as", "bench"); err != nil {
				return sample{}, err
			}
		}
		s, err := b.launch(ctx, append([]string{bin, "--state", state, "-s", "bench"}, args...)...)
		if err != nil || ready {
			return s, err
		}
		return b.launch(ctx, append([]string{bin, "--state", state, "-s", "bench"}, args...)...)
	}
}

// plain runs a program that takes the URL where {URL} stands.
func (b *bench) plain(argv ...string) func(context.Context, string) (sample, error) {
	return func(ctx context.Context, url string) (sample, error) {
		own := make([]string, len(argv))
		for i, arg := range argv {
			own[i] = strings.ReplaceAll(arg, "{URL}", url)
		}
		return b.launch(ctx, own...)
	}
}

func (b *bench) tool(name string) string { return filepath.Join(b.bin, name) }

// curl sends a plan with one curl for each request, without a shell around
// them: what a script pays at least.
func (b *bench) curl(requests []plan.Request, times int) func(context.Context, string) (sample, error) {
	return func(ctx context.Context, url string) (all sample, err error) {
		for range times {
			session := ""
			for i, r := range requests {
				s, given, err := b.curlOnce(ctx, url, r, session, i < len(requests)-1)
				if err != nil {
					return all, err
				}
				all = all.add(s)
				if given != "" {
					session = given
				}
			}
		}
		return all, nil
	}
}

func (b *bench) curlOnce(ctx context.Context, url string, r plan.Request, session string, more bool) (s sample, given string, err error) {
	argv := []string{"curl", "-q", "-sS", "-X", r.Method}
	if r.Body != "" {
		argv = append(argv, "--data-raw", r.Body)
	}
	for name, values := range r.Header {
		value := values[0]
		if name == http.CanonicalHeaderKey(plan.SessionField) && session != "" {
			value = session
		}
		argv = append(argv, "-H", name+": "+value)
	}
	head := filepath.Join(b.dir, "curl-head")
	if more { // only what follows could need the session
		argv = append(argv, "-D", head)
	}
	s, err = b.launch(ctx, append(argv, url)...)
	if err != nil || !more {
		return s, "", err
	}
	raw, err := os.ReadFile(head)
	return s, sessionIn(string(raw)), err
}

func sessionIn(head string) string {
	for line := range strings.Lines(head) {
		name, value, _ := strings.Cut(line, ":")
		if strings.EqualFold(name, plan.SessionField) {
			return strings.TrimSpace(value)
		}
	}
	return ""
}

// printed marks the requests whose answers are the command's answer: those with
// the method that was asked last.
func printed(requests []plan.Request) []plan.Request {
	last := ""
	for _, r := range requests {
		if m := methodOf(r); m != "" {
			last = m
		}
	}
	for i := range requests {
		requests[i].Print = methodOf(requests[i]) == last
	}
	return requests
}

func methodOf(r plan.Request) string {
	var m struct{ Method string }
	_ = json.Unmarshal([]byte(r.Body), &m)
	return m.Method
}
