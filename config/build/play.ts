// Plays the listings of a document, one after another in one shell, in an empty folder against the packed tarball:
// ```sh is run, ```toml FILE (or whatever it holds) becomes that file.
import { spawnSync } from 'node:child_process'
import { lstatSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { createServer } from 'node:net'
import { homedir } from 'node:os'
import { dirname, join } from 'node:path'

const root = join(import.meta.dirname, '..', '..')

export interface Play {
  readonly document: string // of the checkout
  readonly listings: number // fewer: it has lost some
  readonly withinSecs: number
  /** 'folder': what it does outside of its folder, or to what is installed there, is a fault. */
  readonly writes?: 'folder' | 'home'
}

export async function play({ document, listings, withinSecs, writes = 'home' }: Play): Promise<void> {
  const began = Date.now()
  const found = listingsOf(document)
  if (found.length < listings) throw new Error(`${document} has lost listings: ${found.length} are left`)
  const dir = mkdtempSync(join(root, 'dist', 'play-')) // on the checkout's disk: the store refuses tmpfs
  const [work, outside] = [mkdtempSync(join(dir, 'empty-')), join(dir, 'outside')]
  for (const name of ['home', 'tmp']) mkdirSync(join(outside, name), { recursive: true })
  const mark = join(dir, 'installed')
  const { env, metrics } = await listens()
  // The native engine is built, and tested, before: the tarball has it.
  const script = guarded(found, { tarball: packed(dir), metrics, mark })
  const { status, signal } = spawnSync('bash', ['-c', script], {
    cwd: work,
    stdio: ['ignore', 'inherit', 'inherit'],
    timeout: withinSecs * 1000,
    killSignal: 'SIGTERM', // the trap ends what was begun
    env: { ...clean(), ...tools(), HOME: join(outside, 'home'), TMPDIR: join(outside, 'tmp'), ...env }
  })
  if (status !== 0) throw new Error(`${document} ended with ${status ?? signal}; see ${work}`)
  if (writes === 'folder') refuseTraces(work, outside, mark)
  rmSync(dir, { recursive: true })
  process.stdout.write(`${document} holds, ${Math.round((Date.now() - began) / 1000)} s\n`)
}

/** As parts of a script. A listing that is neither run nor a file would be believed unread. */
function listingsOf(document: string): string[] {
  const text = readFileSync(join(root, document), 'utf8')
  return [...text.matchAll(/^```(\S*) ?(.*)\n([\s\S]*?)^```$/gm)].map(([, kind, file = '', body = '']) => {
    if (kind === 'sh' && file === '') return body
    if (file === '')
      throw new Error(`${document} has a listing of ${kind || 'no kind'} that names no file:\n${body}`)
    return `mkdir -p '${dirname(file)}'\ncat > '${file}' << 'END OF THE LISTING'\n${body}END OF THE LISTING\n`
  })
}

interface Here {
  readonly tarball: string
  readonly metrics: string
  readonly mark: string // written when all is installed
}

/**
 * What differs from the listings: what is not published yet comes from the tarball, and ports of this machine are free
 * (an agent would take `SVC_METRICS_LISTEN`, too). It says at what it fails, and leaves no process behind.
 */
const guarded = ([install = '', ...others]: readonly string[], { tarball, metrics, mark }: Here): string =>
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

/** Whoever writes a plugin changes nothing but their own folder: not their home, not what is installed. */
function refuseTraces(work: string, outside: string, mark: string): void {
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

function packed(dir: string): string {
  const { stdout } = spawnSync('npm', ['pack', '--json', '--pack-destination', dir], {
    cwd: root,
    encoding: 'utf8'
  })
  const [{ filename }] = JSON.parse(stdout) as [{ filename: string }] // npm's own form
  return join(dir, filename)
}

/** The environment of whoever plays, without what would configure sluice. */
const clean = (): NodeJS.ProcessEnv =>
  Object.fromEntries(Object.entries(process.env).filter(([key]) => !/^(SVC_|XDG_|STATE_)/.test(key)))

/** What npm and tsc keep for themselves stays where it is, or away. */
const tools = (): NodeJS.ProcessEnv => ({
  NODE_DISABLE_COMPILE_CACHE: '1',
  npm_config_cache: process.env['npm_config_cache'] ?? join(homedir(), '.npm'),
  npm_config_userconfig: process.env['npm_config_userconfig'] ?? join(homedir(), '.npmrc'),
  npm_config_update_notifier: 'false'
})

/** Where the server listens, for it and for those who look for it. */
async function listens(): Promise<{ readonly env: NodeJS.ProcessEnv; readonly metrics: string }> {
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
  const { port } = server.address() as { port: number } // of a TCP server
  await new Promise(resolve => server.close(resolve))
  return port
}
