package main

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"mcpc/scripts/bench/plan"
)

// A measure is one thing that is measured, for every contender that can do it.
type measure struct {
	// name is for people, key for the history.
	name, key string
	// server is the argv of the server, path the path of its URL.
	server []string
	path   string
	// args are what mcpc is asked, warm with a session or without one.
	args []string
	warm bool
	// recording is set where mcpc is compared to itself with --no-record instead of to the
	// others.
	recording bool
	// parallel is how many calls of a batch are under way at a time; 0 is no batch.
	parallel int
	// reader is set where a raw program that reads the answers takes part.
	reader bool
	// least is how many bytes an answer has at least.
	least int64
	// sdk and inspector are the same in their words; nil where they do not take
	// part. curls are how often curl sends all of it.
	sdk, inspector []string
	curls          []int

	url string
	// entries are the contenders; the first is what the others are compared to.
	entries []*entry
}

func (m *measure) entry(name string) *entry {
	for _, e := range m.entries {
		if e.name == name {
			return e
		}
	}
	return nil
}

func (m *measure) base() *entry { return m.entries[0] }

// prepare starts the server, lets mcpc run before a recorder, and gives what it
// sent to those contenders that only repeat it. Each contender runs before the recorder,
// to count its requests, and once without, so that no first run is measured.
func (b *bench) prepare(ctx context.Context, m *measure) error {
	if m.server == nil {
		return b.prepareVersion(ctx, m)
	}
	if m.parallel > 0 {
		return b.prepareBatch(ctx, m)
	}
	target, err := b.serve(ctx, m.server, m.path)
	if err != nil {
		return err
	}
	rec, err := newRecorder(target)
	if err != nil {
		return err
	}
	defer rec.Close()
	mcpc := &entry{name: "mcpc", run: b.client(m, b.mcpc)}
	sent, err := b.count(ctx, m, mcpc, rec)
	if err != nil {
		return err
	}
	m.url = target
	if m.recording {
		off := *m
		off.args = append(off.args[:len(off.args):len(off.args)], "--no-record")
		m.entries = []*entry{{name: "mcpc --no-record", run: b.client(&off, b.mcpc)}}
	} else if m.entries, err = b.others(m, printed(sent)); err != nil {
		return err
	}
	m.entries = append(m.entries, mcpc)
	if b.against != "" {
		m.entries = append(m.entries, &entry{name: "mcpc-b", run: b.client(m, b.against)})
	}
	for _, e := range m.entries {
		if _, err := b.count(ctx, m, e, rec); err != nil {
			return err
		}
		if err := m.tryOut(ctx, e, target); err != nil {
			return err
		}
	}
	return nil
}

// prepareVersion: what it takes to start and to end.
func (b *bench) prepareVersion(ctx context.Context, m *measure) error {
	m.entries = []*entry{{name: "empty Go", run: b.plain(b.tool("empty"))}, {name: "jsonschema alone", run: b.plain(b.tool("schemas"))},
		{name: "mcpc", run: b.plain(b.mcpc, "version")}}
	if b.against != "" {
		m.entries = append(m.entries, &entry{name: "mcpc-b", run: b.plain(b.against, "version")})
	}
	for _, e := range m.entries {
		if err := m.tryOut(ctx, e, ""); err != nil {
			return err
		}
	}
	return nil
}

func (m *measure) tryOut(ctx context.Context, e *entry, url string) error {
	s, err := e.run(ctx, url)
	if err == nil && !e.quiet && s.out < m.least {
		err = errors.New("it printed too little to have answered")
	}
	if err != nil {
		return fmt.Errorf("%s: %w", e.name, err)
	}
	return nil
}

// count runs a contender twice before the recorder: what the first run did to
// get ready does not count.
func (b *bench) count(ctx context.Context, m *measure, e *entry, rec *recorder) ([]plan.Request, error) {
	for range 2 {
		rec.take()
		if err := m.tryOut(ctx, e, rec.url); err != nil {
			return nil, err
		}
	}
	sent := rec.take()
	e.requests = len(sent)
	return sent, nil
}

func (b *bench) client(m *measure, bin string) func(context.Context, string) (sample, error) {
	if m.warm {
		return b.warm(bin, m.args...)
	}
	return b.cold(bin, m.args...)
}

