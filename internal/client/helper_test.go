package client

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"mcpc/internal/jsonraw"
	"mcpc/internal/wire"
)

// runHelper is a stdio server with one bad habit. It serves the stateless era.
func runHelper(habit string) int {
	switch habit {
	case "exits":
		fmt.Fprintln(os.Stderr, "usage: server FILE")
		return 3
	case "kills-itself":
		fmt.Fprintln(os.Stderr, "about to crash")
		self, err := os.FindProcess(os.Getpid())
		if err == nil {
			_ = self.Kill()
		}
		hang()
	case "never-reads":
		hang()
	case "closes-stdout":
		os.Stdout.Close()
		_, _ = io.Copy(io.Discard, os.Stdin)
		return 0
	case "closes-stdin":
		os.Stdin.Close()
		hang()
	case "greets", "greets-twice": // and end once a request was written to them
		fmt.Println("hello")
		if habit == "greets-twice" {
			fmt.Println("world")
		}
		_, _ = bufio.NewReader(os.Stdin).ReadString('\n')
		return 0
	case "prints-noise":
		for i := range 2000 {
			fmt.Println("noise", i)
		}
	case "floods-stderr":
		fmt.Fprint(os.Stderr, strings.Repeat("no line end ", 1<<18))
	case "lingers":
		if addr := os.Getenv("LINGERS_AT"); addr != "" { // a connection shows that it lives
			if conn, err := net.Dial("tcp", addr); err == nil {
				defer conn.Close()
			}
		}
		hang()
	case "opens":
		server := Server{Command: []string{os.Args[0], "helper", "forks"}, Name: "forks"}
		if _, o := Open(context.Background(), Options{Server: server, Version: "0", Now: time.Now}); !o.OK() {
			fmt.Fprintln(os.Stderr, o.Text)
			return 1
		}
		hang()
	case "forks":
		fork()
	case "forks-and-exits":
		fork()
		fmt.Fprintln(os.Stderr, "the daemon goes on")
		return 0
	case "ignores-term":
		signal.Ignore(syscall.SIGTERM)
	}
	if habit == "remembers" {
		serveMemory()
		return 0
	}
	serveLines(habit)
	if habit == "ignores-eof" || habit == "ignores-term" {
		hang()
	}
	return 0
}

// hang waits to be ended. The runtime of Go would end a program that only blocks.
func hang() { time.Sleep(time.Minute) }

// fork starts a process that keeps the three streams open after the helper ends.
func fork() {
	cmd := exec.Command(os.Args[0], "helper", "lingers")
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	if err := cmd.Start(); err != nil {
		fmt.Fprintln(os.Stderr, err)
	}
}

func serveLines(habit string) {
	in := bufio.NewReader(os.Stdin)
	for {
		line, err := in.ReadString('\n')
		if err != nil {
			return
		}
		m := wire.ParseMessage([]byte(line))
		switch m.Method {
		case "server/discover":
			fmt.Printf(`{"jsonrpc":"2.0","id":%s,"result":{"supportedVersions":["2026-07-28"],"capabilities":{}}}`+"\r\n", m.ID)
		case "tools/call":
			if habit == "exits-mid-call" {
				fmt.Fprintln(os.Stderr, "panic: boom")
				os.Exit(2)
			}
			if habit == "writes-long-lines" {
				fmt.Printf(`{"jsonrpc":"2.0","id":%s,"result":{"content":[],"x":%q}}`+"\n", m.ID, strings.Repeat("0123456789abcdef", 15<<16))
				continue
			}
			if habit == "is-silent" {
				continue
			}
			fmt.Printf(`{"jsonrpc":"2.0","id":%s,"result":{"content":[]}}`+"\n", m.ID)
			switch habit {
			case "exits-after-call":
				return
			case "answers-once":
				habit = "is-silent"
			}
		case "env":
			fmt.Printf(`{"jsonrpc":"2.0","id":%s,"result":{"env":%q}}`+"\n", m.ID, strings.Join(os.Environ(), " "))
		}
	}
}

// serveMemory is a server of sessions with a memory: it counts, knows what was
// cancelled, and asks back.
func serveMemory() {
	in := bufio.NewReader(os.Stdin)
	var cancelled, waiting []string
	count, askedBy := 0, ""
	for {
		line, err := in.ReadString('\n')
		if err != nil {
			return
		}
		m := wire.ParseMessage([]byte(line))
		result := func(id, text string) { fmt.Printf(`{"jsonrpc":"2.0","id":%s,"result":%s}`+"\n", id, text) }
		switch m.Method {
		case "initialize":
			result(string(m.ID), `{"protocolVersion":"2025-11-25","capabilities":{},"serverInfo":{"name":"memory","version":"1"}}`)
		case "server/discover":
			fmt.Printf(`{"jsonrpc":"2.0","id":%s,"error":{"code":-32601,"message":"no"}}`+"\n", m.ID)
		case "ping":
			result(string(m.ID), "{}")
		case "add":
			count++
			result(string(m.ID), fmt.Sprintf(`{"n":%d}`, count))
		case "hang":
			fmt.Printf(`{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":%s,"progress":1}}`+"\n", m.ID)
			waiting = append(waiting, string(m.ID))
		case "release":
			for _, id := range waiting {
				result(id, `{"released":true}`)
			}
			waiting = nil
			result(string(m.ID), "{}")
		case "cancelled":
			result(string(m.ID), fmt.Sprintf(`{"ids":%q}`, strings.Join(cancelled, " ")))
		case "notifications/cancelled":
			id := string(jsonraw.First(m.Params, "requestId"))
			cancelled = append(cancelled, id)
		case "ask":
			askedBy = string(m.ID)
			fmt.Println(`{"jsonrpc":"2.0","id":"q","method":"elicitation/create","params":{"message":"?","requestedSchema":{"type":"object","properties":{}}}}`)
		case "notifications/ask-later":
			name, _ := jsonraw.Text(jsonraw.First(m.Params, "file"))
			for _, err := os.Stat(name); err != nil; _, err = os.Stat(name) {
				time.Sleep(time.Millisecond)
			}
			fmt.Println(`{"jsonrpc":"2.0","id":"q","method":"ping"}`)
			fmt.Println(`{"jsonrpc":"2.0","id":"q2","method":"roots/list"}`)
			fmt.Println(`{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}`)
			fmt.Println(`{"jsonrpc":"2.0","method":"notifications/message","params":{"data":"lost"}}`)
		case "beside-text":
			fmt.Print("ready ")
			result(string(m.ID), "{}")
		case "tell":
			fmt.Fprintln(os.Stderr, "told")
			result(string(m.ID), "{}")
		case "long":
			result(string(m.ID), fmt.Sprintf(`{"x":%q}`, strings.Repeat("x", 1<<20)))
		case "die":
			fmt.Fprintln(os.Stderr, "last words")
			os.Exit(3)
		case "":
			if m.Kind == wire.Response && askedBy != "" {
				result(askedBy, string(m.Result))
				askedBy = ""
			} else if m.Kind == wire.Response || m.Kind == wire.ErrorResponse {
				cancelled = append(cancelled, string(m.ID))
			}
		}
	}
}
