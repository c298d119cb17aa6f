// Package budget bounds what compiling a JSON Schema and checking a value with it may cost.
// NewSurvey looks over a decoded schema before the schema library compiles it; New attaches a
// Budget to the compiled schema; Run checks a value and ends when the budget is spent. The
// patterns of a schema, which ECMA-262 defines, are compiled here because their cost counts.
//
// What cannot be checked, such as a pattern that Go cannot express, is taken out of the
// compiled schema and reported as a warning.
package budget