// others returns the contenders beside mcpc; the first is what all are compared to.
func (b *bench) others(m *measure, sent []plan.Request) ([]*entry, error) {
	all := b.path("plan")
	if err := plan.Save(all, sent); err != nil {
		return nil, err
	}
	entries := []*entry{{name: "raw", run: b.plain(b.tool("raw"), "{URL}", all)}}
	if m.reader {
		entries = append(entries, &entry{name: "raw reader", run: b.plain(b.tool("raw"), "-read", "{URL}", all)})
	}
	for _, times := range m.curls {
		name := "curl"
		if times > 1 {
			name = fmt.Sprintf("curl, %d times", times)
		}
		entries = append(entries, &entry{name: name, run: b.curl(sent, times)})
	}
	if m.sdk != nil {
		entries = append(entries, &entry{name: "Go SDK", run: b.plain(append([]string{b.tool("sdk"), "{URL}"}, m.sdk...)...)})
	}
	if m.inspector != nil && b.inspector != "" {
		argv := append([]string{b.node, b.inspector, "--cli", "{URL}", "--transport", "http", "--protocol-era", "auto"}, m.inspector...)
		entries = append(entries, &entry{name: "Inspector", run: b.plain(argv...)})
	}
	return entries, nil
}

// startKey is the key of the measure of the start.
const startKey = "version"

const sumArguments = `{"a":2,"b":3}`

// smallCases are the commands as people type them.
func (b *bench) smallCases() []*measure {
	fast, slow := []string{b.tool("server"), "-port", "{PORT}"}, strings.Split(b.everything, "\t")
	legacy := append(fast[:len(fast):len(fast)], "-legacy")
	list := measure{path: "/mcp", args: []string{"list"}, least: 200, curls: []int{1}, sdk: []string{"list"},
		inspector: []string{"--method", "tools/list"}}
	call := measure{path: "/mcp", args: []string{"call", "get-sum", sumArguments}, least: 2, curls: []int{1},
		sdk:       []string{"call", "get-sum", sumArguments},
		inspector: []string{"--method", "tools/call", "--tool-name", "get-sum", "--tool-arg", "a=2", "b=3"}}
	warm := call
	warm.warm, warm.sdk, warm.inspector, warm.curls = true, nil, nil, []int{1, 2}
	cases := append([]*measure{{name: "start: mcpc version", key: startKey}}, batchCases(fast)...)
	add := func(m measure, server []string, name, key string) {
		m.server, m.name, m.key = server, name, key
		cases = append(cases, &m)
	}
	add(list, slow, "cold list, server-everything", "list-everything")
	add(list, legacy, "cold list, fast server, 2025-11-25", "list-legacy")
	add(list, fast, "cold list, fast server, 2026-07-28", "list-modern")
	add(call, legacy, "cold call, fast server, 2025-11-25", "call-legacy")
	add(call, fast, "cold call, fast server, 2026-07-28", "call-modern")
	add(warm, legacy, "warm call, fast server, 2025-11-25", "warm-legacy")
	add(warm, fast, "warm call, fast server, 2026-07-28", "warm-modern")
	record := warm
	record.recording, record.curls = true, nil
	add(record, fast, "what recording costs a warm call", "record")
	return cases
}

// message is the length of the large result.
const message = 100_000_000

// scaleCases are what breaks clients: most of them in the modern era, which
// costs the fewest other requests.
func (b *bench) scaleCases() []*measure {
	server := func(flags ...string) []string { return append([]string{b.tool("server"), "-port", "{PORT}"}, flags...) }
	list := func(tools, pages, key string, args ...string) *measure {
		return &measure{name: strings.Join(args, " ") + ", " + tools + " tools in " + pages + " pages", key: key, path: "/mcp", reader: true,
			server: server("-tools", tools, "-pages", pages), least: 500_000,
			args: append(args, "--max-items", "0", "--max-pages", "0")}
	}
	call := func(name, key string, least int64, flags []string, args ...string) *measure {
		return &measure{name: name, key: key, path: "/mcp", server: server(flags...), least: least, reader: flags[0] == "-events",
			args: append([]string{"call", "get-sum", sumArguments}, args...)}
	}
	large := []string{"-text", fmt.Sprint(message)}
	events := []string{"-events", "100000", "-sse"}
	return []*measure{
		list("10000", "100", "list-10k-json", "list", "--json", "--no-record"),
		list("10000", "100", "list-10k-json-record", "list", "--json"),
		list("10000", "100", "list-10k", "list", "--no-record"),
		list("100000", "1000", "list-100k-json", "list", "--json", "--no-record"),
		call("100 MB of text, one body, --json", "text-100mb", message, large, "--max-message-size", "0", "--json"),
		call("100 MB of text, one event, --json", "text-100mb-sse", message, append(large, "-sse"), "--max-message-size", "0", "--json"),
		call("100,000 progress events", "progress-100k", 2, events, "--no-record"),
		call("100,000 progress events, recorded", "progress-100k-record", 2, events),
		call("100,000 progress events, -v", "progress-100k-v", 2, events, "--no-record", "-v"),
		// Where streams can be resumed each event has an id, to be remembered.
		call("100,000 progress events, 2025-11-25", "progress-100k-legacy", 2, append(events, "-legacy"), "--no-record"),
	}
}
