// Package program runs mcpc, and other programs, as processes of a test. Tests that need no process
// use package clitest instead.
//
// The TestMain of a package of tests that uses it calls [Main], which builds mcpc once and puts it
// into the PATH.
package program
