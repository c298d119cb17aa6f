// Command mcp-go is a peer on github.com/mark3labs/mcp-go. Without -port it
// speaks on stdio; with it, it serves http://127.0.0.1:PORT/mcp (both eras on
// one endpoint), or with -sse http://127.0.0.1:PORT/sse.
//
// Options that the SDK leaves off stay off: it checks no arguments and calls
// every tool destructive, which is what its users' servers do, too.
package main

import (
	"flag"
	"log"
	"net"
	"strconv"

	"github.com/mark3labs/mcp-go/server"
)

// pageSize divides the number of tools. This SDK then sends a nextCursor for an empty last page.
const pageSize = 5

func main() {
	port := flag.Int("port", 0, "port on 127.0.0.1; 0 speaks on stdio")
	sse := flag.Bool("sse", false, "serve the HTTP+SSE transport of 2024-11-05")
	tasks := flag.Bool("tasks", false, "let some tools run as tasks (2025-11-25)")
	flag.Parse()
	if err := serve(newServer(*tasks), *port, *sse); err != nil {
		log.Fatal(err)
	}
}

func serve(peer *server.MCPServer, port int, sse bool) error {
	if port == 0 {
		return server.ServeStdio(peer)
	}
	addr := net.JoinHostPort("127.0.0.1", strconv.Itoa(port))
	if sse {
		return server.NewSSEServer(peer).Start(addr)
	}
	return server.NewStreamableHTTPServer(peer, server.WithStateful(true)).Start(addr)
}

func newServer(tasks bool) *server.MCPServer {
	options := []server.ServerOption{
		server.WithInstructions("A peer for tests."),
		server.WithPaginationLimit(pageSize),
		server.WithToolCapabilities(true),
		server.WithResourceCapabilities(true, true),
		server.WithPromptCapabilities(true),
		server.WithElicitation(),
	}
	if tasks {
		options = append(options, server.WithTaskCapabilities(true, true, true))
	}
	peer := server.NewMCPServer("peer-mcp-go", "1.2.1", options...)
	addTools(peer, tasks)
	addNote(peer)
	addGreeting(peer)
	return peer
}
