package clitest

import (
	"fmt"
	"net/http"
	"os"
)

// visit is the program of that name, a browser: it follows redirects from one address and prints
// where it ended.
func visit() {
	resp, err := http.Get(os.Args[1])
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	resp.Body.Close()
	fmt.Println(resp.Request.URL)
}
