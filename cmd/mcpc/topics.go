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
	return &cobra.Command{Use: "agents", Short: "a short guide for programs that run mcpc", Long: agentsTopic[:len(agentsTopic)-1]}
}

// newScripting is the topic `mcpc help scripting`.
func newScripting() *cobra.Command {
	return &cobra.Command{Use: "scripting", Short: "scripting: streams, exit codes, JSON", Long: scriptingTopic[:len(scriptingTopic)-1]}
}
