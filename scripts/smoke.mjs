// `npm run smoke`: the main job as a stranger meets it. A fresh clone in an own folder, an empty home and nothing but PATH
// run `npm run demo -- --once`; what it wrote elsewhere or left running is a failure. Plain JavaScript for Node 20.
import { spawn, spawnSync } from "node:child_process"
import {
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  realpathSync,
  rmSync
} from "node:fs"
import { homedir, tmpdir } from "node:os"
import { basename, delimiter, join, sep } from "node:path"
import { createInterface } from "node:readline"
import { root } from "./toolchain.mjs"

const demoWithinMillis = 15 * 60_000
const endWithinMillis = 5_000
const shownLines = 40

const startedAt = Date.now()
const seconds = (since) => `${((Date.now() - since) / 1000).toFixed(1)} s`
const say = (line) => process.stdout.write(`smoke: ${line}\n`)

const folder = realpathSync(mkdtempSync(join(tmpdir(), "crossfire-smoke-")))
const clone = join(folder, "clone")
const home = join(folder, "home")

/** The same whether run by hand, by npm or under this project's own Node. */
const path = (process.env.PATH ?? "").split(delimiter).filter((part) =>
  !part.startsWith(root + sep) && !part.includes(join("node_modules", ".bin")) && basename(part) !== "node-gyp-bin"
).join(delimiter)

const passedOn = /^(?:npm_config_.*|pip_.*|ssl_.*|node_extra_ca_certs|(?:https?|no|all)_proxy)$/iu
/** Where npm and pip write is decided by the empty home alone. */
const places =
  /^(?:npm_config_(?:cache|prefix|(?:global|local)_prefix|init_module|logs_dir)|pip_(?:cache_dir|log|prefix|src|target|user))$/iu

const environment = () => {
  const given = Object.entries(process.env).filter(([name]) => passedOn.test(name) && !places.test(name))
  const settings = {
    npm_config_userconfig: [join(homedir(), ".npmrc")],
    PIP_CONFIG_FILE: [
      join(process.env.XDG_CONFIG_HOME ?? join(homedir(), ".config"), "pip/pip.conf"),
      join(homedir(), ".pip/pip.conf")
    ]
  }
  const found = Object.entries(settings).flatMap(([name, files]) => {
    const file = files.find((one) => existsSync(one))
    return file === undefined ? [] : [[name, file]]
  })
  return {
    ...Object.fromEntries([...found, ...given]),
    npm_config_cache: join(home, ".npm"),
    PIP_CACHE_DIR: join(home, ".cache/pip"),
    // npm itself keeps compiled code in `/tmp` under a newer Node. The engines never see this variable.
    NODE_COMPILE_CACHE: join(home, ".cache/node"),
    PATH: path,
    HOME: home
  }
}

const git = (...args) => spawnSync("git", args, { encoding: "utf8" })

const isCheckout = () => {
  const top = git("-C", root, "rev-parse", "--show-toplevel")
  return top.status === 0 && realpathSync(top.stdout.trim()) === realpathSync(root)
}

/** Answers what was taken. */
const takeProject = () => {
  if (!isCheckout()) {
    const left = new Set([".git", ".tools", ".demo", "node_modules"].map((name) => join(root, name)))
    cpSync(root, clone, { recursive: true, filter: (source) => !left.has(source) })
    return "the work tree"
  }
  const made = git("clone", "--quiet", "--no-hardlinks", root, clone)
  if (made.status !== 0) throw new Error(`git clone failed: ${made.stderr}`)
  const changed = git("-C", root, "status", "--porcelain").stdout.trim() !== ""
  const head = git("-C", clone, "rev-parse", "--short", "HEAD").stdout.trim()
  return `commit ${head}${changed ? " (uncommitted changes are not in it)" : ""}`
}

/** As root, the demo gets a group that nothing else has: whatever it makes anywhere carries it. */
const ownGroup = () => {
  const gid = 1_000_000_000 + process.pid
  const probe = process.getuid?.() === 0 ? spawnSync("true", { gid }) : null
  return probe !== null && probe.status === 0 ? gid : null
}

const find = (places, ...wanted) => {
  const roots = [...new Set(places.filter((place) => existsSync(place)).map((place) => realpathSync(place)))]
  if (roots.length === 0) return []
  const result = spawnSync("find", [...roots, "-xdev", "-path", folder, "-prune", "-o", ...wanted, "-print"], {
    encoding: "utf8",
    maxBuffer: 64 * 1024 * 1024
  })
  if (result.error !== undefined) throw result.error
  return [...new Set(result.stdout.split("\n").filter((line) => line !== ""))]
}

const shared = ["/tmp", "/var/tmp", "/dev/shm", tmpdir()]

/** What the demo made outside of its folder. Without a group of its own: where its parts would write if they did. */
const writtenOutside = (gid) => {
  if (gid !== null) return find(["/", "/home", homedir(), root, ...shared], "-gid", String(gid))
  const since = new Date(startedAt).toISOString()
  const homes = [".codex", ".pi", ".npm", ".cache/pip", ".local/share/crossfire", ".local/share/fleetd"]
  const names = ["crossfire*", "fleet*", "codex*", "pi-*", "npm-*", "pip-*", "synapse*", "node-compile-cache"]
  const named = names.flatMap((name, index) => [...(index === 0 ? [] : ["-o"]), "-name", name])
  return [
    ...find([...homes.map((name) => join(homedir(), name)), root], "-newermt", since),
    ...find(shared, "-maxdepth", "1", "(", ...named, ")", "-newermt", since)
  ]
}

