package clitest

import (
	"io"

	"github.com/rogpeppe/go-internal/testscript"

	"mcpc/internal/tests/servers"
)

// closeLater closes c when the script ends.
func closeLater(ts *testscript.TestScript, c io.Closer) {
	w := stateOf(ts)
	w.fronts = append(w.fronts, c)
}

// startTLS starts TLS in front of a server. mtls requires a client certificate in the handshake.
// mtls13 uses TLS 1.3, where the client sends its request before the check.
func startTLS(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: secure NAME URL [mtls|mtls13]")
	}
	check := servers.NoClientCheck
	if len(args) > 2 {
		check = servers.ClientCheckTLS13
		if args[2] == "mtls" {
			check = servers.ClientCheckTLS12
		}
	}
	front, err := servers.NewTLS(args[1], check)
	ts.Check(err)
	closeLater(ts, front)
	ts.Check(front.Authority.Write(ts.MkAbs("ca.pem"), ""))
	ts.Check(front.Client.Write(ts.MkAbs("client.pem"), ts.MkAbs("client.key")))
	ts.Check(front.Client.Write(ts.MkAbs("both.pem"), ts.MkAbs("both.pem")))
	setenv(ts, args[0], front.URL("/mcp"))
	setenv(ts, args[0]+"_port", front.Port())
}

// startSocket starts a unix socket in front of a server.
func startSocket(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: socket PATH URL")
	}
	front, err := servers.NewSocket(ts.MkAbs(args[0]), args[1])
	ts.Check(err)
	closeLater(ts, front)
}

// startTunnel starts a proxy for tunnels and for plain requests.
func startTunnel(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) == 0 {
		ts.Fatalf("usage: tunnel NAME [USER:PASSWORD]")
	}
	credentials := ""
	if len(args) > 1 {
		credentials = args[1]
	}
	front, err := servers.NewTunnel(ts.MkAbs(args[0]+".log"), credentials)
	ts.Check(err)
	closeLater(ts, front)
	setenv(ts, args[0], front.Address())
}

// startSOCKS starts a SOCKS5 proxy at $NAME that connects every client with the server at a URL,
// whatever host the client requests (RFC 1928). It writes the requested host to NAME.log.
func startSOCKS(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: socks NAME URL")
	}
	front, err := servers.NewSOCKS(ts.MkAbs(args[0]+".log"), args[1])
	ts.Check(err)
	closeLater(ts, front)
	setenv(ts, args[0], front.Address())
}

// startProtected starts the server of the command `protected NAME [HOW...]`, or changes its
// failures.
func startProtected(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) == 0 {
		ts.Fatalf("usage: protected NAME [HOW...]")
	}
	w := stateOf(ts)
	login := w.logins[args[0]]
	if login == nil {
		login = servers.NewLogin(servers.NewLog(ts.MkAbs(args[0]+".log")), nil)
		w.logins[args[0]] = login
		closeLater(ts, login)
		setenv(ts, args[0], login.URL())
	}
	ts.Check(login.Fail(args[1:]...))
}
