// Reads the test runner's report: fails on a skipped test and on a file that broke without one, and closes with the plain
// count.
import { existsSync, readFileSync } from "node:fs"

const path = process.argv[2] ?? ""
if (!existsSync(path)) {
  process.stdout.write(`The test runner left no report at ${path}\n0 passed, 1 failed\n`)
  process.exit(1)
}
const { numFailedTests, numPassedTests, testResults } = JSON.parse(readFileSync(path, "utf8"))
const testsWith = (...statuses) =>
  testResults.flatMap((file) => file.assertionResults.filter((test) => statuses.includes(test.status)))
const skipped = testResults.flatMap((file) => file.assertionResults).length - testsWith("passed", "failed").length
for (const { fullName } of testsWith("skipped", "pending", "todo", "disabled")) {
  process.stdout.write(`skipped: ${fullName}\n`)
}
/** One that cannot be loaded, or whose preparation or end failed. */
const broken = testResults.filter(({ assertionResults, status }) =>
  status === "failed" && !assertionResults.some((test) => test.status === "failed")
)
for (const { message, name } of broken) process.stdout.write(`broken: ${name}: ${message.split("\n")[0]}\n`)
const failed = numFailedTests + skipped + broken.length
process.stdout.write(`${numPassedTests} passed, ${failed} failed\n`)
process.exitCode = numPassedTests > 0 && failed === 0 ? 0 : 1
