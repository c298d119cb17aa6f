//go:build programs

package main

const realPrograms = true
