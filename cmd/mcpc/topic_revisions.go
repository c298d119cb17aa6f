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
		Short: "protocol revisions: the differences, and how one is negotiated",
		Long:  revisionsTopic[:len(revisionsTopic)-1],
	}
}
