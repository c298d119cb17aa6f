package main

import (
	"context"
	"fmt"
	"slices"
	"time"
)

// A goal has the limits for a row. A limit of 0 is unset.
type goal struct {
	// maxRatio is the maximum ratio of the time of mcpc to the time of the first contender. words
	// describe it in the tables if they say more than the number.
	maxRatio float64
	words    string
	// maxTime is the maximum time.
	maxTime time.Duration
	// maxMB is the maximum peak memory in MB.
	maxMB float64
	// maxRequests is the maximum number of requests.
	maxRequests int
	// limitsP99 is set if times also limits the 99th percentile of the latencies.
	limitsP99 bool
}

// A row is a line of the tables: one measured operation with its contenders.
type row struct {
	// key is the name of the row in the history, name its name in the tables.
	key, name string
	goal      goal
	// prepare returns the contenders. All others are compared with the first.
	prepare func(ctx context.Context, b *bench, r *row) ([]*contender, error)
	// server are the flags of the server, args the arguments of mcpc, and remembers its memory of
	// earlier runs.
	server, args []string
	remembers    remembered
	// raw are the flags of the program raw. minimal is set if raw sends only the requests that a call
	// needs, and not all requests of mcpc.
	raw     []string
	minimal bool
	// floor is the name of the contender that does only the unavoidable part of the work. peers is the
	// operation for the programs of other projects. Both may be "".
	floor string
	peers string
	// minOutput is the minimum size of a response in bytes.
	minOutput int64
	// maxRounds is the maximum number of rounds of a slow row. 0 means all rounds.
	maxRounds int

	url        string
	contenders []*contender
}

func (r *row) contender(name string) *contender {
	if i := slices.IndexFunc(r.contenders, func(e *contender) bool { return e.name == name }); i >= 0 {
		return r.contenders[i]
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
			key:     startKey,
			name:    "`version`, beside `raw -h`",
			goal:    goal{maxRatio: startBefore, words: asBefore},
			prepare: prepareVersion,
			floor:   startsValidator,
		},
		warmCall(
			"warm-json",
			"`call` in a session, JSON arguments",
			goal{maxRatio: warmBefore, words: asBefore, maxRequests: 1},
			sumArguments,
		),
		warmCall(
			"warm-words",
			"`call` in a session, `a=2 b=3`",
			goal{maxRatio: warmBefore, words: asBefore, maxRequests: 1},
			"a=2",
			"b=3",
		),
		secondCall("second-2026", "second `call` of a URL, 2026-07-28", goal{maxRequests: 1}),
		secondCall("second-2025", "second `call` of a URL, 2025-11-25", goal{maxRequests: 4}, "-legacy"),
		secondCall(
			"second-2026-50ms",
			"the same, 50 ms a request, 2026-07-28",
			goal{maxRatio: 1.1, maxRequests: 1},
			"-delay",
			"50ms",
		),
		secondCall(
			"second-2025-50ms",
			"the same, 50 ms a request, 2025-11-25",
			goal{maxRatio: 1.1, maxRequests: 4},
			"-legacy",
			"-delay",
			"50ms",
		),
		withPeers(
			"call",
			text("text-100mb-json", "100 MB of text, `--json`", 100_000_000, goal{maxRatio: maxText, maxMB: maxMB}, "--json"),
		),
		text("text-100mb", "100 MB of text", 100_000_000, goal{maxRatio: maxText, maxMB: maxMB}),
		inEvent(
			text(
				"text-100mb-sse-json",
				"100 MB of text in an event, `--json`",
				100_000_000,
				goal{maxRatio: maxText, maxMB: maxMB},
				"--json",
			),
		),
		inEvent(text("text-100mb-sse", "100 MB of text in an event", 100_000_000, goal{maxRatio: maxText, maxMB: maxMB})),
		withPeers(
			"call",
			text("text-1gb-json", "1 GB of text, `--json`", gigabyte, goal{maxRatio: maxText, maxMB: maxMB}, "--json"),
		),
		text("text-1gb", "1 GB of text", gigabyte, goal{maxRatio: maxText, maxMB: maxMB}),
		withPeers(
			"list",
			tools("list-10k-json", "list of 10,000 tools, `--json`", 10_000, goal{maxRatio: maxList, maxMB: maxMB}, "--json"),
		),
		tools("list-10k", "list of 10,000 tools", 10_000, goal{maxRatio: maxList, maxMB: maxMB}),
		withPeers(
			"list",
			tools("list-100k-json", "list of 100,000 tools, `--json`", 100_000, goal{maxRatio: maxList, maxMB: maxMB}, "--json"),
		),
		tools("list-100k", "list of 100,000 tools", 100_000, goal{maxRatio: maxList, maxMB: maxMB}),
		withPeers("progress", events("progress-100k", "100,000 progress events", 100_000, goal{maxMB: maxMB})),
		recorded(events("progress-100k-record", "100,000 progress events, recorded", 100_000, goal{maxMB: maxMB})),
		batch(1, goal{maxRatio: 1 / 0.6, words: batchRate}),
		batch(8, goal{maxRatio: 1 / 0.6, words: batchRate}),
		batch(64, goal{maxRatio: 1 / 0.6, words: batchRate}),
		firstLook(
			"capture-first",
			"capture of 1 GB, first look: `log -n 5`",
			goal{maxTime: 12 * time.Second, maxMB: 350},
			"log",
			"-n",
			"5",
			"--file",
			"{FILE}",
		),
		secondLook(
			"capture-log",
			"capture of 1 GB, second look: `log -n 5`",
			goal{maxTime: time.Second, maxMB: 350},
			"log",
			"-n",
			"5",
			"--file",
			"{FILE}",
		),
		secondLook(
			"capture-show",
			"capture of 1 GB, second look: `show N`",
			goal{maxTime: time.Second, maxMB: 350},
			"show",
			"{FILE}#20000",
		),
		secondLook(
			"capture-field",
			"capture of 1 GB, second look: `log method:tools/list`",
			goal{maxTime: time.Second, maxMB: 350},
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
			goal{maxTime: 8 * time.Second, maxMB: 350},
			"log",
			"--file",
			"{FILE}",
			"needle",
		),
		{
			key:     "proxy-64",
			name:    "`proxy`, 64 connections, beside ReverseProxy",
			goal:    goal{maxRatio: 1.15, maxMB: maxMB, limitsP99: true},
			prepare: prepareProxy,
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
		minOutput: 2,
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
		minOutput: 2,
		peers:     "call",
		floor:     startsAndSends,
	}
}

