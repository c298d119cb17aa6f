// Reads a JUnit report, as CI servers do, and prints what it counted.
import { readFileSync } from "node:fs";
import { parse } from "junit2json";

const report = await parse(readFileSync(process.argv[2]));
const cases = report.testsuite.flatMap((suite) => suite.testcase);
const having = (member) => cases.filter((c) => c[member]).length;
console.log(report.tests, report.failures, cases.length, having("failure"), having("skipped"));
