// Package share prepares what leaves this machine: recorded exchanges without their secrets, as
// few as show a fault, and what the page of a bundle shows of them.
package share
