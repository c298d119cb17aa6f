package main

import (
	"context"
	"fmt"
	"slices"
	"time"
)

// A goal has the limits for a row. A limit of 0 is unset.
type goal struct {
	// times is the maximum ratio of the time of mcpc to the time of the first contender. words
	// describe it in the tables if they say more than the number.
	times float64
	words string
	// took is the maximum time.
	took time.Duration
	// mb is the maximum peak memory in MB.
	mb float64
	// requests is the maximum number of requests.
	requests int
	// p99 is set if times also limits the 99th percentile of the latencies.
	p99 bool
}

// A row is a line of the tables: one measured operation with its contenders.
type row struct {
	// key is the name of the row in the history, name its name in the tables.
	key, name string
	goal      goal
	// enter returns the contenders. All others are compared with the first.
	enter func(ctx context.Context, b *bench, r *row) ([]*entry, error)
	// server are the flags of the server, args the arguments of mcpc, and remembers its memory of
	// earlier runs.
	server, args []string
	remembers    memory
	// raw are the flags of the program raw. minimal is set if raw sends only the requests that a call
	// needs, and not all requests of mcpc.
	raw     []string
	minimal bool
	// floor is the name of the contender that does only the unavoidable part of the work. peers is the
	// operation for the programs of other projects. Both may be "".
	floor string
	peers string
	// least is the minimum size of a response in bytes.
	least int64
	// most is the maximum number of rounds of a slow row. 0 means all rounds.
	most int

	url     string
	entries []*entry
}

func (r *row) entry(name string) *entry {
	if i := slices.IndexFunc(r.entries, func(e *entry) bool { return e.name == name }); i >= 0 {
		return r.entries[i]
	}
	return nil
}

// The sizes of the measured inputs.
const (
	gigabyte   = 1_000_000_000
	batchCalls = 20_000
	proxyCalls = 60_000 // enough for a recording with a second file
)

// Rows that mostly measure the start must not be slower than commit 23ce062b, from before the
// goals. The limits are the ratios of its time to the time of raw in the same 100 rounds, plus a
// tenth for noise.
const (
	startBefore = 5.1 * 1.1
	warmBefore  = 4.3 * 1.1
	asBefore    = "10 % over 23ce062b"
)

// The goals that several rows share. Users notice a larger time or memory.
const (
	maxText   = 2.5 // times the raw program's time
	maxList   = 2
	batchRate = "60 % of its rate"
	maxMB     = 48
)

// The floors of rows.
const (
	readsAll        = "raw -read"
	printsWhole     = "raw -spool"
	startsValidator = "jsonschema alone"
	startsAndSends  = "jsonschema, raw"
	listsCapture    = "raw -capture"
)

// rows returns the rows of the table of goals.
func rows() []*row {
	return []*row{
		{
			key:   startKey,
			name:  "`version`, beside `raw -h`",
			goal:  goal{times: startBefore, words: asBefore},
			enter: enterVersion,
			floor: startsValidator,
		},
		warmCall(
			"warm-json",
			"`call` in a session, JSON arguments",
			goal{times: warmBefore, words: asBefore, requests: 1},
			sumArguments,
		),
		warmCall(
			"warm-words",
			"`call` in a session, `a=2 b=3`",
			goal{times: warmBefore, words: asBefore, requests: 1},
			"a=2",
			"b=3",
		),
		secondCall("second-2026", "second `call` of a URL, 2026-07-28", goal{requests: 1}),
		secondCall("second-2025", "second `call` of a URL, 2025-11-25", goal{requests: 4}, "-legacy"),
		secondCall(
			"second-2026-50ms",
			"the same, 50 ms a request, 2026-07-28",
			goal{times: 1.1, requests: 1},
			"-delay",
			"50ms",
		),
		secondCall(
			"second-2025-50ms",
			"the same, 50 ms a request, 2025-11-25",
			goal{times: 1.1, requests: 4},
			"-legacy",
			"-delay",
			"50ms",
		),
		withPeers(
			"call",
			text("text-100mb-json", "100 MB of text, `--json`", 100_000_000, goal{times: maxText, mb: maxMB}, "--json"),
		),
		text("text-100mb", "100 MB of text", 100_000_000, goal{times: maxText, mb: maxMB}),
		inEvent(
			text(
				"text-100mb-sse-json",
				"100 MB of text in an event, `--json`",
				100_000_000,
				goal{times: maxText, mb: maxMB},
				"--json",
			),
		),
		inEvent(text("text-100mb-sse", "100 MB of text in an event", 100_000_000, goal{times: maxText, mb: maxMB})),
		withPeers(
			"call",
			text("text-1gb-json", "1 GB of text, `--json`", gigabyte, goal{times: maxText, mb: maxMB}, "--json"),
		),
		text("text-1gb", "1 GB of text", gigabyte, goal{times: maxText, mb: maxMB}),
		withPeers(
			"list",
			tools("list-10k-json", "list of 10,000 tools, `--json`", 10_000, goal{times: maxList, mb: maxMB}, "--json"),
		),
		tools("list-10k", "list of 10,000 tools", 10_000, goal{times: maxList, mb: maxMB}),
		withPeers(
			"list",
			tools("list-100k-json", "list of 100,000 tools, `--json`", 100_000, goal{times: maxList, mb: maxMB}, "--json"),
		),
		tools("list-100k", "list of 100,000 tools", 100_000, goal{times: maxList, mb: maxMB}),
		withPeers("progress", events("progress-100k", "100,000 progress events", 100_000, goal{mb: maxMB})),
		recorded(events("progress-100k-record", "100,000 progress events, recorded", 100_000, goal{mb: maxMB})),
		batch(1, goal{times: 1 / 0.6, words: batchRate}),
		batch(8, goal{times: 1 / 0.6, words: batchRate}),
		batch(64, goal{times: 1 / 0.6, words: batchRate}),
		firstLook(
			"capture-first",
			"capture of 1 GB, first look: `log -n 5`",
			goal{took: 12 * time.Second, mb: 350},
			"log",
			"-n",
			"5",
			"--file",
			"{FILE}",
		),
		secondLook(
			"capture-log",
			"capture of 1 GB, second look: `log -n 5`",
			goal{took: time.Second, mb: 350},
			"log",
			"-n",
			"5",
			"--file",
			"{FILE}",
		),
		secondLook(
			"capture-show",
			"capture of 1 GB, second look: `show N`",
			goal{took: time.Second, mb: 350},
			"show",
			"{FILE}#20000",
		),
		secondLook(
			"capture-field",
			"capture of 1 GB, second look: `log method:tools/list`",
			goal{took: time.Second, mb: 350},
			"log",
			"-n",
			"5",
			"--file",
			"{FILE}",
			"method:tools/list",
		),
		secondLook(
			"capture-text",
			"capture of 1 GB, second look: `log needle`, beside `grep -c`",
			goal{took: 8 * time.Second, mb: 350},
			"log",
			"--file",
			"{FILE}",
			"needle",
		),
		{
			key:   "proxy-64",
			name:  "`proxy`, 64 connections, beside ReverseProxy",
			goal:  goal{times: 1.15, mb: maxMB, p99: true},
			enter: enterProxy,
		},
	}
}

