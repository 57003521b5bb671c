// Prepares a fresh clone: Node 24, the locked npm packages, Synapse in a venv, the engines. Idempotent, and quiet when
// there is nothing to do. Plain JavaScript for Node 20 and no packages: it runs before anything is installed.
import { spawnSync } from "node:child_process"
import { createHash } from "node:crypto"
import { cpSync, existsSync, mkdirSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs"
import { dirname, join } from "node:path"
import { isNewEnough, nodeVersion, projectNode, root, tools } from "./toolchain.mjs"

const onlyNode = process.argv.includes("--only-node")

class Missing extends Error {}

const say = (line) => process.stdout.write(`setup: ${line}\n`)

const run = (command, args, options = {}) => {
  const result = spawnSync(command, args, { cwd: root, encoding: "utf8", maxBuffer: 64 * 1024 * 1024, ...options })
  if (result.error !== undefined) throw new Error(`${command} could not be started: ${result.error.message}`)
  if (result.status !== 0) {
    const output = `${result.stdout}${result.stderr}`.trim().split("\n").slice(0, 40).join("\n")
    throw new Error(`"${command} ${args.join(" ")}" ended with ${result.status ?? result.signal}:\n${output}`)
  }
  return result.stdout
}

const hashOf = (...parts) => {
  const hash = createHash("sha256")
  for (const part of parts) hash.update(part).update("\0")
  return hash.digest("hex")
}

/** One step: done when the stamp file beside its result holds the hash of its inputs; the stamp is written last. */
const step = (name, target, inputs, announce, work) => {
  const stamp = join(tools, "stamps", name)
  const wanted = hashOf(...inputs)
  if (existsSync(target) && existsSync(stamp) && readFileSync(stamp, "utf8") === wanted) return
  const startedAt = Date.now()
  say(announce)
  rmSync(stamp, { force: true })
  work()
  mkdirSync(dirname(stamp), { recursive: true })
  writeFileSync(stamp, wanted)
  say(`${name} ready after ${Math.round((Date.now() - startedAt) / 1000)} s`)
}

/** npm, with the project's Node first on the path, so that install scripts run under it. */
const npm = (args, cwd) =>
  run("npm", args, {
    cwd,
    env: {
      ...process.env,
      PATH: `${dirname(nodeForInstalls())}:${process.env.PATH}`,
      npm_config_update_notifier: "false"
    }
  })

const nodeForInstalls = () => {
  try {
    return projectNode()
  } catch {
    return process.execPath
  }
}

const findPython = () => {
  const candidates = ["python3", "python3.14", "python3.13", "python3.12", "python3.11"]
  const seen = []
  for (const candidate of candidates) {
    const probe = spawnSync(candidate, ["-c", "import sys; print('%d.%d' % sys.version_info[:2])"], {
      encoding: "utf8"
    })
    if (probe.status !== 0) continue
    const version = probe.stdout.trim()
    seen.push(`${candidate} is ${version}`)
    const [major, minor] = version.split(".").map(Number)
    if (major === 3 && minor >= 11) {
      const venv = spawnSync(candidate, ["-c", "import venv, ensurepip"], { encoding: "utf8" })
      if (venv.status !== 0) {
        throw new Missing(
          `Python ${version} has no venv module. Install it, on Debian or Ubuntu with: sudo apt-get install python3-venv`
        )
      }
      return { command: candidate, version }
    }
  }
  const found = seen.length === 0 ? "no Python was found" : seen.join(", ")
  throw new Missing(
    `Python 3.11 or newer is needed for the homeserver, and ${found}. ` +
      "Install it, on Debian or Ubuntu with: sudo apt-get install python3 python3-venv"
  )
}

const checkPrerequisites = () => {
  if (process.platform !== "linux") {
    throw new Missing(
      `crossfire runs on Linux; this machine is ${process.platform}. Use a Linux machine or a virtual one.`
    )
  }
  if (Number(process.versions.node.split(".")[0]) < 20) {
    throw new Missing(
      `Node 20 or newer is needed to set up; this is ${process.versions.node}. See https://nodejs.org/en/download`
    )
  }
  const npmProbe = spawnSync("npm", ["--version"], { encoding: "utf8" })
  if (npmProbe.status !== 0) {
    throw new Missing("npm is not installed. Install it, on Debian or Ubuntu with: sudo apt-get install npm")
  }
}

const setUpNode = () => {
  if (isNewEnough(process.versions.node)) return
  const folder = join(tools, "node")
  step(
    "node",
    join(folder, "node_modules/node/bin/node"),
    [nodeVersion],
    `installing Node ${nodeVersion} (this machine has ${process.versions.node})`,
    () => {
      rmSync(folder, { recursive: true, force: true })
      mkdirSync(folder, { recursive: true })
      const manifest = { private: true, dependencies: { node: nodeVersion }, allowScripts: { node: true } }
      writeFileSync(join(folder, "package.json"), JSON.stringify(manifest))
      npm(["install", "--no-audit", "--no-fund", "--no-package-lock"], folder)
    }
  )
}

// No package needs its install scripts (the binaries come ready-made), and without this npm would compile better-sqlite3.
const noScripts = "--ignore-scripts"

const setUpPackages = () => {
  const { dependencies, devDependencies, overrides } = JSON.parse(readFileSync(join(root, "package.json"), "utf8"))
  const inputs = [
    JSON.stringify([dependencies, devDependencies, overrides]),
    readFileSync(join(root, "package-lock.json")),
    nodeForInstalls()
  ]
  step("packages", join(root, "node_modules"), inputs, "installing the npm packages (about 20 s)", () => {
    // Not `npm ci`: it refuses a lock made where a development tool's builds for other platforms could not be resolved.
    // With the lock present this installs the same versions, integrity checked, and writes nothing back.
    rmSync(join(root, "node_modules"), { recursive: true, force: true })
    npm(["install", "--no-save", "--no-audit", "--no-fund", noScripts], root)
  })
}

const setUpEngines = () => {
  const folder = join(tools, "engines")
  const files = ["package.json", "package-lock.json"].map((name) => join(root, "engines", name))
  step(
    "engines",
    join(folder, "node_modules"),
    files.map((file) => readFileSync(file)),
    "installing Codex and Pi (about 20 s)",
    () => {
      mkdirSync(folder, { recursive: true })
      for (const file of files) cpSync(file, join(folder, file.split("/").at(-1)))
      npm(["ci", "--no-audit", "--no-fund", noScripts], folder)
    }
  )
}

const setUpSynapse = () => {
  const requirements = join(root, "homeserver/requirements.txt")
  const folder = join(tools, "synapse")
  const python = findPython()
  step(
    "synapse",
    join(folder, "bin/python"),
    [readFileSync(requirements), python.version],
    `installing Synapse with Python ${python.version} (about 30 s)`,
    () => {
      rmSync(folder, { recursive: true, force: true })
      mkdirSync(tools, { recursive: true })
      run(python.command, ["-m", "venv", folder])
      run(join(folder, "bin/pip"), [
        "install",
        "--quiet",
        "--disable-pip-version-check",
        "--require-hashes",
        "-r",
        requirements
      ])
    }
  )
}

const filesUnder = (folder) =>
  readdirSync(folder, { recursive: true, encoding: "utf8" }).toSorted().map((name) => join(folder, name)).filter((
    path
  ) => statSync(path).isFile())

const setUpWeb = () => {
  const sources = ["src/web", "src/domain"].flatMap((folder) => filesUnder(join(root, folder)))
  const inputs = [...sources, join(root, "vite.config.ts"), join(root, "package-lock.json")].flatMap((path) => [
    path.slice(root.length),
    readFileSync(path)
  ])
  step("web", join(root, "dist/web/index.html"), inputs, "building the web pages (a few seconds)", () => {
    run(projectNode(), [join(root, "node_modules/vite/bin/vite.js"), "build", "--logLevel", "warn"])
  })
}

try {
  checkPrerequisites()
  // The cheap checks of every prerequisite come before the first long step, so that nothing is left half-done.
  if (!onlyNode) findPython()
  setUpNode()
  setUpPackages()
  if (!onlyNode) {
    setUpSynapse()
    setUpEngines()
    setUpWeb()
  }
} catch (error) {
  process.stderr.write(`setup: ${error.message}\n`)
  process.exit(error instanceof Missing ? 3 : 1)
}
