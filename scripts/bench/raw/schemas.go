//go:build schemas

package main

// The validation library compiles its own schemas at every start. This file measures that cost.
import _ "github.com/santhosh-tekuri/jsonschema/v6"
