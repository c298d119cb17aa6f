// Command k6 is Grafana k6, as its own main package makes it: a load engine, which runs the
// scripts that mcpc writes.
package main

import "go.k6.io/k6/cmd"

func main() { cmd.Execute() }
