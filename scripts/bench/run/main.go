// Command run compares mcpc with other programs, by the goals in rows, and prints their cost with
// a verdict for each goal. scripts/bench.sh builds the programs and runs this command.
//
// The speed of the machine varies. So all contenders run once in each round, and a ratio
// compares two times of one round. The report has the median of these ratios. Times in
// milliseconds of two runs are never compared.
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
	"time"
)

type config struct {
	rounds int
	// bin is the directory of the programs of this module.
	bin, mcpc, against string
	// node and modules are empty if the Node programs do not take part.
	node, modules string
	only          string
	flat          bool
	// history and docs are the files to which the results are written. commit is the measured commit.
	history, docs, commit string
}

func main() {
	var c config
	flag.IntVar(&c.rounds, "rounds", 12, "rounds; of -flat a fourth of it")
	flag.StringVar(&c.bin, "bin", "", "directory of the programs of this module")
	flag.StringVar(&c.mcpc, "mcpc", "", "the mcpc to measure")
	flag.StringVar(&c.against, "against", "", "another mcpc, to be measured beside it")
	flag.StringVar(&c.node, "node", "", "a Node for the programs that need one")
	flag.StringVar(&c.modules, "modules", "", "the node_modules with these programs")
	flag.StringVar(&c.only, "only", "", "regular expression for the keys of the rows to measure")
	flag.BoolVar(&c.flat, "flat", false, "measure whether memory is flat, instead of the goals")
	flag.StringVar(&c.history, "history", "", "file to append to")
	flag.StringVar(&c.docs, "docs", "", "page to write the table into")
	flag.StringVar(&c.commit, "commit", "", "what is measured")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, c); err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

// run measures the selected rows, prints the tables, and writes the page and the history if
// requested.
func run(ctx context.Context, c config) error {
	only, err := regexp.Compile(c.only)
	if err != nil {
		return err
	}
	dir, err := os.MkdirTemp("", "mcpc-bench-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	b := &bench{
		config: c,
		dir:    dir,
		urls:   map[string]string{},
		states: map[string]string{},
		env:    []string{"HOME=" + dir, "PATH=" + os.Getenv("PATH"), "LANG=C.UTF-8"},
	}
	defer b.stopServers()
	if err := b.install(); err != nil {
		return err
	}
	if c.flat {
		return b.flatness(ctx, only)
	}
	all := rows()
	var list []*row
	for _, r := range all {
		// The start is a part of every measured time.
		if r.key == startKey || only.MatchString(r.key) {
			list = append(list, r)
		}
	}
	if err := b.measure(ctx, list); err != nil {
		return err
	}
	printContenders(os.Stdout, list)
	if c.docs == "" {
		all = list
	}
	if err := b.publish("goals", goalTable(all)); err != nil {
		return err
	}
	if err := b.publish("peers", peerTable(all)); err != nil {
		return err
	}
	if c.history == "" {
		return nil
	}
	return b.appendHistory(c.history, list)
}

// A bench is one run of the benchmark.
type bench struct {
	config
	dir     string
	env     []string
	servers []*process
	// urls are the addresses of the servers by their flags.
	urls map[string]string
	// states are the state directories that are kept between runs.
	states    map[string]string
	pathCount int
}

// newPath returns a new file name in the directory of this run.
func (b *bench) newPath(what string) string {
	b.pathCount++
	return filepath.Join(b.dir, fmt.Sprintf("%s-%d", what, b.pathCount))
}

// measure prepares the rows, and runs every contender of each row once per round. Each round begins
// with a different contender, so that no contender is always first.
func (b *bench) measure(ctx context.Context, list []*row) error {
	for _, r := range list {
		began := time.Now()
		enter := r.prepare
		if enter == nil {
			enter = prepareRequests
		}
		var err error
		if r.contenders, err = enter(ctx, b, r); err != nil {
			return fmt.Errorf("%s: %w", r.key, err)
		}
		fmt.Fprintf(os.Stderr, "bench: prepared %s in %.1f s\n", r.key, time.Since(began).Seconds())
	}
	for round := range b.rounds {
		for _, r := range list {
			if r.maxRounds > 0 && round >= r.maxRounds {
				continue
			}
			began := time.Now()
			for i := range r.contenders {
				if err := r.contenders[(i+round)%len(r.contenders)].runOnce(ctx, r); err != nil {
					return fmt.Errorf("%s: %w", r.key, err)
				}
			}
			fmt.Fprintf(
				os.Stderr,
				"bench: round %d of %d, %s took %.1f s\n",
				round+1,
				b.rounds,
				r.key,
				time.Since(began).Seconds(),
			)
		}
	}
	return nil
}
