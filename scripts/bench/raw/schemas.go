//go:build schemas

package main

// The library that validates compiles its own schemas at every start: what a Go program costs
// that could validate an answer.
import _ "github.com/santhosh-tekuri/jsonschema/v6"