func warmCall(key, name string, g goal, args ...string) *row {
	return &row{
		key:       key,
		name:      name,
		goal:      g,
		args:      append([]string{"call", "get-sum"}, args...),
		remembers: session,
		minimal:   true,
		least:     2,
		floor:     startsAndSends,
	}
}

func secondCall(key, name string, g goal, server ...string) *row {
	return &row{
		key:       key,
		name:      name,
		goal:      g,
		server:    server,
		args:      []string{"call", "get-sum", sumArguments},
		remembers: called,
		minimal:   true,
		least:     2,
		peers:     "call",
		floor:     startsAndSends,
	}
}

func text(key, name string, bytes int, g goal, args ...string) *row {
	return &row{
		key: key, name: name, goal: g, server: []string{"-text", fmt.Sprint(bytes)}, least: int64(bytes) * 9 / 10, most: slow(bytes >= gigabyte), floor: printsWhole,
		args: append([]string{"call", "get-sum", sumArguments, "--max-message-size", "0", "--no-record"}, args...),
	}
}

// tools returns a row for a list with 100 tools per page.
func tools(key, name string, n int, g goal, args ...string) *row {
	return &row{
		key: key, name: name, goal: g, server: []string{"-tools", fmt.Sprint(n), "-pages", fmt.Sprint(n / 100)}, least: int64(n) * 50,
		args: append(
			[]string{"list", "--max-items", "0", "--max-pages", "0", "--no-record"},
			args...), raw: []string{"-cursor"}, floor: readsAll,
	}
}

func events(key, name string, n int, g goal) *row {
	return &row{
		key: key, name: name, goal: g, server: []string{"-events", fmt.Sprint(n), "-sse"}, least: 2,
		args: []string{"call", "get-sum", sumArguments, "--no-record"}, floor: readsAll,
	}
}

func batch(parallel int, g goal) *row {
	return &row{
		key:   fmt.Sprintf("batch-%d", parallel),
		name:  fmt.Sprintf("`batch`, %d at a time", parallel),
		goal:  g,
		enter: enterBatch(parallel),
		least: 20 * batchCalls,
		floor: readsAll,
	}
}

func firstLook(key, name string, g goal, args ...string) *row {
	return &row{
		key:   key,
		name:  name,
		goal:  g,
		args:  args,
		enter: enterCapture,
		floor: listsCapture,
		least: 50,
		most:  slow(true),
	}
}

func secondLook(key, name string, g goal, args ...string) *row {
	r := firstLook(key, name, g, args...)
	r.remembers, r.floor = called, ""
	return r
}

// slow returns the value of row.most for a slow row, or 0.
func slow(yes bool) (most int) {
	if yes {
		return 3
	}
	return 0
}

func withPeers(words string, r *row) *row {
	r.peers = words
	return r
}

func inEvent(r *row) *row {
	r.server = append(r.server, "-sse")
	return r
}

func recorded(r *row) *row {
	r.args = slices.DeleteFunc(r.args, func(arg string) bool { return arg == "--no-record" })
	return r
}
