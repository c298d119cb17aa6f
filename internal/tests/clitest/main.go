package clitest

import (
	"flag"
	"fmt"
	"io"
	"log"
	"maps"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"mcpc/internal/cli"
	"mcpc/internal/cli/console"
)

// Main runs the tests of a package with the programs mcpc, spied, repeating, visit and the given
// ones in the PATH. They are all links to the test binary, and so are sh, bash, grep and sed,
// because a machine may lack them. These shells support no signals, no limits and only the three
// standard streams.
func Main(m interface{ Run() int }, programs map[string]func()) {
	name := filepath.Base(os.Args[0])
	all := map[string]func(){
		"mcpc": func() { os.Exit(runProgram()) }, "spied": runSpied, "repeating": runRepeating, "visit": runVisit,
	}
	maps.Copy(all, programs)
	if shellTools[name] != nil {
		shellTools[name]()
	} else if all[name] != nil {
		all[name]()
		os.Exit(0)
	}
	stopIgnoring(os.Interrupt, syscall.SIGHUP)
	os.Exit(withPrograms(m, slices.Collect(maps.Keys(all))))
}

// shellTools are the programs that a machine with Go, git and coreutils may lack.
var shellTools = map[string]func(){
	"sh": shellMain, "bash": shellMain, "grep": toolMain(textTool.runGrep), "sed": toolMain(textTool.runSed),
}

func shellMain() { os.Exit(shellProgram(os.Args[1:])) }

// mcpcProgram is the file of the program mcpc.
var mcpcProgram string

// shells is the directory with the links sh and bash.
var shells string

// RealPath returns the PATH without the test's shells, for scripts that need a real shell.
func RealPath() string {
	return strings.TrimPrefix(os.Getenv("PATH"), shells+string(os.PathListSeparator))
}

// WithRealShells runs tests with the programs sh, bash, grep and sed of the machine.
type WithRealShells struct{ Tests interface{ Run() int } }

// Run runs the tests and returns their exit code.
func (w WithRealShells) Run() int {
	if err := os.Setenv("PATH", RealPath()); err != nil {
		return printError(err)
	}
	return w.Tests.Run()
}

// LookPath returns the file of a program in a PATH. It returns an error if the program is missing.
func LookPath(program, path string) (string, error) {
	for _, dir := range filepath.SplitList(path) {
		name := filepath.Join(dir, program)
		if info, err := os.Stat(name); err == nil && !info.IsDir() && info.Mode()&0o111 != 0 {
			return name, nil
		}
	}
	return "", fmt.Errorf("%s is not installed: scripts/preflight.sh install", program)
}

// withPrograms runs the tests with links to the test binary at the head of the PATH.
func withPrograms(m interface{ Run() int }, names []string) int {
	self, err := os.Executable()
	if err != nil {
		return printError(err)
	}
	dir, err := os.MkdirTemp("", "mcpc-programs")
	if err != nil {
		return printError(err)
	}
	defer os.RemoveAll(dir)
	mcpcProgram = filepath.Join(dir, "mcpc")
	shells = filepath.Join(dir, "shells")
	if err := os.Mkdir(shells, 0o700); err != nil {
		return printError(err)
	}
	for name := range shellTools {
		names = append(names, filepath.Join("shells", name))
	}
	for _, name := range names {
		if err := os.Symlink(self, filepath.Join(dir, name)); err != nil {
			return printError(err)
		}
	}
	os.Setenv("PATH", strings.Join([]string{shells, dir, os.Getenv("PATH")}, string(os.PathListSeparator)))
	// Parallel tests mostly wait, so more of them than processors run at once.
	if err := flag.Set("test.parallel", "8"); err != nil {
		return printError(err)
	}
	log.SetOutput(io.Discard) // net/http logs unexpected responses of servers
	return m.Run()
}

func printError(err error) int {
	fmt.Fprintln(os.Stderr, err)
	return 1
}

// runProgram runs mcpc like main of cmd/mcpc, and returns the exit code.
func runProgram() int {
	f := cli.New(os.Stdin, os.Stdout, os.Stderr)
	f.Leave = os.Exit
	f.Program, _ = exec.LookPath("mcpc") // the link, not the test binary
	f.Getenv = os.Getenv
	f.Environ = os.Environ
	f.Now = time.Now
	f.Version = "0.1.0-dev"
	log.SetOutput(io.Discard)
	console.CatchBrokenPipes()
	caught := make(chan os.Signal, 4)
	signal.Notify(caught, console.Interrupts...)
	code, died := cli.Run(f, os.Args[1:], caught)
	if sig, ok := died.(syscall.Signal); ok {
		signal.Reset()
		console.Raise(sig)
		return 128 + int(sig)
	}
	return code
}

// stopIgnoring stops ignoring the signals. A shell without job control ignores Ctrl-C for its background
// processes, and nohup ignores a hang-up. Every process that a test starts would inherit that.
// Ctrl-C still ends the tests.
func stopIgnoring(sigs ...os.Signal) {
	ignored := make(chan os.Signal, 1)
	for _, sig := range sigs {
		if signal.Ignored(sig) {
			signal.Notify(ignored, sig)
		}
	}
	go func() {
		for sig := range ignored {
			if sig == os.Interrupt {
				os.Exit(130)
			}
		}
	}()
}
