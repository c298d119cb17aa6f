package main

import (
	_ "embed"

	"github.com/spf13/cobra"
)

//go:embed topic_scripting.txt
var scriptingTopic string

// newScripting is the topic `mcpc help scripting`.
func newScripting() *cobra.Command {
	return &cobra.Command{Use: "scripting", Short: "what a script can rely on: streams, exit codes, JSON", Long: scriptingTopic[:len(scriptingTopic)-1]}
}
