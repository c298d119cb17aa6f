package main

import (
	_ "embed"

	"github.com/spf13/cobra"
)

//go:embed topic_revisions.txt
var revisionsTopic string

// newRevisions is the topic `mcpc help revisions`. It stands in a file of its own,
// because revisions are named in the era files only.
func newRevisions() *cobra.Command {
	return &cobra.Command{
		Use:   "revisions",
		Short: "what the revisions of the protocol change for you, and how one is picked",
		Long:  revisionsTopic[:len(revisionsTopic)-1],
	}
}
