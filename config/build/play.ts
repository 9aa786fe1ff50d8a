// Plays the ```sh listings of a document, one after another in one shell, in an empty folder against the packed tarball.
import { spawnSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { createServer } from 'node:net'
import { join } from 'node:path'

const root = join(import.meta.dirname, '..', '..')

export interface Play {
  readonly document: string // of the checkout
  readonly listings: number // fewer: it has lost some
  readonly withinSecs: number
}

export async function play({ document, listings, withinSecs }: Play): Promise<void> {
  const began = Date.now()
  const found = [...readFileSync(join(root, document), 'utf8').matchAll(/^```sh\n([\s\S]*?)^```$/gm)]
  if (found.length < listings) throw new Error(`${document} has lost listings: ${found.length} are left`)
  const dir = mkdtempSync(join(root, 'dist', 'play-')) // on the checkout's disk: the store refuses tmpfs
  const script = found.map(([, text]) => text).join('\n')
  const work = mkdtempSync(join(dir, 'empty-'))
  const { env, metrics } = await listens()
  // The native engine is built, and tested, before: the tarball has it.
  const { status, signal } = spawnSync('bash', ['-c', guarded(script, { tarball: packed(dir), metrics })], {
    cwd: work,
    stdio: ['ignore', 'inherit', 'inherit'],
    timeout: withinSecs * 1000,
    killSignal: 'SIGTERM', // the trap ends what was begun
    env: { ...clean(), XDG_CONFIG_HOME: join(work, 'config'), ...env }
  })
  if (status !== 0) throw new Error(`${document} ended with ${status ?? signal}; see ${work}`)
  rmSync(dir, { recursive: true })
  process.stdout.write(`${document} holds, ${Math.round((Date.now() - began) / 1000)} s\n`)
}

interface Here {
  readonly tarball: string
  readonly metrics: string
}

/**
 * What differs from the listings: what is not published yet comes from the tarball, and ports of this machine are free
 * (an agent would take `SVC_METRICS_LISTEN`, too). It says at what it fails, and leaves no process behind.
 */
const guarded = (script: string, { tarball, metrics }: Here): string => `set -Eeuo pipefail
trap 'echo "failed: $BASH_COMMAND" >&2' ERR
trap 'jobs -p | xargs -r kill -9 2> /dev/null || true' EXIT
trap 'exit 124' TERM
${script
  .replace('install --silent sluice', `install --silent ${tarball}`)
  .replaceAll('127.0.0.1:7081', metrics)
  .replaceAll(/^(?=sluice (?:server|doctor) )/gm, `SVC_METRICS_LISTEN=${metrics} `)}`

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
