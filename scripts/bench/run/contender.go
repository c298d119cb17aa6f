package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"mcpc/scripts/bench/plan"
)

// A runner runs a contender once, against a URL.
type runner func(ctx context.Context, url string) (sample, error)

// An entry is one contender of a row, with its runner and its samples.
type contender struct {
	name string
	run  runner
	// limit is the time limit of one run, budget the time limit of all runs. 0 means no limit.
	limit, budget time.Duration
	// printsNothing is set if the contender does not print the responses.
	printsNothing bool
	// requests is the number of HTTP requests of one run, if they were counted.
	requests int
	samples  []sample
	// failure is the reason why the contender has no result, or "".
	failure string
}

// The limits for programs of other projects. A run is stopped after peerLimit. A program takes part
// in a row until its runs took peerBudget.
const (
	peerLimit  = time.Minute
	peerBudget = 10 * time.Second
)

// runOnce runs a contender once, unless it failed or its budget is spent. It returns an error if the
// benchmark must stop.
func (e *contender) runOnce(ctx context.Context, r *row) error {
	spent := time.Duration(0)
	for _, s := range e.samples {
		spent += s.took
	}
	if e.failure != "" || e.budget > 0 && spent > e.budget {
		return nil
	}
	limited, stop := context.WithTimeout(ctx, cmp.Or(e.limit, 5*time.Minute))
	defer stop()
	s, err := e.run(limited, r.url)
	var code exitError
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case limited.Err() != nil:
		e.failure = "over " + cmp.Or(e.limit, 5*time.Minute).String()
	case errors.As(err, &code):
		e.failure = "fails: " + err.Error()
	case err != nil:
		return err
	case !e.printsNothing && s.out < r.minOutput:
		e.failure = "fails: no answer"
	default:
		e.samples = append(e.samples, s)
	}
	if e.failure != "" && e == r.contenders[0] {
		return errors.New(e.name + " " + e.failure)
	}
	return nil
}

// A memory is what an mcpc remembers of earlier runs.
type remembered int

const (
	nothing remembered = iota
	// called means that the same command has run before.
	called
	// session means that init opened a session, and that the command has run in it.
	session
)

// mcpcRunner returns a runner for an mcpc with args. Each program and URL has a state directory with
// the memory of earlier runs. If the mcpc must remember nothing, the directory is removed after
// each run.
func (b *bench) mcpcRunner(bin string, remembers remembered, args ...string) runner {
	ready := map[string]bool{}
	return func(ctx context.Context, url string) (sample, error) {
		var target []string
		if remembers == session {
			target = []string{"-s", "bench"}
		} else if url != "" {
			target = []string{"-s", url}
		}
		if remembers == nothing {
			state := b.newPath("state")
			defer os.RemoveAll(state)
			return b.launch(ctx, slices.Concat([]string{bin, "--state", state}, target, args)...)
		}
		key := fmt.Sprint(bin, remembers, url)
		state, made := b.states[key]
		if !made {
			state = b.newPath("state")
			b.states[key] = state
		}
		argv := slices.Concat([]string{bin, "--state", state}, target, args)
		if !made && remembers == session {
			if _, err := b.launch(ctx, bin, "--state", state, "init", url, "--as", "bench"); err != nil {
				return sample{}, err
			}
		}
		if !ready[url] {
			if _, err := b.launch(ctx, argv...); err != nil {
				return sample{}, err
			}
			ready[url] = true
		}
		return b.launch(ctx, argv...)
	}
}

// programRunner returns a runner for a program. It replaces {URL} in its arguments by the URL, and {SSE} by
// the URL of HTTP+SSE.
func (b *bench) programRunner(argv ...string) runner {
	return func(ctx context.Context, url string) (sample, error) {
		own := make([]string, len(argv))
		for i, arg := range argv {
			own[i] = strings.NewReplacer("{URL}", url, "{SSE}", strings.TrimSuffix(url, "/mcp")+"/sse").Replace(arg)
		}
		return b.launch(ctx, own...)
	}
}

func (b *bench) toolPath(name string) string { return filepath.Join(b.bin, name) }

const sumArguments = `{"a":2,"b":3}`

// The command lines of other programs for the measured operations. The Go SDK's client has no
// version. Of these programs, only that client and curl request progress.
var (
	peerNames = []string{"Go SDK", "mcptools", "Inspector", "mcporter"}
	peerWords = map[string]map[string][]string{
		"version": {"mcptools": {"version"}, "Inspector": {"--version"}, "mcporter": {"--version"}},
		"list": {
			"Go SDK":    {"{URL}", "list"},
			"mcptools":  {"tools", "--format", "json", "{SSE}"},
			"Inspector": {"--cli", "{URL}", "--transport", "http", "--protocol-era", "auto", "--method", "tools/list"},
			"mcporter":  {"list", "--allow-http", "--json", "{URL}"},
		},
		"call": {
			"Go SDK":   {"{URL}", "call", "get-sum", sumArguments},
			"mcptools": {"call", "get-sum", "--params", sumArguments, "--format", "json", "{SSE}"},
			"Inspector": {
				"--cli", "{URL}", "--transport", "http", "--protocol-era", "auto",
				"--method", "tools/call", "--tool-name", "get-sum", "--tool-arg", "a=2", "b=3",
			},
			"mcporter": {"call", "--allow-http", "{URL}.get-sum", "--args", sumArguments, "--output", "json"},
		},
		"progress": {"Go SDK": {"{URL}", "call", "get-sum", sumArguments}},
	}
)

// peerContenders returns the other programs that support the operation.
func (b *bench) peerContenders(words string) (entries []*contender) {
	programs := map[string][]string{"Go SDK": {b.toolPath("sdk")}, "mcptools": {b.toolPath("mcptools")}}
	if b.node != "" {
		programs["Inspector"] = []string{
			b.node,
			filepath.Join(b.modules, "@modelcontextprotocol/inspector/clients/launcher/build/index.js"),
		}
		programs["mcporter"] = []string{b.node, filepath.Join(b.modules, "mcporter/dist/cli.js")}
	}
	for _, name := range peerNames {
		if args := peerWords[words][name]; args != nil && programs[name] != nil {
			argv := append(programs[name][:len(programs[name]):len(programs[name])], args...)
			entries = append(entries, &contender{name: name, run: b.programRunner(argv...), limit: peerLimit, budget: peerBudget})
		}
	}
	return entries
}

// curlRunner returns a runner that sends a plan with one curl process per request, without a shell. It is
// the minimum cost of a script.
func (b *bench) curlRunner(requests []plan.Request) runner {
	return func(ctx context.Context, url string) (all sample, err error) {
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
		return all, nil
	}
}

// curlOnce sends one request with curl, and returns the session id in the response if more requests
// follow.
func (b *bench) curlOnce(
	ctx context.Context,
	url string,
	r plan.Request,
	session string,
	hasMore bool,
) (s sample, given string, err error) {
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
	if hasMore { // only a later request needs the session
		argv = append(argv, "-D", head)
	}
	s, err = b.launch(ctx, append(argv, url)...)
	if err != nil || !hasMore {
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
