// Command schemas does nothing, but links the validation library, which compiles its own schemas at
// every start. It measures the cost of a Go program that could validate.
package main

import _ "github.com/santhosh-tekuri/jsonschema/v6"

func main() {}
