// Package jsonvalue reads JSON as a tree of values that are compared exactly: members in any order,
// numbers by their decimal value. Each value keeps its original bytes. The package also reads
// simple jq paths. Depth and size are bounded.
package jsonvalue
