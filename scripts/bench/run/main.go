// Command run measures mcpc beside other clients: it starts the servers, writes
// down what mcpc sends, lets each contender send it in turn, and prints what it cost.
// scripts/bench.sh builds what it needs and calls it.
//
// The machine is never quiet. So all contenders run once in each round, and a
// ratio is taken within its round; what is reported is the median of those
// ratios, and two runs are never compared by their milliseconds.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"regexp"
	"syscall"
)

type config struct {
	rounds, scaleRounds int
	// bin is the directory of the programs of this module.
	bin, mcpc, against string
	// node and inspector are empty where the Inspector does not take part.
	node, inspector string
	// everything is the argv of server-everything, between tabs.
	everything string
	only       string
	noScale    bool
	history    string
	commit     string
}

func main() {
	var c config
	flag.IntVar(&c.rounds, "rounds", 20, "rounds")
	flag.IntVar(&c.scaleRounds, "scale-rounds", 5, "rounds of the scale cases")
	flag.StringVar(&c.bin, "bin", "", "directory of raw, sdk, server, launch, empty and schemas")
	flag.StringVar(&c.mcpc, "mcpc", "", "the mcpc to measure")
	flag.StringVar(&c.against, "against", "", "another mcpc, to be measured beside it")
	flag.StringVar(&c.node, "node", "", "a Node for the Inspector")
	flag.StringVar(&c.inspector, "inspector", "", "the Inspector's script")
	flag.StringVar(&c.everything, "everything", "", "argv of server-everything, between tabs")
	flag.StringVar(&c.only, "only", "", "regular expression for the keys of the measures")
	flag.BoolVar(&c.noScale, "no-scale", false, "without the scale cases")
	flag.StringVar(&c.history, "history", "", "file to append to")
	flag.StringVar(&c.commit, "commit", "", "what was measured")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, c); err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, c config) error {
	dir, err := os.MkdirTemp("", "mcpc-bench-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	b := &bench{config: c, dir: dir, env: []string{"HOME=" + dir, "PATH=" + os.Getenv("PATH"), "LANG=C.UTF-8"}}
	defer b.stopServers()
	only, err := regexp.Compile(c.only)
	if err != nil {
		return err
	}
	if err := b.group(ctx, "small", chosen(b.smallCases(), only), c.rounds); err != nil {
		return err
	}
	if !c.noScale {
		if err := b.group(ctx, "scale", chosen(b.scaleCases(), only), c.scaleRounds); err != nil {
			return err
		}
	}
	b.printTable(os.Stdout)
	b.printRates(os.Stdout)
	b.printFactors(os.Stdout)
	if c.history == "" {
		return nil
	}
	return b.appendHistory(c.history)
}

// chosen always keeps the start: it is a part of all that is measured.
func chosen(all []*measure, only *regexp.Regexp) (some []*measure) {
	for _, m := range all {
		if m.key == startKey || only.MatchString(m.key) {
			some = append(some, m)
		}
	}
	return some
}

// A bench is one run.
type bench struct {
	config
	dir     string
	env     []string
	servers []*process
	done    []*measure
	made    int
}

// path gives a new name in the directory of this run.
func (b *bench) path(what string) string {
	b.made++
	return filepath.Join(b.dir, fmt.Sprintf("%s-%d", what, b.made))
}

// group prepares the cases and lets every contender of every one of them run
// once in each round. Each round begins with the next contender, so that none is always
// first.
func (b *bench) group(ctx context.Context, name string, cases []*measure, rounds int) error {
	for _, m := range cases {
		fmt.Fprintf(os.Stderr, "bench: preparing %s\n", m.name)
		if err := b.prepare(ctx, m); err != nil {
			return fmt.Errorf("%s: %w", m.name, err)
		}
	}
	for round := 0; round < rounds && len(cases) > 0; round++ {
		fmt.Fprintf(os.Stderr, "bench: %s, round %d of %d\n", name, round+1, rounds)
		for _, m := range cases {
			for i := range m.entries {
				e := m.entries[(i+round)%len(m.entries)]
				s, err := e.run(ctx, m.url)
				if err != nil {
					return fmt.Errorf("%s, %s: %w", m.name, e.name, err)
				}
				e.samples = append(e.samples, s)
			}
		}
	}
	b.done = append(b.done, cases...)
	b.stopServers()
	return nil
}
