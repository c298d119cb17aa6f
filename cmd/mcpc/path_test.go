//go:build !programs

package main

import "mcpc/internal/tests/program"

// shells returns tests for which sh and bash are this test binary.
func shells(tests program.Tests) program.Tests { return tests }
