package main

import (
	"github.com/rogpeppe/go-internal/testscript"

	"mcpc/internal/tests/servers"
)

// startProtected: protected NAME [HOW...].
func startProtected(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) == 0 {
		ts.Fatalf("usage: protected NAME [HOW...]")
	}
	w := worldOf(ts)
	p := w.protected[args[0]]
	if p == nil {
		p = newProtected(servers.NewLog(ts.MkAbs(args[0]+".log")), nil)
		w.protected[args[0]] = p
		w.fronts = append(w.fronts, p)
		ts.Setenv(args[0], p.URL+"/mcp")
	}
	ts.Check(p.login.Fail(args[1:]...))
}
