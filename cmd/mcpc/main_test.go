package main

import (
	"fmt"
	"net/http"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"testing"

	"mcpc/internal/tests/program"

	"github.com/rogpeppe/go-internal/testscript"
)

// TestMain makes the test binary the programs that the tests run: copies of it
// stand in the PATH under these names, so that mcpc is a real process with a
// real exit code, and dies of real signals.
func TestMain(m *testing.M) {
	if strings.HasSuffix(os.Args[0], ".test") {
		heed(os.Interrupt, syscall.SIGHUP)
	}
	programs := map[string]func(){"mcpc": main, "crashing": crashing, "spied": spied, "visit": visit, "leaking": leaking, "declaring": declaring, "repeating": repeating, "viewing": viewing}
	testscript.Main(program.Tests{M: m}, programs)
}

// heed undoes what a shell without job control does to what it starts in the background,
// and nohup to anything: Ctrl-C or a hang-up is ignored there, and would be by everything
// that a test starts. The tests themselves still end by Ctrl-C alone.
func heed(sigs ...os.Signal) {
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

// visit is a browser that goes to one address, and tells where it ended.
func visit() {
	resp, err := http.Get(os.Args[1])
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	resp.Body.Close()
	fmt.Println(resp.Request.URL)
}
