// Command fleet tries the files of docs/fleet.
//
//	fleet collector FILE        run an OpenTelemetry Collector with this configuration
//	fleet store PORT DIR        take OTLP metrics as Prometheus does, and answer PromQL
//	fleet manifests FILE...     read Kubernetes manifests strictly
//	fleet dashboards FILE...    read Grafana dashboards strictly, and the PromQL in them
//
// A signal ends the first two. They listen on loopback only.
package main

import (
	"fmt"
	"log"
	"os"
)

func main() {
	log.SetFlags(0)
	if err := run(os.Args[1:]); err != nil {
		log.Fatal(err)
	}
}

func run(args []string) error {
	if len(args) < 2 {
		return fmt.Errorf("fleet collector|store|manifests|dashboards ARGUMENTS")
	}
	switch args[0] {
	case "collector":
		return collect(args[1])
	case "store":
		return store(args[1], args[2])
	case "manifests":
		return each(args[1:], readManifests)
	case "dashboards":
		return each(args[1:], readDashboard)
	}
	return fmt.Errorf("fleet %s: no such command", args[0])
}

// each calls read with the contents of each file.
func each(names []string, read func([]byte) error) error {
	for _, name := range names {
		raw, err := os.ReadFile(name)
		if err == nil {
			err = read(raw)
		}
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
	}
	return nil
}
