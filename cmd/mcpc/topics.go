package main

import (
	_ "embed"

	"github.com/spf13/cobra"
)

//go:embed topic_agents.txt
var agentsTopic string

//go:embed topic_scripting.txt
var scriptingTopic string

// newAgents is the topic `mcpc help agents`.
func newAgents() *cobra.Command {
	return &cobra.Command{Use: "agents", Short: "the short way for a program that drives mcpc", Long: agentsTopic[:len(agentsTopic)-1]}
}

// newScripting is the topic `mcpc help scripting`.
func newScripting() *cobra.Command {
	return &cobra.Command{Use: "scripting", Short: "what a script can rely on: streams, exit codes, JSON", Long: scriptingTopic[:len(scriptingTopic)-1]}
}
