// Package share prepares recorded exchanges for use on other machines: it hides their secrets,
// selects the exchanges that show a fault, and makes the page of a bundle.
package share
