// A check is a distinct id and name; of several reports the worst counts. What only informs is
// no check.
const severity = { SKIPPED: -1, SUCCESS: 0, WARNING: 1, FAILURE: 2 };

// worst returns a map from "ID NAME" to the report that counts.
export function worst(reports) {
  const checks = new Map();
  for (const report of reports) {
    const key = `${report.id} ${report.name}`;
    if (report.status in severity && !(severity[checks.get(key)?.status] >= severity[report.status])) {
      checks.set(key, report);
    }
  }
  return checks;
}
