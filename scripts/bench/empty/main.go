// Command empty does nothing: what any Go program costs.
package main

func main() {}
