//go:build !programs

package main

// realPrograms is set if tests start real shells; else sh and bash are this test binary.
const realPrograms = false
