package clitest

import (
	"fmt"
	"net/http"
	"os"
)

// runVisit runs the program visit, a browser: it follows the redirects from an address and prints the
// last URL.
func runVisit() {
	resp, err := http.Get(os.Args[1])
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	resp.Body.Close()
	fmt.Println(resp.Request.URL)
}
