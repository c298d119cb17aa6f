// Command conformance serves the demo server with what the server scenarios of the official MCP conformance suite call:
// tools, prompts and resources whose names, arguments and responses the suite gives in the description of each scenario.
// The suite reads the first page of a list only, so each list is on one page.
//
//	go run ./scripts/conformance 127.0.0.1:3001
//
// The SDK checks the input schema of a tool. How a tool asks the client depends on the revision: see [fixtures.asks].
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
