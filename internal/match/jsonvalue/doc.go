// Package jsonvalue reads JSON as a tree of values that are compared exactly: members in
// any order, numbers by their decimal value, and each with the bytes that it had. It also
// knows the simple kind of jq paths. Depth and size are bounded.
package jsonvalue
