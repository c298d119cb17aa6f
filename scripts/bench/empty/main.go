// Command empty does nothing. It measures the cost of any Go program.
package main

func main() {}
