// Command conformance serves the demo server with the tools, prompts and resources for the server
// scenarios of the official MCP conformance suite. The suite defines their names, arguments and
// responses in the description of each scenario. It reads only the first page of a list, so each
// list has one page.
//
//	go run ./scripts/conformance 127.0.0.1:3001
//
// The SDK checks the input schema of a tool. How a tool requests input from the client depends on
// the revision: see [fixtures.asks].
package main

import (
	"fmt"
	"log"
	"net"
	"net/http"
	"os"
	"time"

	"mcpc/internal/demo"
)

// maxListed is the page size. It is larger than every list.
const maxListed = 200

func main() {
	if len(os.Args) != 2 {
		log.Fatal("usage: conformance ADDRESS")
	}
	listener, err := net.Listen("tcp", os.Args[1])
	if err != nil {
		log.Fatal(err)
	}
	mux := http.NewServeMux()
	mux.Handle("/mcp", demo.Handler(demo.Options{Tasks: true, Now: time.Now, PageSize: maxListed, Extend: addFixtures}))
	fmt.Fprintf(os.Stderr, "listening on http://%s/mcp\n", listener.Addr())
	server := &http.Server{Handler: mux, ReadHeaderTimeout: 10 * time.Second}
	log.Fatal(server.Serve(listener))
}