/** Processes that have to do with the folder: by command line, environment or working directory. */
const leftProcesses = () =>
  readdirSync("/proc").filter((entry) => /^\d+$/u.test(entry) && Number(entry) !== process.pid).flatMap((entry) => {
    try {
      const command = readFileSync(`/proc/${entry}/cmdline`, "latin1").replaceAll("\0", " ").trim()
      const told = [command, readFileSync(`/proc/${entry}/environ`, "latin1"), readlinkSync(`/proc/${entry}/cwd`)]
      return told.some((text) => text.includes(folder)) ? [{ pid: Number(entry), command }] : []
    } catch {
      // Gone meanwhile, or another user's.
      return []
    }
  })

let running = null
const endRunning = () => {
  try {
    if (running !== null) process.kill(-running.pid, "SIGKILL")
  } catch {
    // The group is gone already.
  }
}

/** Runs the demo; tells when the installation is done. Answers its lines and how it ended. */
const runDemo = (gid) =>
  new Promise((resolve, reject) => {
    const begunAt = Date.now()
    const lines = []
    let installed = null
    running = spawn("npm", ["run", "demo", "--", "--once"], {
      cwd: clone,
      env: environment(),
      detached: true,
      stdio: ["ignore", "pipe", "pipe"],
      ...(gid === null ? {} : { gid })
    })
    const limit = setTimeout(() => {
      lines.push(`ended by the smoke test: not done within ${demoWithinMillis / 60_000} minutes`)
      endRunning()
    }, demoWithinMillis)
    for (const stream of [running.stdout, running.stderr]) {
      createInterface({ input: stream }).on("line", (line) => {
        lines.push(line)
        if (installed !== null || !line.startsWith("demo: ")) return
        installed = Date.now()
        say(`installed in the clone, from nothing (${seconds(begunAt)})`)
      })
    }
    running.once("error", reject)
    running.once("close", (code, signal) => {
      clearTimeout(limit)
      resolve({ code, signal, lines, took: seconds(installed ?? begunAt) })
    })
  })

const figure = (lines, what) => {
  const line = lines.find((one) => one.trim().startsWith(what))
  return Number(/^\s+(\d+)\s/u.exec((line ?? "").replace(what, "").padStart(1, " "))?.[1] ?? Number.NaN)
}

const wait = (millis) => new Promise((resolve) => setTimeout(resolve, millis))

const smoke = async () => {
  const problems = []
  mkdirSync(home, { mode: 0o700 })
  let since = Date.now()
  say(`took ${takeProject()} (${seconds(since)})`)

  const gid = ownGroup()
  const { code, lines, signal, took } = await runDemo(gid)
  const [messages, entries, answers] = ["messages arrived", "proven by a native entry", "answers in the room"].map(
    (what) => figure(lines, what)
  )
  if (code !== 0) problems.push(`the demo ended with ${signal ?? `code ${code}`}`)
  if (!(messages > 0 && entries === 2 * messages && answers === 2 * messages)) {
    problems.push(
      `the summary tells ${messages} messages, ${entries} native entries and ${answers} answers of two agents`
    )
  }
  if (problems.length > 0) process.stdout.write(`${lines.slice(-shownLines).join("\n")}\n`)
  else say(`demo done: ${messages} messages, ${entries} proven by native entries, ${answers} answers (${took})`)

  since = Date.now()
  let left = leftProcesses()
  while (left.length > 0 && Date.now() - since < endWithinMillis) {
    await wait(100)
    left = leftProcesses()
  }
  for (const { command, pid } of left) {
    problems.push(`left running: process ${pid}: ${command}`)
    process.kill(pid, "SIGKILL")
  }
  if (left.length === 0) say(`no process is left (${seconds(since)})`)

  since = Date.now()
  const outside = writtenOutside(gid)
  for (const place of outside.slice(0, shownLines)) problems.push(`written outside: ${place}`)
  const status = existsSync(join(clone, ".git")) ? git("-C", clone, "status", "--porcelain").stdout : ""
  for (const line of status.split("\n").filter((one) => one !== "")) problems.push(`changed in the clone: ${line}`)
  if (outside.length === 0) say(`nothing was written outside the clone and the home (${seconds(since)})`)
  return problems
}

for (const name of ["SIGINT", "SIGTERM", "SIGHUP"]) {
  process.once(name, () => {
    endRunning()
    rmSync(folder, { recursive: true, force: true })
    process.exit(1)
  })
}

const problems = await smoke().catch((error) => [error.message]).finally(() => {
  endRunning()
  rmSync(folder, { recursive: true, force: true, maxRetries: 5 })
})
for (const problem of problems) say(`FAILED: ${problem}`)
say(`${problems.length === 0 ? "passed" : "failed"} (${seconds(startedAt)})`)
process.exitCode = problems.length === 0 ? 0 : 1