func text(key, name string, bytes int, g goal, args ...string) *row {
	return &row{
		key: key, name: name, goal: g, server: []string{"-text", fmt.Sprint(bytes)}, minOutput: int64(bytes) * 9 / 10, maxRounds: slowRounds(bytes >= gigabyte), floor: printsWhole,
		args: append([]string{"call", "get-sum", sumArguments, "--max-message-size", "0", "--no-record"}, args...),
	}
}

// tools returns a row for a list with 100 tools per page.
func tools(key, name string, n int, g goal, args ...string) *row {
	return &row{
		key: key, name: name, goal: g, server: []string{"-tools", fmt.Sprint(n), "-pages", fmt.Sprint(n / 100)}, minOutput: int64(n) * 50,
		args: append(
			[]string{"list", "--max-items", "0", "--max-pages", "0", "--no-record"},
			args...), raw: []string{"-cursor"}, floor: readsAll,
	}
}

func events(key, name string, n int, g goal) *row {
	return &row{
		key: key, name: name, goal: g, server: []string{"-events", fmt.Sprint(n), "-sse"}, minOutput: 2,
		args: []string{"call", "get-sum", sumArguments, "--no-record"}, floor: readsAll,
	}
}

func batch(parallel int, g goal) *row {
	return &row{
		key:       fmt.Sprintf("batch-%d", parallel),
		name:      fmt.Sprintf("`batch`, %d at a time", parallel),
		goal:      g,
		prepare:   prepareBatch(parallel),
		minOutput: 20 * batchCalls,
		floor:     readsAll,
	}
}

func firstLook(key, name string, g goal, args ...string) *row {
	return &row{
		key:       key,
		name:      name,
		goal:      g,
		args:      args,
		prepare:   prepareCapture,
		floor:     listsCapture,
		minOutput: 50,
		maxRounds: slowRounds(true),
	}
}

func secondLook(key, name string, g goal, args ...string) *row {
	r := firstLook(key, name, g, args...)
	r.remembers, r.floor = called, ""
	return r
}

// slowRounds returns the value of row.most for a slow row, or 0.
func slowRounds(yes bool) (most int) {
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
