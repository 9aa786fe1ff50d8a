// Runs the listings of a document in order, in one shell and an empty folder, with the packed tarball installed:
// ```sh is run; ```toml FILE, or any other type with a file name, is written to that file, except for excerpts of FILES in
// test/ and plugins/.
import { spawnSync } from 'node:child_process'
import { lstatSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { createServer } from 'node:net'
import { homedir } from 'node:os'
import { dirname, join } from 'node:path'
import { makeNpm } from '../packages/npm.ts'

const root = join(import.meta.dirname, '..', '..')

export interface PlayOptions {
  readonly document: string // path in the checkout
  readonly listings: number // the minimum to find
  readonly withinSecs: number
  /** 'folder': writing outside the folder, or changing installed packages, is an error. */
  readonly writes?: 'folder' | 'home'
}

export async function play({ document, listings, withinSecs, writes = 'home' }: PlayOptions): Promise<void> {
  const began = performance.now()
  const found = listingsOf(document)
  if (found.length < listings)
    throw new Error(`${document} has only ${found.length} listings, not ${listings}`)
  const dir = mkdtempSync(join(root, 'dist', 'play-')) // on the checkout's disk: the store refuses tmpfs
  const work = mkdtempSync(join(dir, 'empty-'))
  const outside = join(dir, 'outside')
  for (const name of ['home', 'tmp']) mkdirSync(join(outside, name), { recursive: true })
  const mark = join(dir, 'installed')
  const { env, metrics } = await listenAddresses()
  const [tarball = ''] = makeNpm({ work: join(dir, 'work'), out: dir })
  const script = scriptOf(found, { tarball, metrics, mark })
  const { status, signal } = spawnSync('bash', ['-c', script], {
    cwd: work,
    stdio: ['ignore', 'inherit', 'inherit'],
    timeout: withinSecs * 1000,
    killSignal: 'SIGTERM', // the trap then kills the background jobs
    env: { ...cleanEnv(), ...toolEnv(), HOME: join(outside, 'home'), TMPDIR: join(outside, 'tmp'), ...env }
  })
  if (status !== 0) throw new Error(`${document} failed with ${status ?? signal}; see ${work}`)
  if (writes === 'folder') requireNoTraces(work, outside, mark)
  rmSync(dir, { recursive: true })
  process.stdout.write(`${document} works, ${Math.round((performance.now() - began) / 1000)} s\n`)
}

/** Returns the listings as parts of a script. Throws for a listing that is neither run nor written to a file. */
function listingsOf(document: string): string[] {
  const text = readFileSync(join(root, document), 'utf8')
  return [...text.matchAll(/^```(\S*) ?(.*)\n([\s\S]*?)^```$/gm)].map(([, kind, file = '', body = '']) => {
    if (kind === 'sh' && file === '') return body
    if (/^(test|plugins)\//.test(file)) return '' // tests run that file
    if (file === '')
      throw new Error(`${document} has a listing of ${kind || 'no kind'} that names no file:\n${body}`)
    return `mkdir -p '${dirname(file)}'\ncat > '${file}' << 'END OF THE LISTING'\n${body}END OF THE LISTING\n`
  })
}

interface Setup {
  readonly tarball: string
  readonly metrics: string
  readonly mark: string // path of a file that marks a complete installation
}

/**
 * Returns the listings as one script. It installs the tarball instead of the published package, and uses free ports;
 * SVC_METRICS_LISTEN is set for single commands only, since an agent would use it too. Prints a failing command,
 * and kills its background jobs at the end.
 */
const scriptOf = ([install = '', ...others]: readonly string[], { tarball, metrics, mark }: Setup): string =>
  `set -Eeuo pipefail
trap 'echo "failed: $BASH_COMMAND" >&2' ERR
trap 'jobs -p | xargs -r kill -9 2> /dev/null || true' EXIT
trap 'exit 124' TERM
${install.replace('install --silent sluice', `install --silent ${tarball}`)}
touch '${mark}'
${others
  .join('\n')
  .replaceAll('127.0.0.1:7081', metrics)
  .replaceAll(/^(?=sluice (?:server|doctor) )/gm, `SVC_METRICS_LISTEN=${metrics} `)}`

/** Throws if files were created in the home or temporary folder, or if installed files were changed. */
function requireNoTraces(work: string, outside: string, mark: string): void {
  const { ctimeMs: installedMs } = lstatSync(mark)
  const filesIn = (dir: string): string[] =>
    readdirSync(dir, { recursive: true, encoding: 'utf8' })
      .map(path => join(dir, path))
      .filter(path => !lstatSync(path).isDirectory())
  const left = filesIn(outside)
  const changed = filesIn(join(work, 'node_modules')).filter(path => lstatSync(path).ctimeMs > installedMs)
  const traces = [...left, ...changed]
  if (traces.length > 0)
    throw new Error(`${traces.length} files outside the folder: ${traces.slice(0, 9).join(', ')}`)
}

/** Returns the environment of this process without variables that configure sluice. */
const cleanEnv = (): NodeJS.ProcessEnv =>
  Object.fromEntries(Object.entries(process.env).filter(([key]) => !/^(SVC_|XDG_|STATE_)/.test(key)))

/** Redirects the caches of npm and Node outside the folder. */
const toolEnv = (): NodeJS.ProcessEnv => ({
  NODE_DISABLE_COMPILE_CACHE: '1',
  npm_config_cache: process.env['npm_config_cache'] ?? join(homedir(), '.npm'),
  npm_config_userconfig: process.env['npm_config_userconfig'] ?? join(homedir(), '.npmrc'),
  npm_config_update_notifier: 'false'
})

/** Chooses free ports for the server; returns the variables that set them, and the address for metrics. */
async function listenAddresses(): Promise<{ readonly env: NodeJS.ProcessEnv; readonly metrics: string }> {
  const [api, control, metrics] = await Promise.all([freePort(), freePort(), freePort()])
  const env = {
    SVC_OPERATOR_HTTP_LISTEN: `127.0.0.1:${api}`,
    SVC_SERVER: `http://127.0.0.1:${api}`,
    SVC_CONTROL_LISTEN: `127.0.0.1:${control}`
  }
  return { env, metrics: `127.0.0.1:${metrics}` }
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1')
  await new Promise(resolve => server.once('listening', resolve))
  const { port } = server.address() as { port: number } // a TCP server has a port
  await new Promise(resolve => server.close(resolve))
  return port
}
