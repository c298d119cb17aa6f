// Command schemas does nothing either, but links the library that validates: what a
// Go program costs that could do so, since the library compiles its own schemas at
// every start.
package main

import _ "github.com/santhosh-tekuri/jsonschema/v6"

func main() {}
